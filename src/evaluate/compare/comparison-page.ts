// The page of a comparison: the verdict, the slices, what changed with its interval, and what to run with.
import { basename } from 'node:path';
import type { Effect, Figure } from '#core';
import { htmlReport, type ReportBlock, type ReportFact, type ReportSection, type TableCell } from '#report';
import type { Charts } from '../chart-files.ts';
import type { CompareReport, SliceComparison } from './compare.ts';
import type { ModelComparison } from './compare-model.ts';
import { pairingOf } from './comparison-charts.ts';
import { trialBlocks, verdictBlocks } from './comparison-page-thresholds.ts';
import {
  changesOf,
  figureText,
  headlineOf,
  PAIRED_WORDS,
  plainFigure,
  wholeChangesOf,
} from './figure-words.ts';
import { signedErrorOf } from './signed-error.ts';

export interface ComparisonPage {
  readonly comparison: ModelComparison;
  readonly charts: Charts;
  /** For programs; lies in the page as JSON. */
  readonly numbers: unknown;
}

export function comparisonPage({ comparison, charts, numbers }: ComparisonPage): string {
  const { report, reference, ranWith, source } = comparison;
  const own = report.comparisons.filter(({ first }) => first === reference);
  const rest = report.comparisons.filter(({ first }) => first !== reference);
  const names = report.slices.map(({ name }) => name);
  return htmlReport({
    title: `${basename(ranWith.path)}: ${names.join(', ')}`,
    summary: {
      text: own.length === 1 ? own.map(({ verdict }) => verdict) : own.map(headlineOf),
      facts: own.length === 1 ? own.flatMap(factsOf) : [],
    },
    sections: [
      { title: 'Slices', blocks: [sliceTable(report), ...figures(charts.sliceMetrics)] },
      ...own.map((one) => comparisonSection(one, own.length > 1)),
      section('The same things in both', figures(charts.pairedScores, charts.pairedDifferences)),
      section('Does the score come true', figures(charts.reliabilitySlices)),
      section('Thresholds', [
        ...verdictBlocks(report),
        ...figures(charts.thresholds),
        ...trialBlocks(report),
      ]),
      section(
        'The other pairs of slices',
        rest.map((one) => ({
          kind: 'fold' as const,
          label: `${one.first} against ${one.second}`,
          blocks: comparisonSection(one, true).blocks,
        })),
      ),
      measuredSection(comparison),
    ].filter(({ blocks }) => blocks.length > 0),
    numbers,
    footer: `edge-detect compare: ${ranWith.path} (SHA-256 ${ranWith.modelSha256.slice(0, 12)}…, ${ranWith.score} scores) on ${source}`,
  });
}

function measuredSection({ report, remarks }: ModelComparison): ReportSection {
  const { resamples, seenScore, pairIou, threshold, timeBlocks } = report.convention;
  const drawn = timeBlocks === null ? 'pictures within their cameras' : 'blocks of time';
  const intervals =
    `Intervals: 95 %, ${resamples} resamples of whole ${drawn}. ` +
    `Fixed threshold ${threshold.toFixed(3)}; scores below ${seenScore} count as not found; things are the same from an IoU of ${pairIou} on. ` +
    (timeBlocks === null
      ? 'A change within cameras compares each camera with itself; pooled takes all pictures as of one camera; whole cameras drawn says what other cameras could give.'
      : 'Both clips count as of one camera. Intervals of flicker draw whole tracks.');
  return {
    title: 'How it was measured',
    blocks: [...remarks, intervals].map((text) => ({ kind: 'text', text })),
  };
}

function section(title: string, blocks: readonly ReportBlock[]): ReportSection {
  return { title, blocks };
}

function figures(...charts: readonly (Charts[keyof Charts] | undefined)[]): ReportBlock[] {
  return charts.flatMap((chart) => (chart === undefined ? [] : [{ kind: 'figure' as const, chart }]));
}

function factsOf(comparison: SliceComparison): ReportFact[] {
  const { effects, differences } = comparison;
  const drift = pairingOf(comparison)?.byPicture;
  const fact = (label: string, figure: Figure | undefined): ReportFact[] =>
    figure?.kind !== 'estimate'
      ? []
      : [
          {
            label,
            value: plainFigure(figure.value),
            note: `${plainFigure(figure.low)} to ${plainFigure(figure.high)}`,
          },
        ];
  return [
    ...fact('Drop of confidence', drift?.kind === 'drift' ? drift.meanDrop : undefined),
    ...fact('Change of recall', effects.recall?.within),
    ...fact('Change of AP50', differences?.ap50),
    ...fact('Change of over-confidence', effects.signedCorrect?.within),
  ];
}

function clipTable({ slices, convention }: CompareReport): ReportBlock {
  const columns = ['slice', 'frames', 'blocks of time', 'boxes', 'tracks', 'flicker', 'jitter'];
  const text = (figure: Figure | undefined): TableCell => (figure === undefined ? null : figureText(figure));
  return {
    kind: 'table',
    caption: `Without labels: what the model says, not whether it is right; flicker: how often a track crosses ${convention.threshold.toFixed(3)} from frame to frame; jitter: step of its score`,
    columns: columns.map((label) => ({ label })),
    rows: slices.map(({ name, pictures, blocks, detections, flicker }) => [
      name,
      pictures,
      blocks,
      detections,
      flicker?.tracks ?? null,
      text(flicker?.rate),
      text(flicker?.jitter),
    ]),
  };
}

function sliceTable(report: CompareReport): ReportBlock {
  if (report.convention.timeBlocks !== null) return clipTable(report);
  const value = (figure: Figure | undefined): TableCell =>
    figure?.kind === 'estimate' ? figure.value : null;
  const labelled = report.slices.some(({ evaluation }) => evaluation !== null);
  const columns = labelled
    ? ['AP50', 'AP', 'recall', 'D-ECE', 'LaECE0', 'oLRP', 'signed error', 'best threshold']
    : [];
  return {
    kind: 'table',
    caption: labelled
      ? `D-ECE, LaECE0, oLRP: 0 is perfect; signed error: score less hit; recall at ${report.convention.threshold.toFixed(3)}; best threshold: highest F1, all classes under one`
      : 'Without labels: what the model says, not whether it is right',
    columns: ['slice', 'pictures', 'cameras', 'objects', 'boxes', ...columns].map((label) => ({ label })),
    rows: report.slices.map(({ name, pictures, cameras, detections, evaluation, lrp, figures: own }) => [
      name,
      pictures,
      cameras.length,
      evaluation?.objects ?? null,
      detections,
      ...(labelled
        ? [
            evaluation?.averagePrecision.ap50 ?? null,
            evaluation?.averagePrecision.ap ?? null,
            value(own?.recall),
            evaluation?.calibration.dEce.measured?.error ?? null,
            evaluation?.calibration.quality.laEce.mean ?? null,
            lrp?.optimalLrp ?? null,
            value(signedErrorOf(report, name)),
            value(own?.bestThreshold),
          ]
        : []),
    ]),
  };
}

function comparisonSection(comparison: SliceComparison, withVerdict: boolean): ReportSection {
  const { first, second, warnings, effects, verdict } = comparison;
  const whole = wholeChangesOf(comparison);
  return {
    title: `${first} to ${second}`,
    blocks: [
      ...(withVerdict ? [{ kind: 'text' as const, text: verdict }] : []),
      ...warnings.map((text) => ({ kind: 'warning' as const, text })),
      {
        kind: 'table',
        caption: `Change from ${first} to ${second}, with 95 % intervals`,
        columns: ['figure', 'within cameras', 'pooled', 'whole cameras drawn'].map((label) => ({ label })),
        rows: changesOf(comparison).map(({ label, within, pooled, byCamera }) => [
          label,
          figureText(within),
          figureText(pooled),
          figureText(byCamera),
        ]),
      },
      ...(whole.length === 0 ? [] : [wholeTable(comparison)]),
      ...pairBlocks(comparison),
      ...cameraBlocks(comparison, effects.objectScore ?? effects.meanScore),
    ],
  };
}

function wholeTable(comparison: SliceComparison): ReportBlock {
  return {
    kind: 'table',
    caption: 'Change of the figures of whole slices, pooled over cameras',
    columns: [{ label: 'figure' }, { label: 'change' }],
    rows: wholeChangesOf(comparison).map(({ label, change }) => [label, figureText(change)]),
  };
}

function pairBlocks({ objects, samePictures, tracks, first, second }: SliceComparison): ReportBlock[] {
  return [samePictures, tracks, objects].flatMap((pairing): ReportBlock[] => {
    if (pairing === null) return [];
    const { byPicture: drift, pairedBy, unpaired } = pairing;
    const what = `${PAIRED_WORDS[pairedBy]}: ${pairing.pairs} pairs, ${unpaired[0]} and ${unpaired[1]} without a partner`;
    if (drift.kind === 'none') return [{ kind: 'text', text: `${what}. No verdict: ${drift.reason}.` }];
    const rows: [string, Figure][] = [
      ['mean drop', drift.meanDrop],
      ['median drop', drift.medianDrop],
      ['90 % drop less than', drift.p90Drop],
      ['mean drop, seen in both', drift.meanDropSeenInBoth],
      ['the same in logits', drift.meanLogitDropSeenInBoth],
      [`stay above ${drift.threshold.toFixed(3)}, of ${drift.aboveInFirst}`, drift.retained],
      ...(drift.meanVarianceRise.kind === 'none'
        ? []
        : [['mean rise of the variance', drift.meanVarianceRise] as [string, Figure]]),
    ];
    return [
      {
        kind: 'table',
        caption: `${what}; ${drift.lost} seen in ${first} only, ${drift.gained} in ${second} only`,
        columns: [{ label: 'confidence' }, { label: `${first} less ${second}` }],
        rows: rows.map(([label, figure]) => [label, figureText(figure)]),
      },
    ];
  });
}

function cameraBlocks({ first, second, effects }: SliceComparison, effect: Effect): ReportBlock[] {
  if (effect.perCamera.length < 2) return [];
  return [
    {
      kind: 'fold',
      label: 'Camera by camera',
      blocks: [
        {
          kind: 'table',
          caption: effects.objectScore
            ? 'Mean score of the detection that found an object, 0 where none did'
            : 'Mean score of the detections',
          columns: ['camera', `pictures, ${first}`, `pictures, ${second}`, first, second, 'change'].map(
            (label) => ({
              label,
            }),
          ),
          rows: effect.perCamera.map((one) => [
            one.camera === '' ? 'all' : one.camera,
            one.pictures[0],
            one.pictures[1],
            one.first,
            one.second,
            one.change,
          ]),
        },
      ],
    },
  ];
}
