// Lists the boxes of a folder of pictures whose edges are least certain: where to look first, or what to label next.
//   node dist/samples/uncertain-boxes/main.js [model.onnx] [folder]
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type Detection, detections, EdgeDetectError, openDetector, openSource } from 'edge-detect';
import { makeStandIn } from './stand-in.ts';

const SHOWN = 12;

interface UncertainBox {
  readonly picture: string;
  readonly detection: Detection;
  /** Standard deviation of each edge in px: left, top, right, bottom. */
  readonly sigmas: readonly number[];
  /** Mean deviation as a part of the box's size: the same error in px hurts a small box more. */
  readonly relative: number;
}

function measure(picture: string, detection: Detection): UncertainBox {
  const { box, boxVariance } = detection;
  if (boxVariance === undefined) throw new Error('asked for with uncertainty: box');
  const { x1, y1, x2, y2 } = boxVariance;
  const sigmas = [x1, y1, x2, y2].map(Math.sqrt);
  const sides = [box.x2 - box.x1, box.y2 - box.y1];
  const relative = sigmas.reduce((sum, sigma, edge) => sum + sigma / (sides[edge % 2] ?? 1), 0) / 4;
  return { picture, detection, sigmas, relative };
}

function lineOf({ picture, detection, sigmas, relative }: UncertainBox): string {
  const { box, className, score } = detection;
  const corners = [box.x1, box.y1, box.x2, box.y2]
    .map((value, edge) => `${value.toFixed(0)}±${(sigmas[edge] ?? 0).toFixed(1)}`)
    .join(' ');
  const share = `${(100 * relative).toFixed(1)} %`.padStart(7);
  return `${share}  ${basename(picture).padEnd(24)} ${className.padEnd(12)} ${score.toFixed(2)}  ${corners}`;
}

async function list(model: string, folder: string): Promise<void> {
  const source = await openSource(folder);
  // Without `box`, a model that cannot tell would be accepted and say nothing; with it, it is refused in words.
  const detector = await openDetector(model, { uncertainty: 'box', iou: 0.45 });
  try {
    const boxes: UncertainBox[] = [];
    for await (const { frame, detections: found } of detections({ source, detector })) {
      boxes.push(...found.map((detection) => measure(frame.source, detection)));
    }
    boxes.sort((a, b) => b.relative - a.relative);
    console.log(`${boxes.length} boxes in ${source.stats().frames} pictures; least certain edges first`);
    console.log(' σ/size  picture                  class        score  left top right bottom ±σ px');
    for (const box of boxes.slice(0, SHOWN)) console.log(lineOf(box));
  } finally {
    await detector.close();
  }
}

async function main([model, folder]: readonly string[]): Promise<void> {
  if (model !== undefined && folder !== undefined) {
    await list(model, folder);
    return;
  }
  console.log('no model and folder given: a stand-in graph measures light in pictures drawn for it');
  const scratch = await mkdtemp(join(tmpdir(), 'uncertain-boxes-'));
  try {
    const standIn = await makeStandIn(scratch);
    await list(standIn.model, standIn.folder);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof EdgeDetectError)) throw error;
  console.error(`${error.message}\n${error.hint}`);
  process.exitCode = error.exitCode;
}
