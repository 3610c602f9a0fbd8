// The folder of a run: args.yaml, results.csv, weights/{best,last}.onnx and weights/last.state.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { ClassLogitRange } from '#onnx';
import { outputFault } from '#runtime';
import { saveCheckpoint, writeWhole } from '../checkpoint.ts';
import type { ParameterValues } from '../engines/engine.ts';
import type { EpochEvent } from '../loop.ts';
import { resultsHeader, resultsLine, resultsRow } from './results-csv.ts';
import { type RunRecord, toCheckpoint } from './state-file.ts';

export interface RunFilesOptions {
  readonly folder: string;
  /** What a resumed run takes over; `rows` and `seconds` are those of before. */
  readonly record: RunRecord;
  /** Every option under its name on the command line. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The whole detector with these values, as the bytes of an ONNX file. */
  readonly assemble: (
    values: ParameterValues,
    training: TrainingFacts,
    logitRanges: readonly (ClassLogitRange | undefined)[],
  ) => Uint8Array;
}

/** What a model file says about its training. */
export interface TrainingFacts {
  readonly epoch: number;
  readonly fitness?: number;
  readonly ap50?: number;
  readonly ap?: number;
}

export interface RunFiles {
  readonly folder: string;
  readonly bestPath: string;
  readonly lastPath: string;
  /** Rows of results.csv, oldest first. */
  readonly rows: readonly Readonly<Record<string, number>>[];
  /** Writes the epoch; of one that is not sound, only its row. Whatever moment the process dies at, the state file is that of a whole epoch. */
  save(event: EpochEvent): Promise<Readonly<Record<string, number>>>;
}

export async function openRunFiles(options: RunFilesOptions): Promise<RunFiles> {
  const { folder, record, assemble } = options;
  const weights = join(folder, 'weights');
  await mkdir(weights, { recursive: true }).catch(unwritable(weights));
  await writeText(join(folder, 'args.yaml'), stringify(options.arguments));
  const rows = [...record.rows];
  let { seconds } = record;
  const [bestPath, lastPath] = [join(weights, 'best.onnx'), join(weights, 'last.onnx')];
  const statePath = join(weights, 'last.state');
  async function saveWeights(event: EpochEvent): Promise<void> {
    const bytes = assemble(event.state.average.values, factsOf(event), event.logitRanges);
    if (event.isBest) await writeWhole(bestPath, [bytes]).catch(unwritable(bestPath));
    await writeWhole(lastPath, [bytes]).catch(unwritable(lastPath));
    // Last, because it is what a resumed run believes: it takes its rows from there and writes them again.
    const checkpoint = toCheckpoint(event.state, { ...record, rows, seconds });
    await saveCheckpoint(statePath, checkpoint).catch(unwritable(statePath));
  }
  return {
    folder,
    bestPath,
    lastPath,
    rows,
    async save(event) {
      seconds += event.seconds;
      const row = resultsRow(event, seconds);
      rows.push(row);
      if (event.isSound) await saveWeights(event);
      await writeText(
        join(folder, 'results.csv'),
        [resultsHeader(), ...rows.map(resultsLine), ''].join('\n'),
      );
      return row;
    },
  };
}

function factsOf({ epoch, validation }: EpochEvent): TrainingFacts {
  return {
    epoch: epoch + 1,
    ...(validation && { fitness: validation.fitness, ap50: validation.ap50, ap: validation.ap }),
  };
}

function writeText(path: string, text: string): Promise<void> {
  return writeWhole(path, [Buffer.from(text)]).catch(unwritable(path));
}

/** A full disk in the user's words. */
function unwritable(path: string) {
  return (cause: unknown): never => {
    throw outputFault(path, cause);
  };
}
