// Engines that the runtime keeps by their key, and engines that come as files: what is taken, what is not, and why.
import { createHash } from 'node:crypto';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DeviceError, ModelError } from '#core';
import { ElementType, graph, model, node, serialize, valueInfo } from '#onnx';
import {
  builderWorkspaceMiB,
  type EngineKey,
  formatEngineRecord,
  isEngineWrapper,
  openModel,
} from '#runtime';
import { engineWrapper } from '../../../../export/formats/engine-wrapper.ts';
import {
  type EngineCacheKey,
  engineCacheFolder,
  openEngineCache,
} from '../../../../runtime/session/ffi/engine-cache.ts';
import { engineOfWrapper, expectLoadableEngine } from '../../../../runtime/session/ffi/engine-context.ts';
import { describeGraph } from '../../../../runtime/session/ffi/graph-facts.ts';
import { doubledModel, dynamicModel } from '../../../support/session-models.ts';

const KEY: EngineCacheKey = {
  modelSha256: 'ab'.repeat(32),
  tensorrt: '10.3.0',
  gpu: 'Orin',
  computeCapability: '8.7',
  precision: 'float16',
  shapes: 'images 1x3x640x640',
  onnxRuntime: '1.20.1',
  options: '[]',
};

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'engines-'));
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

/** As the runtime does: an engine under a name of its own choice. */
async function fill(key: EngineCacheKey, bytes = 1000): Promise<string> {
  const cache = await openEngineCache(root, key);
  writeFileSync(join(cache.folder, 'TensorrtExecutionProvider_0_sm87.engine'), Buffer.alloc(bytes, 7));
  await cache.keep();
  return (await openEngineCache(root, key)).folder;
}

describe('the engines of this machine', () => {
  it('appear under their key when they are whole, and are taken again', async () => {
    const cache = await openEngineCache(root, KEY);
    expect(cache.isFilled).toBe(false);
    expect(cache.note).toBeUndefined();
    expect(readdirSync(root)).toEqual([expect.stringMatching(/^\.building-/)]);
    writeFileSync(join(cache.folder, 'a.engine'), 'an engine');
    await cache.keep();
    const again = await openEngineCache(root, KEY);
    expect(again.isFilled).toBe(true);
    expect(readdirSync(root)).toEqual([again.folder.slice(root.length + 1)]);
  });

  it("are nobody else's: each part of the key makes another", async () => {
    await fill(KEY);
    for (const name of Object.keys(KEY) as (keyof EngineCacheKey)[]) {
      const other = await openEngineCache(root, { ...KEY, [name]: 'another' });
      expect(other.isFilled, name).toBe(false);
      await other.discard();
    }
    expect(readdirSync(root)).toHaveLength(1);
  });

  it.each([
    ['cut off', (file: string) => truncateSync(file, 400), /0_sm87\.engine has 400 bytes of 1000/],
    ['changed', (file: string) => writeFileSync(file, Buffer.alloc(1000, 8)), /0_sm87\.engine was changed/],
    ['gone', (file: string) => rmSync(file), /0_sm87\.engine is gone/],
    ['without a record', (file: string) => rmSync(join(file, '../key.json')), /it has no key\.json/],
    [
      'with a damaged record',
      (file: string) => writeFileSync(join(file, '../key.json'), '{'),
      /key\.json is damaged/,
    ],
    [
      'put there by hand from elsewhere',
      (file: string) => {
        const record = join(file, '../key.json');
        writeFileSync(record, readFileSync(record, 'utf8').replace('10.3.0', '8.5.2'));
      },
      /it is for tensorrt 8\.5\.2, and here it is 10\.3\.0/,
    ],
  ])('are built again, with a word, where one is %s', async (_what, spoil, words) => {
    const folder = await fill(KEY);
    spoil(join(folder, 'TensorrtExecutionProvider_0_sm87.engine'));
    const cache = await openEngineCache(root, KEY);
    expect(cache.isFilled).toBe(false);
    expect(cache.note).toMatch(words);
    writeFileSync(join(cache.folder, 'b.engine'), 'built again');
    await cache.keep();
    const again = await openEngineCache(root, KEY);
    expect(again.isFilled).toBe(true);
    expect(readdirSync(again.folder).sort()).toEqual(['b.engine', 'key.json']);
  });

  it('leave nothing behind where a build failed or made no engine, nor where one was killed long ago', async () => {
    const failed = await openEngineCache(root, KEY);
    await failed.discard();
    const empty = await openEngineCache(root, KEY);
    writeFileSync(join(empty.folder, 'notes.txt'), 'no engine');
    await empty.keep();
    expect(readdirSync(root)).toEqual([]);
    const killed = join(root, '.building-killed');
    await mkdir(killed);
    await (await openEngineCache(root, KEY)).discard();
    expect(readdirSync(root)).toEqual(['.building-killed']);
    const longAgo = new Date(Date.now() - 2 * 86_400_000);
    utimesSync(killed, longAgo, longAgo);
    await (await openEngineCache(root, KEY)).discard();
    expect(readdirSync(root)).toEqual([]);
  });

  it('lie where caches lie', () => {
    expect(engineCacheFolder({ XDG_CACHE_HOME: '/caches' })).toBe('/caches/edge-detect/engines');
    expect(engineCacheFolder({})).toMatch(/\.cache\/edge-detect\/engines$/);
  });
});

const ENGINE_KEY: EngineKey = {
  modelSha256: 'cd'.repeat(32),
  tensorrt: '10.3.0',
  gpu: 'Orin',
  computeCapability: '8.7',
  precision: 'float16',
  shapes: {},
};
const HOST = { level: 24, version: '1.24.0', tensorrt: '10.3.0', gpu: 'Orin', computeCapability: '8.7' };
const TENSORRT = { kind: 'tensorrt', index: 0 } as const;

/** Three files as `export format=engine` leaves them. */
function putEngine(content = Buffer.alloc(500, 3)): { wrapper: string; path: string } {
  const path = join(root, 'street.engine');
  const wrapper = join(root, 'street.ctx.onnx');
  const source = model(
    graph({
      nodes: [node('Relu', ['x'], ['y'])],
      inputs: [valueInfo('x', ElementType.FLOAT, [1, 3, 32, 32])],
      outputs: [valueInfo('y', ElementType.FLOAT, [1, 3, 32, 32])],
    }),
  );
  writeFileSync(
    wrapper,
    serialize(engineWrapper(source, { engine: path, onnx: 'street.onnx', key: ENGINE_KEY })),
  );
  writeFileSync(path, content);
  const sha256 = createHash('sha256').update(content).digest('hex');
  const engine = { name: 'street.engine', sha256, bytes: content.length };
  writeFileSync(`${path}.json`, formatEngineRecord({ version: 1, key: ENGINE_KEY, engine }));
  return { wrapper, path };
}

describe('an engine that comes as a file', () => {
  it('is known by its wrapper, and no other model is', async () => {
    const { wrapper, path } = putEngine();
    expect(engineOfWrapper(readFileSync(wrapper))).toBe('street.engine');
    expect(engineOfWrapper(doubledModel())).toBeUndefined();
    expect(await isEngineWrapper(wrapper)).toBe(true);
    expect(await isEngineWrapper(path)).toBe(false);
    expect(await isEngineWrapper(join(root, 'nowhere.onnx'))).toBe(false);
  });

  it('is taken where everything fits', async () => {
    const { wrapper } = putEngine();
    await expectLoadableEngine({ wrapper, engine: 'street.engine' }, TENSORRT, HOST);
  });

  it.each([
    [
      'the CPU',
      { kind: 'cpu' } as const,
      HOST,
      /stands for a TensorRT engine, which nothing but TensorRT runs/,
    ],
    [
      'an old runtime',
      TENSORRT,
      { ...HOST, level: 16, version: '1.16.3' },
      /since 1\.17, and this is 1\.16\.3/,
    ],
    [
      'another TensorRT',
      TENSORRT,
      { ...HOST, tensorrt: '8.5.2' },
      /built elsewhere: TensorRT 10\.3\.0, here 8\.5\.2/,
    ],
    [
      'another GPU',
      TENSORRT,
      { ...HOST, gpu: 'Thor', computeCapability: '11.0' },
      /GPU Orin, here Thor; compute capability 8\.7, here 11\.0/,
    ],
  ])('is refused on %s', async (_where, provider, host, words) => {
    const { wrapper } = putEngine();
    const refused = expectLoadableEngine({ wrapper, engine: 'street.engine' }, provider, host);
    await expect(refused).rejects.toThrow(ModelError);
    await expect(refused).rejects.toThrow(words);
  });

  it.each([
    [
      'cut off',
      (path: string) => truncateSync(path, 100),
      /has 100 bytes of 500: it is cut off or another file/,
    ],
    [
      'changed',
      (path: string) => writeFileSync(path, Buffer.alloc(500, 4)),
      /is not the file that street\.engine\.json is about/,
    ],
    ['empty', (path: string) => truncateSync(path, 0), /street\.engine is empty/],
    ['not beside it', (path: string) => rmSync(path), /its engine street\.engine is not beside it/],
  ])('is refused where it is %s', async (_what, spoil, words) => {
    const { wrapper, path } = putEngine();
    spoil(path);
    await expect(expectLoadableEngine({ wrapper, engine: 'street.engine' }, TENSORRT, HOST)).rejects.toThrow(
      words,
    );
  });

  it('is refused by a detector on the CPU in the same words', async () => {
    const { wrapper } = putEngine();
    await expect(openModel(wrapper)).rejects.toThrow(/which nothing but TensorRT runs/);
  });
});

describe('what an engine depends on', () => {
  it('is read from the graph', () => {
    expect(describeGraph(doubledModel())).toEqual({
      precision: 'float32',
      shapes: 'x 2x3',
      hasOpenAxes: false,
    });
    expect(describeGraph(dynamicModel())).toMatchObject({ hasOpenAxes: true });
  });

  it('needs memory, which is looked at before', () => {
    const hint = 'lower it';
    expect(builderWorkspaceMiB({ freeMiB: 4096, modelBytes: 12e6, hint })).toBe(1024);
    expect(builderWorkspaceMiB({ freeMiB: 64_000, modelBytes: 12e6, hint })).toBe(2048);
    expect(() => builderWorkspaceMiB({ freeMiB: 600, modelBytes: 12e6, hint })).toThrow(DeviceError);
    expect(() => builderWorkspaceMiB({ freeMiB: 2000, modelBytes: 12e6, askedMiB: 1800, hint })).toThrow(
      /2000 MiB of memory are free, building this engine takes about 2347/,
    );
  });
});
