// Detection on an inference server, against a real one: NVIDIA Triton with models that ONNX Runtime runs in it.
import { readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Detection } from '#core';
import { DeviceError, ModelError } from '#core';
import { serialize, standInDetector } from '#onnx';
import { type DetectorOptions, detections, openDetector, openSource } from '#runtime';
import { parseAddress } from '../../../runtime/session/kserve/address.ts';
import { toHeadTensor } from '../../../runtime/session/kserve/datatypes.ts';
import { createHttpTransport } from '../../../runtime/session/kserve/http-transport.ts';
import type { OutputTensor } from '../../../runtime/session/kserve/transport.ts';
import { ffmpegAvailable } from '../../support/ffmpeg-available.ts';
import { distributionDetector } from '../../support/tiny-heads.ts';
import { InferenceServer, serverInstalled } from './kserve-server.ts';

const STREET = 'samples/model/edge-n-street.onnx';
const CLIP = 'samples/clips/dusk.mp4';
const FRAMES = 24;

const note = serverInstalled ? '' : ' (skipped: scripts/install-inference-server.mjs was not run)';
const videoNote = ffmpegAvailable ? '' : ' (skipped: no ffmpeg)';

/** Farthest numbers of two answers; infinite where they are not as many boxes of the same classes in the same order. */
function farthest(ours: readonly Detection[], theirs: readonly Detection[]) {
  const classes = (found: readonly Detection[]) => found.map(({ classId }) => classId).join();
  if (classes(ours) !== classes(theirs)) return { box: Infinity, score: Infinity, variance: Infinity };
  const apart = { box: 0, score: 0, variance: 0 };
  for (const [index, one] of ours.entries()) {
    const other = theirs[index] as Detection;
    for (const side of ['x1', 'y1', 'x2', 'y2'] as const) {
      apart.box = Math.max(apart.box, Math.abs(one.box[side] - other.box[side]));
      const [a = 0, b = 0] = [one.boxVariance?.[side], other.boxVariance?.[side]];
      apart.variance = Math.max(apart.variance, Math.abs(a - b) / Math.max(1, b));
    }
    apart.score = Math.max(apart.score, Math.abs(one.score - other.score));
  }
  return apart;
}

describe.skipIf(!serverInstalled)(`a model on an inference server${note}`, { timeout: 60_000 }, () => {
  let server: InferenceServer;
  let folder: string;
  let tapped: string;
  let smaller: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'edge-detect-kserve-'));
    tapped = join(folder, 'tapped.onnx');
    smaller = join(folder, 'smaller.onnx');
    const distribution = serialize(distributionDetector());
    await writeFile(tapped, distribution);
    await writeFile(smaller, serialize(standInDetector({ width: 320, height: 192 })));
    const street = await readFile(STREET);
    server = await InferenceServer.create();
    await server.add('street', street, { freeBatch: true });
    await server.add('street-single', street);
    await server.add('street-batched', street, { maxBatchSize: 4 });
    await server.add('street-half', street, { floats: 'FP16' });
    await server.add('street-double', street, { floats: 'FP64' });
    await server.add('street-without', street, { leaveOut: ['box_var', 'quality'] });
    await server.add('tapped', distribution);
    await server.start();
  }, 60_000);

  afterAll(async () => {
    await server?.end();
    await rm(folder, { recursive: true, force: true });
  });

  const on = (url: string, options: DetectorOptions = {}) =>
    openDetector(STREET, { ...options, provider: { kind: 'kserve', url } });

  async function detectionsOf(options: DetectorOptions): Promise<(readonly Detection[])[]> {
    const detector = await openDetector(STREET, options);
    const source = await openSource(CLIP);
    const found: (readonly Detection[])[] = [];
    try {
      for await (const result of detections({ source, detector })) {
        found.push(result.detections);
        if (found.length === FRAMES) break;
      }
    } finally {
      await detector.close();
    }
    return found;
  }

  describe.skipIf(!ffmpegAvailable)(`answers as the CPU here does${videoNote}`, () => {
    let local: (readonly Detection[])[];
    beforeAll(async () => {
      local = await detectionsOf({});
    });

    it.each([
      ['gRPC', () => server.grpc('street', '?shm=off')],
      ['HTTP', () => server.http('street', '?shm=off')],
      ['gRPC and shared memory', () => server.grpc('street', '?shm=on')],
      ['HTTP and shared memory', () => server.http('street', '?shm=on')],
      ['shared memory in which the server batches', () => server.grpc('street-batched', '?shm=on')],
      ['a model with one picture per run', () => server.grpc('street-single')],
      ['a model that the server batches', () => server.grpc('street-batched')],
    ] as const)('over %s', async (_, url) => {
      expect(local.flat().length).toBeGreaterThan(FRAMES);
      const served = await detectionsOf({ provider: { kind: 'kserve', url: url() }, sessions: 3 });
      const { box, score, variance } = farthest(served.flat(), local.flat());
      expect(box).toBeLessThan(1e-4);
      expect(score).toBeLessThan(1e-5);
      expect(variance).toBeLessThan(1e-4);
    });

    it.each(['grpc', 'http'] as const)('over %s in float16, to its rounding', async (protocol) => {
      const served = await detectionsOf({
        provider: { kind: 'kserve', url: server[protocol]('street-half') },
      });
      for (const [frame, found] of local.entries()) {
        for (const one of found.filter(({ score }) => score > 0.3)) {
          const apart = (served[frame] ?? []).map((other) => farthest([other], [one]));
          expect(Math.min(...apart.map(({ box, score }) => Math.max(box, 50 * score)))).toBeLessThan(0.5);
        }
      }
    });
  });

  it('says which server answers and which version of the model', async () => {
    for (const url of [server.grpc('street', '?shm=off'), server.http('street', '?shm=off')]) {
      const detector = await on(url);
      expect(detector.provider).toBe(`${url} (triton 2.51.0, model version 1)`);
      await detector.close();
    }
    const detector = await on(server.grpc('street', '?shm=on'));
    expect(detector.provider).toMatch(/\(triton 2\.51\.0, model version 1, shared memory\)$/);
    // Its files have no names any more: nothing could stay behind, however this process ended.
    expect(readdirSync('/dev/shm').filter((name) => /^edge-detect-[\da-f]{8}-/.test(name))).toEqual([]);
    await detector.close();
  });

  it('sends and reads numbers as JSON to a server that has not said that it takes bytes', async () => {
    const pixels = Float32Array.from({ length: 3 * 192 * 320 }, (_, at) => (at % 251) / 250);
    const bytes = [new Uint8Array(pixels.buffer)];
    const input = { name: 'images', datatype: 'FP32', shape: [1, 3, 192, 320], bytes };
    const transport = createHttpTransport(parseAddress(server.http('street-single')));
    const ask = async () => {
      const [answer] = await transport.infer({ input, outputs: [{ name: 'boxes' }] }, 20_000);
      return toHeadTensor(answer as OutputTensor);
    };
    const asJson = await ask();
    await transport.describeServer(20_000);
    const asBytes = await ask();
    transport.close();
    expect(asJson.shape).toEqual([1, 1260, 4]);
    expect(asJson).toEqual(asBytes);
  });

  it('takes a model without the outputs that were added here for one without them', async () => {
    const here = await openDetector(tapped, {});
    expect(here.capabilities.boxVariance).toBe(true);
    await here.close();
    const provider = { kind: 'kserve', url: server.grpc('tapped') } as const;
    const served = await openDetector(tapped, { provider });
    expect(served.capabilities.boxVariance).toBe(false);
    expect(served.capabilities.limits.join()).toMatch(
      /does not give \S+, which the file has inside: no variance/,
    );
    await served.close();
    await expect(openDetector(tapped, { provider, uncertainty: 'box' })).rejects.toThrow(ModelError);
  });

  describe('refuses, saying what differs', () => {
    it.each([
      ['a model that is not there', 'grpc', 'nobody', /does not serve this model.*nobody/],
      ['a model that is not there', 'http', 'nobody', /does not serve this model.*nobody/],
      [
        'a version that is not there',
        'grpc',
        'street?version=7',
        /street version 7 is not ready \(it has version 1\)/,
      ],
      [
        'a version that is not there',
        'http',
        'street?version=7',
        /street version 7 is not ready \(it has version 1\)/,
      ],
      [
        'outputs that are not there',
        'grpc',
        'street-without',
        /no output quality \(it has boxes.*no output box_var/,
      ],
      [
        'outputs that are not there',
        'http',
        'street-without',
        /no output quality \(it has boxes.*no output box_var/,
      ],
      ['another type of input', 'grpc', 'street-double', /input images is FP64, the file's is FP32 or FP16/],
    ] as const)('%s, over %s', async (_, protocol, model, words) => {
      const opening = on(server[protocol](model));
      await expect(opening).rejects.toThrow(DeviceError);
      await expect(opening).rejects.toThrow(words);
    });

    it('another model', async () => {
      const provider = { kind: 'kserve', url: server.grpc('street') } as const;
      const opening = openDetector(smaller, { provider });
      await expect(opening).rejects.toThrow(DeviceError);
      await expect(opening).rejects.toThrow(/does not serve .*smaller\.onnx: it has no output/);
    });

    it('another size of pictures', async () => {
      const provider = { kind: 'kserve', url: server.grpc('tapped') } as const;
      const other = join(folder, 'other-size.onnx');
      await writeFile(other, serialize(distributionDetector({ input: { width: 128, height: 64 } })));
      const opening = openDetector(other, { provider });
      await expect(opening).rejects.toThrow(
        /its input images is \[[\d, ]+\], the file's is \[1, 3, 64, 128\]/,
      );
    });
  });
});
