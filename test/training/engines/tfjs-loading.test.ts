// How a native binding is loaded and refused. The package here is a stand-in that records what is done to it.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DeviceError, type EdgeDetectError } from '#core';
import { node } from '#onnx';
import { chooseEngine } from '../../../training/engines/choose.ts';
import { openTfjsEngine } from '../../../training/engines/tfjs/engine.ts';
import { makePart } from './parts.ts';

const require = createRequire(import.meta.url);
const utilities = require('node:util') as Record<string, unknown>;
const { part } = makePart({ nodes: [node('Mul', ['x', 'w'], ['y'])], parameters: { w: [3, 1, 1] } }, 1);

/** What stands in for the package: how it behaves when it is loaded, and whether it finds a GPU. */
const standIn = (atLoad: string, gpu: boolean) => `
const util = require('util');
globalThis.calls = ['loaded, isNullOrUndefined is a ' + typeof util.isNullOrUndefined];
${atLoad}
module.exports = {
  setBackend: async (name) => { globalThis.calls.push('setBackend ' + name); return true; },
  backend: () => { globalThis.calls.push('backend'); return { isUsingGpuDevice: ${gpu} }; },
};`;

const calls = () => (globalThis as { calls?: readonly string[] }).calls;

describe('a native binding of TensorFlow', () => {
  const old = { ...utilities };
  let folder = '';
  let searchFrom = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'edge-detect-tfjs-'));
    searchFrom = join(folder, 'main.js');
    for (const name of ['isNullOrUndefined', 'isArray']) delete utilities[name]; // as in Node 23
  });
  afterEach(async () => {
    for (const name of ['isNullOrUndefined', 'isArray']) utilities[name] = old[name];
    await rm(folder, { recursive: true });
  });

  async function install(name: string, source: string): Promise<void> {
    const home = join(folder, 'node_modules', '@tensorflow', name);
    await mkdir(home, { recursive: true });
    await writeFile(join(home, 'index.js'), source);
  }
  const refused = (backend: 'tfjs-node' | 'tfjs-node-gpu') =>
    openTfjsEngine(part, { backend, searchFrom }).then(
      () => undefined,
      (error: EdgeDetectError) => error,
    );

  it('is loaded after what newer releases of Node lack is there again, and asked for its GPU', async () => {
    await install('tfjs-node-gpu', standIn('', true));
    const engine = await openTfjsEngine(part, { backend: 'tfjs-node-gpu', searchFrom });
    expect(calls()).toEqual(['loaded, isNullOrUndefined is a function', 'setBackend tensorflow', 'backend']);
    expect(engine.plan).toMatchObject({ engine: 'tfjs', backend: 'tensorflow-gpu', workers: 1 });
    const isNullOrUndefined = utilities['isNullOrUndefined'] as (value: unknown) => boolean;
    expect([null, undefined, 0, ''].map(isNullOrUndefined)).toEqual([true, true, false, false]);
    expect(utilities['isArray']).toBe(Array.isArray);
  });

  it('is not asked for a GPU where it has none to use', async () => {
    await install('tfjs-node', standIn('', false));
    const { plan } = await openTfjsEngine(part, { backend: 'tfjs-node', searchFrom });
    expect(plan).toMatchObject({ engine: 'tfjs', backend: 'tensorflow' });
  });

  it('is refused where it computes on the CPU although a GPU was asked for', async () => {
    await install('tfjs-node-gpu', standIn('', false));
    const error = await refused('tfjs-node-gpu');
    expect(error).toBeInstanceOf(DeviceError);
    expect(error?.message).toContain('is installed, but TensorFlow found no GPU to use');
    expect(error?.message).toContain('CUDA 11.2 with cuDNN 8.1');
  });

  it('is named with the command that installs it where it is missing', async () => {
    for (const backend of ['tfjs-node', 'tfjs-node-gpu'] as const) {
      const error = await refused(backend);
      expect(error).toBeInstanceOf(DeviceError);
      expect(error?.message).toContain(`the package @tensorflow/${backend} is not installed`);
      expect(error?.hint).toContain(`npm install @tensorflow/${backend}@4.22.0`);
    }
  });

  it('is refused with its own words where its library does not load', async () => {
    const words = 'libtensorflow.so.2: cannot open shared object file';
    await install(
      'tfjs-node-gpu',
      standIn(`throw new Error(${JSON.stringify(`${words}\nRequire stack`)});`, true),
    );
    const error = await refused('tfjs-node-gpu');
    expect(error?.message).toContain(`@tensorflow/tfjs-node-gpu cannot be loaded: ${words}; it is built for`);
    expect(error?.message).not.toContain('Require stack');
  });

  it('without a GPU is passed over by auto, which says why', async () => {
    await install('tfjs-node-gpu', standIn('', false));
    const { engine, reason } = await chooseEngine({ engine: 'auto', device: 'auto' }, part, 1, searchFrom);
    expect(calls()).toContain('backend');
    expect(engine.plan).toMatchObject({ engine: 'onnx', backend: 'cpu' });
    expect(reason).toContain('TensorFlow found no GPU to use');
    await engine.close();
  });
});
