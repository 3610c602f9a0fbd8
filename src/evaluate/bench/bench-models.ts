// Models, devices and threads beside each other on the same frames: fresh processes, the order turned every round, so
// that a slow drift of the machine favours none.
import { cpus } from 'node:os';
import { basename } from 'node:path';
import { DataError, EdgeDetectError } from '#core';
import type { SplitName } from '#data/datasets';
import { openSource, type Provider } from '#runtime';
import type { ClassMatchingOptions } from '../class-matching.ts';
import { validateModel } from '../val/validate-model.ts';
import { type BenchRun, median, type RunRequest } from './measure-run.ts';
import { runInProcess } from './run-process.ts';

export interface BenchRequest
  extends Pick<
    RunRequest,
    'frames' | 'conf' | 'imageSize' | 'layout' | 'preprocess' | 'ortLibrary' | 'providerOptions'
  > {
  /** ONNX files; the first is what the others are divided by. One may stand there twice: that shows the noise. */
  readonly models: readonly string[];
  readonly providers: readonly Provider[];
  readonly threads: readonly number[];
  readonly rounds: number;
  /** Where labels are given, AP and LaECE0 are measured, too. */
  readonly labels?: {
    readonly data: string;
    readonly split?: SplitName;
    readonly matching?: ClassMatchingOptions;
  };
}

export interface BenchContext {
  readonly signal?: AbortSignal;
  readonly onProgress?: (stage: 'runs' | 'pictures', done: number, total: number) => void;
}

const FIGURES = ['preMs', 'inferMs', 'postMs', 'frameMs', 'cpuMs', 'peakMib', 'openMs'] as const;

/** Median of the rounds, and its extremes. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly greatest: number;
}

export interface BenchEntry {
  /** Name of the file, made distinct. */
  readonly name: string;
  readonly model: string;
  readonly provider: Provider;
  readonly threads: number;
  readonly rounds: readonly BenchRun[];
  /** Absent where no round succeeded. */
  readonly figures?: Readonly<Record<(typeof FIGURES)[number], Spread>> & { readonly fps: number };
  /** Round by round, divided by the first entry's; absent where either was not measured. */
  readonly ratios?: { readonly frameMs: Spread; readonly cpuMs: Spread };
  readonly labels?: {
    readonly ap: number | null;
    readonly ap50: number | null;
    readonly laEce: number | null;
  };
  /** Why it was not measured, or not whole. */
  readonly fault?: EdgeDetectError;
}

export interface BenchReport {
  readonly machine: {
    readonly cpu: string;
    readonly cores: number;
    readonly node: string;
    readonly at: string;
  };
  readonly sources: readonly string[];
  readonly frames: number;
  readonly rounds: number;
  readonly data?: string;
  /** As they were asked for; the first is the base of all ratios. */
  readonly entries: readonly BenchEntry[];
}

/**
 * A model that fails is told in its entry and left out of later rounds; the others are measured.
 * @throws SourceError, DataError where the source cannot be opened or is live; the reason of the signal
 */
export async function benchModels(request: BenchRequest, context: BenchContext = {}): Promise<BenchReport> {
  for (const source of request.frames.sources) await expectRecorded(source);
  const measured = await measureRounds(request, entriesOf(request), context);
  const [first] = measured;
  const entries: BenchEntry[] = [];
  for (const entry of measured) {
    const known = entries.find(({ model, provider }) => model === entry.model && provider === entry.provider);
    entries.push(await withLabels(withFigures(entry, first), known, request, context));
  }
  return {
    machine: {
      cpu: cpus()[0]?.model ?? 'unknown',
      cores: cpus().length,
      node: process.version,
      at: new Date().toISOString(),
    },
    sources: request.frames.sources,
    frames: Math.max(0, ...entries.flatMap(({ rounds }) => rounds.map(({ frames }) => frames))),
    rounds: request.rounds,
    ...(request.labels && { data: request.labels.data }),
    entries,
  };
}

async function expectRecorded(spec: string): Promise<void> {
  const source = await openSource(spec);
  if (source.kind !== 'live') return;
  throw new DataError(`${source.name} is a live source, which gives no frame twice`, {
    hint: 'record a clip of it, and measure on that',
  });
}

function entriesOf({ models, providers, threads }: BenchRequest): readonly BenchEntry[] {
  const names = distinctNames(models);
  return models.flatMap((model, place) =>
    providers.flatMap((provider) =>
      threads.map((count) => ({ name: names[place] ?? model, model, provider, threads: count, rounds: [] })),
    ),
  );
}

/** File names, whole paths where they clash, numbers where those do. */
function distinctNames(models: readonly string[]): readonly string[] {
  const names = models.map((model) => basename(model));
  const clash = new Set(models).size > new Set(names).size;
  const longer = clash ? models : names;
  return longer.map((name, place) => {
    const before = longer.slice(0, place).filter((other) => other === name).length;
    return before === 0 ? name : `${name} #${before + 1}`;
  });
}

async function measureRounds(
  { rounds, ...request }: BenchRequest,
  entries: readonly BenchEntry[],
  { signal, onProgress }: BenchContext,
): Promise<readonly BenchEntry[]> {
  const state = [...entries];
  let done = 0;
  for (let round = 0; round < rounds; round++) {
    for (const place of roundOrder(entries.length, round)) {
      const entry = state[place];
      if (entry === undefined || entry.fault !== undefined) continue;
      onProgress?.('runs', done, rounds * entries.length);
      state[place] = await measureOnce(entry, request, signal);
      done++;
    }
  }
  return state;
}

/** Places 0 to `count` - 1, backwards in every other round. */
export function roundOrder(count: number, round: number): readonly number[] {
  const order = Array.from({ length: count }, (_, place) => place);
  return round % 2 === 0 ? order : order.toReversed();
}

async function measureOnce(
  entry: BenchEntry,
  request: Omit<BenchRequest, 'rounds'>,
  signal?: AbortSignal,
): Promise<BenchEntry> {
  const { frames, conf, imageSize, layout, preprocess, ortLibrary, providerOptions } = request;
  const run: RunRequest = {
    model: entry.model,
    provider: entry.provider,
    ...(ortLibrary !== undefined && { ortLibrary }),
    ...(providerOptions && { providerOptions }),
    threads: entry.threads,
    frames,
    ...(conf !== undefined && { conf }),
    ...(imageSize && { imageSize }),
    ...(layout && { layout }),
    ...(preprocess !== undefined && { preprocess }),
  };
  try {
    return { ...entry, rounds: [...entry.rounds, await runInProcess(run, signal)] };
  } catch (error) {
    if (!(error instanceof EdgeDetectError)) throw error;
    return { ...entry, fault: error };
  }
}

function withFigures(entry: BenchEntry, first: BenchEntry | undefined): BenchEntry {
  if (entry.rounds.length === 0) return entry;
  const spreadOf = (key: (typeof FIGURES)[number]) => spread(entry.rounds.map((run) => run[key]));
  const figures = {
    ...(Object.fromEntries(FIGURES.map((key) => [key, spreadOf(key)])) as Record<
      (typeof FIGURES)[number],
      Spread
    >),
    fps: 1000 / spreadOf('frameMs').median,
  };
  const ratio = (key: 'frameMs' | 'cpuMs') =>
    spread(
      entry.rounds.flatMap((run, round) => {
        const base = first?.rounds[round];
        return base === undefined ? [] : [run[key] / base[key]];
      }),
    );
  const hasBase = (first?.rounds.length ?? 0) > 0;
  return {
    ...entry,
    figures,
    ...(hasBase && { ratios: { frameMs: ratio('frameMs'), cpuMs: ratio('cpuMs') } }),
  };
}

function spread(values: readonly number[]): Spread {
  return { median: median(values), least: Math.min(...values), greatest: Math.max(...values) };
}

/** What a model finds does not depend on its threads: measured once. */
async function withLabels(
  entry: BenchEntry,
  known: BenchEntry | undefined,
  { labels, imageSize, layout, preprocess, ortLibrary, providerOptions }: BenchRequest,
  { signal, onProgress }: BenchContext,
): Promise<BenchEntry> {
  if (labels === undefined || entry.fault !== undefined) return entry;
  if (known?.labels !== undefined) return { ...entry, labels: known.labels };
  const { data, split, matching } = labels;
  const predict = {
    provider: entry.provider,
    ...(ortLibrary !== undefined && { ortLibrary }),
    ...(providerOptions && { providerOptions }),
    ...(imageSize && { imageSize }),
    ...(layout && { layout }),
    ...(preprocess !== undefined && { preprocess }),
  };
  try {
    const { report } = await validateModel(
      {
        model: entry.model,
        data,
        predict,
        evaluation: { resamples: 0 },
        ...(split && { split }),
        ...(matching && { matching }),
      },
      { ...(signal && { signal }), onPicture: (done, total) => onProgress?.('pictures', done, total) },
    );
    const { averagePrecision, calibration } = report;
    const laEce = calibration.quality.laEce.mean;
    return { ...entry, labels: { ap: averagePrecision.ap, ap50: averagePrecision.ap50, laEce } };
  } catch (error) {
    if (!(error instanceof EdgeDetectError)) throw error;
    return { ...entry, fault: error };
  }
}
