// The page of an export: whether it passed, what was done, what changed, and where most.
import { htmlReport, type ReportBlock, type TableCell } from '#report';
import type { ModelManifest } from '../manifest.ts';
import type { Spread } from './detection-changes.ts';
import type { GateResult } from './gate.ts';

export function gateReport(manifest: ModelManifest, worst: GateResult['worst']): string {
  const { source, gate, passes, notes, input, quantisation, precision, format } = manifest;
  const shape = input.shape.join(' × ');
  return htmlReport({
    title: `${source.name}: ${format}, ${precision}`,
    summary: {
      text: [verdict(manifest)],
      facts: [
        {
          label: 'boxes in both',
          value: percent(gate.changes.found),
          note: `of ${gate.changes.sourceBoxes}`,
        },
        { label: 'box edges, p99', value: `${short(gate.changes.boxPx?.p99)} px` },
        { label: 'score, p99', value: short(gate.changes.score?.p99) },
        ...(gate.labels
          ? [
              {
                label: 'AP',
                value: short(gate.labels.apAfter),
                note: `source ${short(gate.labels.apBefore)}`,
              },
              {
                label: 'LaECE0',
                value: short(gate.labels.laEceAfter),
                note: `source ${short(gate.labels.laEceBefore)}`,
              },
            ]
          : []),
      ],
    },
    sections: [
      { title: 'Floors', blocks: [checksTable(manifest)] },
      { title: 'What changed', blocks: [changesTable(manifest), ...classBlocks(manifest)] },
      { title: 'Where it changed most', blocks: [worstTable(worst)] },
      {
        title: 'How it was made',
        blocks: [
          {
            kind: 'table',
            caption: 'Passes in order',
            columns: [{ label: 'pass' }, { label: 'what it did' }],
            rows: passes.map(({ name, note }) => [name, note ?? '']),
          },
          { kind: 'text', text: `Input ${input.name}: ${input.dtype} ${shape}.` },
          ...(quantisation
            ? [
                {
                  kind: 'text' as const,
                  text: `Int8 for ${quantisation.placement}: ranges by ${quantisation.method} over ${quantisation.pictures} pictures, weights of ${quantisation.weightBits} bits.`,
                },
              ]
            : []),
          ...notes.map((text): ReportBlock => ({ kind: 'text', text })),
        ],
      },
    ],
    numbers: { ...manifest, worst },
    footer: `edge-detect export; source sha256 ${source.sha256}`,
  });
}

function verdict({ gate, source }: ModelManifest): string {
  const where = `on ${gate.pictures} pictures of ${gate.on}`;
  if (gate.passed) return `It says the same as ${source.name} ${where}, within every floor.`;
  const failed = gate.checks.filter(({ passed }) => !passed).map(({ what }) => what);
  return `It differs from ${source.name} ${where} by more than is allowed (${failed.join('; ')})${
    gate.forced ? ', and was written all the same (force=True)' : ', and was not written'
  }.`;
}

function checksTable({ gate }: ModelManifest): ReportBlock {
  return {
    kind: 'table',
    caption: 'The floors; every one of them is inclusive',
    columns: [
      { label: 'what' },
      { label: 'found', digits: 4 },
      { label: 'allowed', digits: 4 },
      { label: 'verdict' },
    ],
    rows: gate.checks.map(({ what, found, allowed, passed, note }) => [
      note === undefined ? what : `${what} (${note})`,
      found,
      allowed,
      found === null ? 'not judged' : passed ? 'passed' : 'failed',
    ]),
  };
}

function changesTable({ gate: { changes } }: ModelManifest): ReportBlock {
  const row = (name: string, spread: Spread | null): TableCell[][] =>
    spread === null ? [] : [[name, spread.p50, spread.p99, spread.largest, spread.mean]];
  return {
    kind: 'table',
    caption: 'Changes of the boxes that both models have (score of .25 or more in the source)',
    columns: ['change', 'median', 'p99', 'largest', 'mean, signed'].map((label) => ({ label, digits: 4 })),
    rows: [
      ...row('box edges, px of the input', changes.boxPx),
      ...row('score', changes.score),
      ...row('standard deviation of the score', changes.scoreStd),
    ],
  };
}

function classBlocks({ gate: { labels } }: ModelManifest): ReportBlock[] {
  if (labels === undefined) {
    return [
      {
        kind: 'warning',
        text: 'Without labels AP and calibration were not judged: name a data set with data=.',
      },
    ];
  }
  return [
    {
      kind: 'table',
      caption: `Classes; those with ${labels.minObjects} objects or more are held to a floor of their own`,
      columns: [
        { label: 'class' },
        { label: 'objects', digits: 0 },
        ...['AP50 before', 'AP50 after', 'lost', 'LaECE0 before', 'LaECE0 after'].map((label) => ({
          label,
          digits: 3,
        })),
      ],
      rows: labels.classes.map((change) => [
        change.className,
        change.objects,
        change.ap50Before,
        change.ap50After,
        change.ap50Drop,
        change.laEceBefore,
        change.laEceAfter,
      ]),
    },
  ];
}

function worstTable(worst: GateResult['worst']): ReportBlock {
  return {
    kind: 'table',
    caption: 'Pictures, worst first',
    columns: [
      { label: 'picture' },
      { label: 'lost', digits: 0 },
      { label: 'added', digits: 0 },
      { label: 'largest change of a score', digits: 3 },
      { label: 'of a box edge, px', digits: 2 },
    ],
    rows: worst.map(({ name, lost, added, largestScore, largestBoxPx }) => [
      name,
      lost,
      added,
      largestScore,
      largestBoxPx,
    ]),
  };
}

function percent(share: number | null): string {
  return share === null ? '–' : `${(100 * share).toFixed(1)} %`;
}

function short(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : Number(value.toPrecision(3)).toString();
}
