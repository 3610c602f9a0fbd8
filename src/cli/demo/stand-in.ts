// The demo of a score that is a distribution, on a stand-in: no trained head of that kind comes with this version.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  accepts,
  type Detection,
  PUBLISHED_THRESHOLD,
  type ThresholdPolicy,
  UNCERTAINTY_SUPPRESSION,
} from '#core';
import { serialize, standInQualityDetector } from '#onnx';
import type { Ffmpeg } from '#runtime';
import { DUSK_CLIP, detections, drawDuskClip, openDetector, openSource } from '#runtime';
import { print } from '../output.ts';

const BASE = PUBLISHED_THRESHOLD.base;
const RULES: readonly { readonly name: string; readonly policy: ThresholdPolicy }[] = [
  { name: `fixed ${BASE}`, policy: { kind: 'fixed', base: BASE } },
  { name: `${BASE} - 0.3 Var`, policy: PUBLISHED_THRESHOLD },
  { name: `${BASE} - 0.5 std`, policy: { kind: 'std', base: BASE, k: 0.5 } },
];

export interface StandInDemoOptions {
  readonly ffmpeg: Ffmpeg;
  /** A folder for the graph and the clip, which the caller removes. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

export async function runStandInDemo({ ffmpeg, folder, signal }: StandInDemoOptions): Promise<void> {
  print(
    '\n2. A score that is a distribution, while dusk falls (a stand-in graph on a drawn clip: it was not trained,',
  );
  print('   it measures brightness, and shows how expectation, variance and the threshold rules act)');
  const model = join(folder, 'stand-in.onnx');
  const clip = join(folder, 'dusk.mp4');
  await writeFile(model, serialize(standInQualityDetector(DUSK_CLIP)));
  await drawDuskClip(ffmpeg, clip);
  const source = await openSource(clip, { ffmpeg });
  const detector = await openDetector(model, {
    threshold: { kind: 'fixed', base: 0.2 },
    suppression: UNCERTAINTY_SUPPRESSION,
    iou: 0.3,
    scoreLaws: true,
  });
  try {
    print(
      `   ${'time'.padEnd(8)}${'score'.padEnd(16)}${RULES.map(({ name }) => name.padEnd(18)).join('')}`.trimEnd(),
    );
    for await (const { frame, detections: found } of detections({ source, detector, signal })) {
      if (frame.index % DUSK_CLIP.framesPerSecond === 0) print(`   ${row(frame.ptsSeconds ?? 0, found[0])}`);
    }
  } finally {
    await detector.close();
  }
}

function row(seconds: number, best: Detection | undefined): string {
  const time = `${seconds.toFixed(1)} s`.padEnd(8);
  if (best === undefined) return `${time}nothing above 0.2`;
  const { classId, score, scoreVariance: variance = 0 } = best;
  const candidate = { classId, score, variance, tailMass: () => Number.NaN };
  const verdicts = RULES.map(({ policy }) => (accepts(policy, candidate) ? 'kept' : 'lost').padEnd(18));
  return `${time}${`${score.toFixed(2)} ±${Math.sqrt(variance).toFixed(2)}`.padEnd(16)}${verdicts.join('')}`.trimEnd();
}
