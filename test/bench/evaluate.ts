// How long the twelve numbers of COCO take on a set of its size, beside pycocotools on the same boxes where it is there.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import type { AveragePrecision } from '#core';
import { evaluateDetections, TRUTH_KIND } from '#core';
import { pictureOfRow } from '../../src/core/match-groups.ts';
import { cocoSizedSet, type EvaluationSet } from './coco-sized.ts';

export interface EvaluateFigure {
  readonly name: string;
  /** Every round. */
  readonly edgeDetectMs: readonly number[];
  readonly edgeDetectCpuMs: readonly number[];
  readonly barMs: number;
  /** Highest resident size of this process, the set included, MiB. */
  readonly peakMib: number;
  /** evaluate + accumulate + summarize, one round (it takes minutes); absent where pycocotools is not installed. */
  readonly pycocotoolsMs?: number;
  readonly pycocotoolsCpuMs?: number;
  /** Largest difference among the twelve numbers. */
  readonly largestDifference?: number;
}

const script = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? './coco_eval.py' : '../../../test/bench/coco_eval.py',
    import.meta.url,
  ),
);

const BAR_MS = 12_000;

interface Reference {
  readonly evaluateMs: number;
  readonly cpuMs: number;
  readonly stats: readonly number[];
}

export function measureEvaluate(rounds: number): EvaluateFigure {
  const set = cocoSizedSet();
  const [wall, cpu]: [number[], number[]] = [[], []];
  let result: AveragePrecision | undefined;
  for (let round = 0; round < rounds; round++) {
    const [before, start] = [process.cpuUsage(), performance.now()];
    result = evaluateDetections(set.truth, set.detections, { classCount: set.classCount });
    wall.push(performance.now() - start);
    const { user, system } = process.cpuUsage(before);
    cpu.push((user + system) / 1000);
  }
  const peakMib = Math.round(process.resourceUsage().maxRSS / 1024);
  const python = findPycocotools();
  const reference = python === undefined ? undefined : runPycocotools(python, set);
  return {
    name: '12 numbers, 5,000 pictures, 36,000 objects, 250,000 detections, 80 classes',
    edgeDetectMs: wall.map(Math.round),
    edgeDetectCpuMs: cpu.map(Math.round),
    barMs: BAR_MS,
    peakMib,
    ...(reference !== undefined &&
      result !== undefined && {
        pycocotoolsMs: Math.round(reference.evaluateMs),
        pycocotoolsCpuMs: Math.round(reference.cpuMs),
        largestDifference: largestDifference(result, reference.stats),
      }),
  };
}

function findPycocotools(): string | undefined {
  return ['/usr/bin/python3', 'python3'].find(
    (program) =>
      (program === 'python3' || existsSync(program)) &&
      spawnSync(program, ['-c', 'import pycocotools.cocoeval']).status === 0,
  );
}

function runPycocotools(python: string, set: EvaluationSet): Reference {
  const folder = mkdtempSync(join(tmpdir(), 'edge-detect-bench-'));
  const [truth, found] = [join(folder, 'truth.json'), join(folder, 'results.json')];
  try {
    writeFileSync(truth, JSON.stringify(truthJson(set)));
    writeFileSync(found, JSON.stringify(resultsJson(set)));
    const { status, stdout, stderr } = spawnSync(python, ['-B', script, truth, found], { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
    return JSON.parse(stdout) as Reference;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function truthJson({ truth, classCount }: EvaluationSet) {
  return {
    images: Array.from({ length: truth.starts.length - 1 }, (_, picture) => ({ id: picture + 1 })),
    categories: Array.from({ length: classCount }, (_, classId) => ({ id: classId + 1, name: `${classId}` })),
    annotations: rowsOf(truth, (row) => ({
      id: row + 1,
      area: truth.areas[row]!,
      iscrowd: truth.kinds[row] === TRUTH_KIND.crowd ? 1 : 0,
    })),
  };
}

function resultsJson({ detections }: EvaluationSet) {
  return rowsOf(detections, (row) => ({ score: detections.scores[row]! }));
}

function rowsOf<Row extends object>(
  { starts, boxes, classIds }: Pick<EvaluationSet['truth'], 'starts' | 'boxes' | 'classIds'>,
  more: (row: number) => Row,
) {
  const pictures = pictureOfRow(starts);
  return Array.from(classIds, (classId, row) => {
    const [x1 = 0, y1 = 0, x2 = 0, y2 = 0] = boxes.subarray(4 * row, 4 * row + 4);
    return {
      ...more(row),
      image_id: pictures[row]! + 1,
      category_id: classId + 1,
      bbox: [x1, y1, x2 - x1, y2 - y1],
    };
  });
}

function largestDifference(result: AveragePrecision, stats: readonly number[]): number {
  const own = [
    ...[result.ap, result.ap50, result.ap75, result.apSmall, result.apMedium, result.apLarge],
    ...[result.ar1, result.ar10, result.arMax, result.arSmall, result.arMedium, result.arLarge],
  ];
  return Math.max(...own.map((value, place) => Math.abs((value ?? -1) - stats[place]!)));
}
