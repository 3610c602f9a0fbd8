// What was measured under all seeds, as rows of tables.
import {
  type RowPlace,
  resampledRow,
  type StudyColumn,
  type StudyRow,
  type StudyTable,
  seedRow,
} from '../common/study-file.ts';
import { EXPORTED } from './chain.ts';
import { type ClipFigures, poissonInterval } from './clips.ts';
import { LIGHTS, type LightRow, RULES } from './judge.ts';
import { INT8_STAGE, PASSED_STAGE, type SeedResult, STAGES, type StageName } from './measure.ts';

export interface Found {
  /** Named on pages: the file of the host. */
  readonly host: string;
  readonly results: readonly SeedResult[];
  /** The same chain on another host, under fewer seeds. */
  readonly second?: { readonly host: string; readonly results: readonly SeedResult[] };
  readonly clips: readonly ClipFigures[];
}

export interface Part {
  readonly table: StudyTable;
  readonly rows: readonly StudyRow[];
}

const BOX_COLUMNS = [
  { figure: 'ap50', title: 'AP50', plot: 'larger is better' },
  { figure: 'ap', title: 'AP' },
  { figure: 'recall at precision', title: 'recall at equal precision', plot: 'larger is better' },
  { figure: 'laEce0', title: 'LaECE0' },
  { figure: 'laEce0 best', title: 'LaECE0, best boxes', plot: 'smaller is better' },
  { figure: 'score - IoU best', title: 'score − IoU, best boxes' },
  { figure: 'dEce', title: 'D-ECE' },
] as const satisfies readonly StudyColumn[];

const LIGHT_WORDS: Readonly<Record<LightRow, string>> = {
  all: 'all light',
  day: 'day',
  dusk: 'dusk',
  night: 'night',
};

/** Of a stage under every seed; `chosen` is recall at the threshold that the fitting cameras chose. */
export function valuesOf(
  results: readonly SeedResult[],
  stage: StageName,
  light: LightRow,
  figure: string,
): readonly (number | null)[] {
  return results.map(({ stages }) => {
    const found = stages.get(stage);
    if (found === undefined) return null;
    const { boxes, rules } = found;
    const rule = RULES.find((one) => figure.startsWith(`${one}: `));
    if (rule !== undefined) return rules[rule][light][figure.slice(rule.length + 2)] ?? null;
    return boxes[light][figure] ?? null;
  });
}

export function differencesOf(
  results: readonly SeedResult[],
  [stage, base]: readonly [StageName, StageName],
  light: LightRow,
  [figure, baseFigure = figure]: readonly [figure: string, baseFigure?: string],
): readonly (number | null)[] {
  const other = valuesOf(results, base, light, baseFigure);
  return valuesOf(results, stage, light, figure).map((value, seed) =>
    value === null || other[seed] == null ? null : value - other[seed],
  );
}

export function studyTables(found: Found): readonly Part[] {
  const { results, second } = found;
  return [
    shareTable(found),
    ...LIGHTS.map((light) => boxTable(results, light)),
    stepTable(results),
    ...LIGHTS.map((light) => ruleTable(results, light)),
    gateTable(results, 'gate', found.host),
    ...(found.clips.length > 0 ? [clipTable(found.clips)] : []),
    ...(second
      ? [
          secondTable(second.host, second.results),
          gateTable(second.results, 'gate, second host', second.host),
        ]
      : []),
  ];
}

function boxTable(results: readonly SeedResult[], light: LightRow): Part {
  const table = `boxes, ${light}`;
  const rows = STAGES.flatMap((row) =>
    BOX_COLUMNS.map(({ figure }) => seedRow({ table, row, figure }, valuesOf(results, row, light, figure))),
  );
  const text =
    light === 'all'
      ? 'On the two judging cameras of each seed, all vehicles as one class, every file streamed. Float16 and int8 are files with two Gaussians; `passed the gate` is the narrowest that export wrote without being forced. Recall at equal precision is read off the file’s own curve on the judging cameras, at the target precision, so that all rows compare at the very same precision; nothing is chosen by it. LaECE0: raw scores of .01 or more. Best boxes: as many as there are objects. A calibrator aims at LaECE0; after it D-ECE says only how far the expected IoU is from the share of hits.'
      : '';
  return {
    table: {
      table,
      title: `Boxes and scores, ${LIGHT_WORDS[light]}`,
      section: 'Boxes and scores',
      text,
      columns: BOX_COLUMNS,
    },
    rows,
  };
}

/** What each step of the chain costs or gives. */
const STEPS: readonly { readonly row: string; readonly pair: readonly [StageName, StageName] }[] = [
  { row: 'training', pair: ['trained', 'stock'] },
  { row: 'calibrator', pair: ['calibrated', 'trained'] },
  { row: 'two Gaussians', pair: ['two Gaussians', 'calibrated'] },
  { row: 'float16', pair: ['float16', 'two Gaussians'] },
  { row: 'int8', pair: ['int8', 'two Gaussians'] },
  { row: 'all, to int8', pair: [INT8_STAGE, 'stock'] },
  { row: 'all, past the gate', pair: [PASSED_STAGE, 'stock'] },
];

function stepTable(results: readonly SeedResult[]): Part {
  const table = 'steps';
  const rows = STEPS.flatMap(({ row, pair }) =>
    LIGHTS.flatMap((light) =>
      BOX_COLUMNS.map(({ figure }) =>
        seedRow(
          { table, row, series: LIGHT_WORDS[light], figure },
          differencesOf(results, pair, light, [figure]),
        ),
      ),
    ),
  );
  return {
    table: {
      table,
      title: 'What each step gives and takes',
      text: 'Differences from the step before, under the same seed: the trained head against the stock host, its calibrated scores against its raw ones, two Gaussians against the full law, float16 and int8 against float32 with two Gaussians. The last two rows are whole ways: the file against the stock host.',
      columns: BOX_COLUMNS.map(({ figure, title }) => ({
        figure,
        title,
        ...((figure === 'ap50' || figure === 'laEce0 best') && { plot: 'difference under the same seed' }),
      })),
    },
    rows,
  };
}

const RULE_COLUMNS = [
  { figure: 'recall', title: 'recall', plot: 'larger is better' },
  { figure: 'precision', title: 'realised precision', plot: 'the target is drawn nowhere: see the setting' },
  { figure: 'false alarms', title: 'false alarms a picture', digits: 2 },
] as const satisfies readonly StudyColumn[];

function ruleTable(results: readonly SeedResult[], light: LightRow): Part {
  const table = `thresholds, ${light}`;
  const rows = STAGES.flatMap((row) =>
    RULES.flatMap((series) =>
      RULE_COLUMNS.map(({ figure }) =>
        seedRow({ table, row, series, figure }, valuesOf(results, row, light, `${series}: ${figure}`)),
      ),
    ),
  );
  const text =
    light === 'all'
      ? 'As a site would do it: thresholds are chosen for the target precision on the two fitting cameras, one for all light or one for each (where a light has no threshold that reaches it, the common one holds), and used on the judging cameras. The precision that comes out is another one than the target: compare recalls only where it is alike.'
      : '';
  return {
    table: {
      table,
      title: `Thresholds chosen on other cameras, ${LIGHT_WORDS[light]}`,
      section: 'Thresholds chosen on other cameras',
      text,
      columns: RULE_COLUMNS,
    },
    rows,
  };
}

/** Files and figures of which a share of the gain is asked. */
export const SHARES = [
  { figure: 'ap50', title: 'of AP50' },
  { figure: 'ap', title: 'of AP' },
  { figure: 'recall at precision', title: 'of recall at equal precision' },
] as const;

export const SHARE_TABLE = 'survives';

export function shareRowName(stage: StageName, light: LightRow): string {
  return `${stage}, ${LIGHT_WORDS[light]}`;
}

function shareTable({ results }: Found): Part {
  const stages = ['calibrated', 'two Gaussians', 'float16', INT8_STAGE, PASSED_STAGE] as const;
  const rows = LIGHTS.flatMap((light) =>
    stages.flatMap((stage) =>
      SHARES.map(({ figure }) =>
        shareRow({ table: SHARE_TABLE, row: shareRowName(stage, light), figure }, results, stage, light),
      ),
    ),
  );
  return {
    table: {
      table: SHARE_TABLE,
      title: 'How much of the gain survives',
      text: 'Mean over the seeds of what the file gains over the stock host, divided by the mean of what the trained head gains over it (its full law in float32): 1 is all of it, below 0 is worse than stock. Intervals: 95 % of all draws of the seeds with replacement. No interval where the gain itself can be 0.',
      columns: SHARES.map((column) => ({ ...column, digits: 2, plot: '1: all of it' })),
    },
    rows,
  };
}

function shareRow(
  place: RowPlace,
  results: readonly SeedResult[],
  stage: StageName,
  light: LightRow,
): StudyRow {
  const [own, whole] = [stage, 'trained' as const].map((one) =>
    differencesOf(results, [one, 'stock'], light, [place.figure]),
  ) as [readonly (number | null)[], readonly (number | null)[]];
  const pairs = own.flatMap((value, seed) =>
    value === null || whole[seed] == null ? [] : [[value, whole[seed]] as const],
  );
  const { value, interval } = ratioOfMeans(pairs);
  if (value === null) return seedRow(place, [null]);
  return interval === undefined ? seedRow(place, [value]) : resampledRow(place, value, interval);
}

/** Most seeds of which every draw is enumerated: 6^6 is 46,656. */
const MOST_ENUMERATED = 6;

/** Mean of the first over mean of the second; null where the second is not above 0. */
export function ratioOfMeans(pairs: readonly (readonly [number, number])[]): {
  readonly value: number | null;
  readonly interval?: readonly [number, number];
} {
  const count = pairs.length;
  const sums = (places: readonly number[]): readonly [own: number, whole: number] => [
    places.reduce((sum, place) => sum + pairs[place]![0], 0),
    places.reduce((sum, place) => sum + pairs[place]![1], 0),
  ];
  const [top, bottom] = sums([...pairs.keys()]);
  if (count === 0 || bottom <= 0) return { value: null };
  const value = top / bottom;
  if (count < 2 || count > MOST_ENUMERATED) return { value };
  const ratios: number[] = [];
  for (let draw = 0; draw < count ** count; draw++) {
    const places = Array.from({ length: count }, (_, digit) => Math.floor(draw / count ** digit) % count);
    const [own, whole] = sums(places);
    if (whole <= 0) return { value };
    ratios.push(own / whole);
  }
  ratios.sort((a, b) => a - b);
  const at = (share: number) => ratios[Math.round(share * (ratios.length - 1))]!;
  return { value, interval: [at(0.025), at(0.975)] };
}

const GATE_COLUMNS = [
  { figure: 'passed', title: 'share of seeds that passed', digits: 2 },
  { figure: 'maxApDrop', title: 'AP lost', plot: 'on the pictures of the gate; smaller is better' },
  { figure: 'maxLaEceRise', title: 'LaECE0 added' },
  { figure: 'minFound', title: 'boxes in both' },
  { figure: 'maxScore', title: 'change of score, p99' },
  { figure: 'maxScoreStd', title: 'of its std, p99' },
  { figure: 'maxBoxPx', title: 'of box edges, p99 px', digits: 2 },
  { figure: 'megabytes', title: 'MB', digits: 2 },
] as const satisfies readonly StudyColumn[];

function gateTable(results: readonly SeedResult[], table: string, host: string): Part {
  const made = EXPORTED.filter((precision) => results.some(({ exported }) => exported.has(precision)));
  const rows = made.flatMap((row) =>
    GATE_COLUMNS.map(({ figure }) =>
      seedRow(
        { table, row, figure },
        results.map(({ exported }) => gateFigure(exported.get(row), figure)),
      ),
    ),
  );
  const reasons = made.map((precision) => {
    const failed = results.flatMap(({ exported }) =>
      (exported.get(precision)?.gate.checks ?? []).filter(({ passed }) => !passed).map(({ what }) => what),
    );
    const counts = [...new Set(failed)].map(
      (what) => `${what} (${failed.filter((one) => one === what).length} of ${results.length} seeds)`,
    );
    return [precision, counts.length === 0 ? 'nothing' : counts.join('; ')];
  });
  return {
    table: {
      table,
      title: `What the gate of export said, ${host}`,
      text: 'Two Gaussians in each precision against the calibrated head with its full law, on pictures of the training cameras. The int8 file was written and judged above even where the gate refused it (force=True), so that one sees what the gate keeps away.',
      columns: GATE_COLUMNS,
      words: { columns: ['precision', 'fell below a floor'], rows: reasons },
    },
    rows,
  };
}

function gateFigure(
  file: ReturnType<SeedResult['exported']['get']>,
  figure: (typeof GATE_COLUMNS)[number]['figure'],
): number | null {
  if (file === undefined) return null;
  const { gate, bytes } = file;
  if (figure === 'megabytes') return bytes / 1e6;
  if (figure === 'passed') return gate.passed ? 1 : 0;
  return gate.checks.find(({ floor }) => floor === figure)?.found ?? null;
}

function clipTable(clips: readonly ClipFigures[]): Part {
  const table = 'clips';
  const rows = clips.flatMap(({ file, rule, light, threshold, alarms, seconds, recall }) => {
    const place = (figure: string) => ({ table, row: `${file}, ${light}`, series: rule, figure });
    const hourly = 3600 / seconds;
    const [low, high] = poissonInterval(alarms);
    return [
      seedRow(place('threshold'), [threshold]),
      seedRow(place('alarms'), [alarms]),
      resampledRow(place('alarms an hour'), alarms * hourly, [low * hourly, high * hourly]),
      seedRow(place('recall'), [recall]),
    ];
  });
  return {
    table: {
      table,
      title: 'False alarms an hour, on the clips of the sample world',
      text: 'Three clips of 8 s (samples/clips), real time, with exact truth; sample host and its int8 file with two Gaussians, tracked as `stream track=True` does it, with the threshold also for beginning a track. An alarm is a track of which less than half of the reported boxes meet an object (IoU .5); thresholds were chosen for the target precision on other cameras of the sample world. Per hour: the clip goes on as it is; intervals are exact for a Poisson count, and one alarm in 8 s is 450 an hour.',
      columns: [
        { figure: 'alarms an hour', title: 'alarms an hour', digits: 0, plot: 'smaller is better' },
        { figure: 'alarms', title: 'alarms in the clip', digits: 0 },
        { figure: 'recall', title: 'recall over frames' },
        { figure: 'threshold', title: 'threshold' },
      ],
    },
    rows,
  };
}

function secondTable(host: string, results: readonly SeedResult[]): Part {
  const table = 'second host';
  const made = STAGES.filter((stage) => results.some(({ stages }) => stages.has(stage)));
  const rows = made.flatMap((row) => {
    const of = (figure: string) => {
      const values = valuesOf(results, row, 'all', figure);
      return seedRow({ table, row, figure }, values);
    };
    return [
      ...(results.length === 1
        ? resampledRows(table, row, results[0]!)
        : [of('ap50'), ...gainRows(table, row, results)]),
      ...['ap', 'recall at precision', 'laEce0', 'laEce0 best'].map(of),
      ...(['dusk', 'night'] as const).map((light) =>
        seedRow({ table, row, figure: `ap50 ${light}` }, valuesOf(results, row, light, 'ap50')),
      ),
    ];
  });
  return {
    table: {
      table,
      title: `The same chain on ${host}`,
      text: `${results.length} of the seeds alone, with fewer epochs and variants, so that a training stays below 90 s on two cores. ${results.length === 1 ? 'Intervals of AP50 are over resampled pictures and leave out what other cameras would change.' : ''}`.trim(),
      columns: [
        { figure: 'ap50', title: 'AP50', plot: 'larger is better' },
        { figure: 'gain', title: 'AP50 − stock' },
        { figure: 'ap', title: 'AP' },
        { figure: 'ap50 dusk', title: 'AP50, dusk' },
        { figure: 'ap50 night', title: 'night' },
        { figure: 'recall at precision', title: 'recall at equal precision' },
        { figure: 'laEce0', title: 'LaECE0' },
        { figure: 'laEce0 best', title: 'LaECE0, best boxes' },
      ],
    },
    rows,
  };
}

function gainRows(table: string, row: StageName, results: readonly SeedResult[]): readonly StudyRow[] {
  if (row === 'stock') return [];
  return [seedRow({ table, row, figure: 'gain' }, differencesOf(results, [row, 'stock'], 'all', ['ap50']))];
}

function resampledRows(table: string, row: StageName, { resampled }: SeedResult): readonly StudyRow[] {
  const own = resampled[row];
  if (own === undefined) return [];
  return (['ap50', 'gain'] as const).flatMap((figure) => {
    const found = own[figure];
    if (found.kind === 'none' || (row === 'stock' && figure === 'gain')) return [];
    return [resampledRow({ table, row, figure }, found.value, [found.low, found.high])];
  });
}
