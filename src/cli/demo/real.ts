// The demo on a real detector and a real clip: boxes with the uncertainty of their edges.
import { mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Ffmpeg } from '#runtime';
import {
  createAnnotatedVideo,
  createPainter,
  describeCapabilities,
  openDetector,
  openSource,
  runDetections,
} from '#runtime';
import { print, say } from '../output.ts';
import { startProgress, summaryLine } from '../report.ts';
import { type ClassStatistics, createCollector } from './statistics.ts';

const MAX_FRAMES = 240;
const CONF = 0.4;
const IOU = 0.5;

export interface RealDemoOptions {
  readonly model: string;
  readonly source: string;
  readonly ffmpeg: Ffmpeg;
  readonly folder: string;
  readonly signal: AbortSignal;
}

export async function runRealDemo({
  model,
  source: spec,
  ffmpeg,
  folder,
  signal,
}: RealDemoOptions): Promise<void> {
  print(`\nA detector on real video: ${basename(model)} on ${basename(spec)}, first ${MAX_FRAMES} frames`);
  const source = await openSource(spec, { ffmpeg });
  const detector = await openDetector(model, { threshold: { kind: 'fixed', base: CONF }, iou: IOU });
  try {
    print(`   it can say: ${describeCapabilities(detector.capabilities)}; nms=${detector.suppression.kind}`);
    await mkdir(folder, { recursive: true });
    const video = join(folder, 'detections.mp4');
    const sink = createAnnotatedVideo({
      ffmpeg,
      pathOf: () => video,
      painter: createPainter({ onNotice: say }),
      live: false,
    });
    const collector = createCollector();
    const progress = startProgress(MAX_FRAMES);
    let frames = 0;
    const summary = await runDetections({
      source,
      detector,
      sinks: [sink],
      signal,
      full: true,
      maxFrames: MAX_FRAMES,
      onResult({ detections }) {
        collector.add(detections);
        progress.advance(++frames);
      },
    }).finally(() => progress.stop());
    for (const line of table(collector.summary())) print(`   ${line}`);
    print(`   ${summaryLine(summary)}`);
    print(`   look at ${video}`);
  } finally {
    await detector.close();
  }
}

function table(classes: readonly ClassStatistics[]): readonly string[] {
  const row = (name: string, count: string, score: string, sigma: string) =>
    `${name.padEnd(14)}${count.padStart(7)}${score.padStart(14)}${sigma.padStart(16)}`;
  return [
    row('class', 'boxes', 'median score', 'median edge σ'),
    ...classes
      .slice(0, 8)
      .map(({ name, count, medianScore, medianSigmaPx }) =>
        row(
          name,
          String(count),
          medianScore.toFixed(2),
          medianSigmaPx === undefined ? '-' : `${medianSigmaPx.toFixed(1)} px`,
        ),
      ),
  ];
}
