// A bare `session.run` loop on the tensors of a clip, with one thread: what streaming is compared with. Run as a
// process of its own: node bare-loop.js MODEL CLIP FRAMES → one line of JSON.
import * as ort from 'onnxruntime-node';
import { createInputWriter, createLetterbox, type Size } from '#core';
import { openModel, openSource } from '#runtime';

const KEPT_TENSORS = 40;

export interface BareFigures {
  readonly frames: number;
  readonly wallMsPerFrame: number;
  /** CPU time of the process in the loop. */
  readonly cpuMsPerFrame: number;
}

async function loadTensors(
  modelPath: string,
  clip: string,
): Promise<{ tensors: ort.Tensor[]; name: string }> {
  const model = await openModel(modelPath, { uncertainty: 'none' });
  const source = await openSource(clip);
  const writer = createInputWriter(model.preprocess.contract, { type: 'float32', layout: model.input.order });
  const tensors: ort.Tensor[] = [];
  const stop = new AbortController();
  const request = {
    fit: (size: Size) => createLetterbox(size, model.inputSize, model.preprocess.contract.fit),
    full: false,
    signal: stop.signal,
  };
  for await (const frame of source.frames(request)) {
    const array = writer.create(model.inputSize) as Float32Array;
    writer.writeContentInto(array, frame.content, frame.letterbox);
    tensors.push(new ort.Tensor('float32', array, model.inputSpec.shape));
    frame.release();
    if (tensors.length === KEPT_TENSORS) break;
  }
  await Promise.all(model.sessions.map((session) => session.close()));
  return { tensors, name: model.inputSpec.name };
}

async function measure(modelPath: string, clip: string, frames: number): Promise<BareFigures> {
  const { tensors, name } = await loadTensors(modelPath, clip);
  const session = await ort.InferenceSession.create(modelPath, {
    executionProviders: ['cpu'],
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    logSeverityLevel: 3,
    extra: { 'session.intra_op.allow_spinning': '0' },
  });
  await session.run({ [name]: tensors[0] as ort.Tensor });
  const cpuBefore = process.cpuUsage();
  const started = performance.now();
  for (let index = 0; index < frames; index++) {
    await session.run({ [name]: tensors[index % tensors.length] as ort.Tensor });
  }
  const wallMs = performance.now() - started;
  const cpu = process.cpuUsage(cpuBefore);
  await session.release();
  return { frames, wallMsPerFrame: wallMs / frames, cpuMsPerFrame: (cpu.user + cpu.system) / 1000 / frames };
}

const [modelPath = '', clip = '', frames = '100'] = process.argv.slice(2);
console.log(JSON.stringify(await measure(modelPath, clip, Number(frames))));
