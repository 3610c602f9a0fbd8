// Counts people, or any other class, in a video or a camera second by second, and says how sure the counts are.
//   node dist/samples/people-counter/main.js [model.onnx] [source] [class]
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { detections, EdgeDetectError, openDetector, openSource } from 'edge-detect';
import { describeCapabilities } from 'edge-detect/runtime';
import { createSecond, type Second } from './second.ts';
import { makeStandIn } from './stand-in.ts';

async function count(model: string, spec: string, className: string, signal: AbortSignal): Promise<void> {
  const source = await openSource(spec);
  const detector = await openDetector(model, { threshold: { kind: 'fixed', base: 0.4 }, iou: 0.45 });
  try {
    if (!detector.classNames.includes(className)) {
      console.error(`${model} does not know '${className}', but: ${detector.classNames.join(', ')}`);
      process.exitCode = 2;
      return;
    }
    console.log(`the model can say: ${describeCapabilities(detector.capabilities)}`);
    let second: Second | undefined;
    // Ending the loop, by whatever way, ends ffmpeg too.
    for await (const { frame, detections: found } of detections({ source, detector, signal, onEvent })) {
      const at = Math.floor(frame.ptsSeconds ?? frame.index);
      if (second?.at !== at) {
        if (second !== undefined) console.log(second.line());
        second = createSecond(at, className);
      }
      second.add(found.filter((detection) => detection.className === className));
    }
    if (second !== undefined) console.log(second.line());
  } finally {
    await detector.close();
  }
}

function onEvent(event: { readonly kind: string; readonly source: string }): void {
  if (event.kind !== 'open') console.error(event);
}

async function main([model, source, className]: readonly string[], signal: AbortSignal): Promise<void> {
  if (model !== undefined && source !== undefined) {
    await count(model, source, className ?? 'person', signal);
    return;
  }
  console.log('no model and source given: a stand-in graph measures light in a clip drawn for it, no people');
  const folder = await mkdtemp(join(tmpdir(), 'people-counter-'));
  try {
    const standIn = await makeStandIn(folder);
    await count(standIn.model, standIn.source, standIn.className, signal);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const interrupt = new AbortController();
process.once('SIGINT', () => interrupt.abort());
try {
  await main(process.argv.slice(2), interrupt.signal);
} catch (error) {
  if (interrupt.signal.aborted) {
    process.exitCode = 130;
  } else if (error instanceof EdgeDetectError) {
    console.error(`${error.message}\n${error.hint}`);
    process.exitCode = error.exitCode;
  } else {
    throw error;
  }
}
