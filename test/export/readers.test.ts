// Who else must be able to read what `export` writes: the checker of the ONNX project, and older releases of ONNX Runtime.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ElementType, graph, loadModelFile, model, node, pictureInput, serialize, valueInfo } from '#onnx';
import { createScene, renderFrame } from '../../samples/world/index.ts';
import { type Artefact, writeArtefacts } from '../support/export-artefacts.ts';
import {
  OLDER_RUNTIMES,
  olderRuntime,
  PINNED_RUNTIME,
  type RuntimeAnswer,
  type RuntimeJob,
  type RuntimeOutput,
  runInRuntime,
} from '../support/older-runtimes.ts';

const checker = fileURLToPath(new URL('../support/onnx_check.py', import.meta.url));
const python = ['/usr/bin/python3', 'python3'].find(
  (program) =>
    (program === 'python3' || existsSync(program)) && spawnSync(program, ['-c', 'import onnx']).status === 0,
);
const isRuntimeHere = OLDER_RUNTIMES.some((version) => olderRuntime(version) !== undefined);

let folder = '';
let artefacts: readonly Artefact[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'edge-detect-test-readers-'));
  if (python !== undefined || isRuntimeHere) artefacts = await writeArtefacts(folder);
}, 240_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Checked {
  readonly versions: { readonly onnx: string; readonly ir: number; readonly opset: number };
  readonly faults: Readonly<Record<string, string | null>>;
}

function check(paths: readonly string[]): Checked {
  const { status, stdout, stderr } = spawnSync(python ?? '', ['-B', checker, ...paths], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Checked;
}

describe.skipIf(python === undefined)(
  `the ONNX checker${python === undefined ? ' (skipped: python3-onnx is not installed)' : ''}`,
  () => {
    it('accepts every form of an export', { timeout: 60_000 }, () => {
      const { versions, faults } = check(artefacts.map(({ path }) => path));
      // Older ones do not know what is written by default.
      expect(versions.ir).toBeGreaterThanOrEqual(8);
      expect(versions.opset).toBeGreaterThanOrEqual(17);
      expect(Object.keys(faults)).toHaveLength(artefacts.length);
      expect(Object.entries(faults).filter(([, fault]) => fault !== null)).toEqual([]);
    });

    it('is one that refuses: an unknown operator, and an output of another type than is said', () => {
      const written = (name: string, opType: string, type: number) => {
        const value = (called: string, of: number) => valueInfo(called, of, [1, 3]);
        const nodes = [node(opType, ['x'], ['y'])];
        const inputs = [value('x', ElementType.FLOAT)];
        const path = join(folder, name);
        writeFileSync(path, serialize(model(graph({ name, nodes, inputs, outputs: [value('y', type)] }))));
        return path;
      };
      const unknown = written('unknown.onnx', 'Reluu', ElementType.FLOAT);
      const mistyped = written('mistyped.onnx', 'Relu', ElementType.INT64);
      const sound = written('sound.onnx', 'Relu', ElementType.FLOAT);
      expect(check([unknown, mistyped, sound]).faults).toEqual({
        [unknown]: expect.stringContaining('Reluu'),
        [mistyped]: expect.stringMatching(/type/i),
        [sound]: null,
      });
    });
  },
);

describe('ONNX Runtime', () => {
  let jobs: readonly RuntimeJob[] = [];
  let wanted: ReadonlyMap<string, RuntimeAnswer> = new Map();

  beforeAll(async () => {
    if (!isRuntimeHere) return;
    jobs = await Promise.all(artefacts.map(jobOf));
    wanted = new Map(runInRuntime(PINNED_RUNTIME, jobs, folder).map((answer) => [answer.name, answer]));
  }, 120_000);

  it.skipIf(!isRuntimeHere)('as it is pinned runs every form of an export', () => {
    expect([...wanted.values()].filter(({ fault }) => fault !== undefined)).toEqual([]);
    expect(wanted.size).toBe(artefacts.length);
  });

  for (const version of OLDER_RUNTIMES) {
    const installed = olderRuntime(version);
    const note = installed === undefined ? ' (skipped: scripts/install-runtimes.mjs was not run)' : '';
    it.skipIf(installed === undefined)(
      `${version} says what the pinned one says${note}`,
      { timeout: 120_000 },
      () => {
        const answers = runInRuntime(installed ?? '', jobs, folder);
        expect(answers.filter(({ fault }) => fault !== undefined)).toEqual([]);
        const compared = answers.flatMap(({ name, outputs = {} }) => differences(name, outputs, wanted));
        if (process.env['EDGE_DETECT_SHOW'] !== undefined) {
          for (const { farthest, ...what } of compared)
            if (farthest > 0) console.log(version, what.name, farthest);
        }
        expect(compared.length).toBeGreaterThan(artefacts.length);
        expect(compared.filter(({ isSame }) => !isSame)).toEqual([]);
      },
    );
  }
});

interface Difference {
  readonly name: string;
  /** In the unit of the output. */
  readonly farthest: number;
  readonly isSame: boolean;
}

function differences(
  name: string,
  found: Readonly<Record<string, RuntimeOutput>>,
  wanted: ReadonlyMap<string, RuntimeAnswer>,
): readonly Difference[] {
  const outputs = wanted.get(name)?.outputs ?? {};
  expect([name, ...Object.keys(found).sort()]).toEqual([name, ...Object.keys(outputs).sort()]);
  return Object.entries(outputs).map(([output, { shape, data }]) => {
    const other = found[output];
    expect([name, output, other?.shape]).toEqual([name, output, shape]);
    const allowed = toleranceOf(name, output);
    let [farthest, isSame] = [0, true];
    data.forEach((value, at) => {
      const said = other?.data[at] ?? Number.POSITIVE_INFINITY;
      if (Object.is(value, said)) return;
      const difference = Math.abs(value - said);
      farthest = Math.max(farthest, difference);
      if (!(difference <= allowed.absolute + allowed.relative * Math.abs(value))) isSame = false;
    });
    return { name: `${name} ${output}`, farthest, isSame };
  });
}

/** Kernels of half floats and bytes round otherwise from one release to the next; those of float32 do not. */
function toleranceOf(name: string, output: string): { readonly absolute: number; readonly relative: number } {
  if (!/half|int8/.test(name)) return { absolute: 1e-5, relative: 1e-5 };
  const isLength = /^(boxes|box_var|output0?|uncertainty)$/.test(output);
  return isLength ? { absolute: 0.05, relative: 0.01 } : { absolute: 2e-3, relative: 0 };
}

/** A frame of the street, cut to the size that the file takes. */
async function jobOf({ name, path }: Artefact): Promise<RuntimeJob> {
  const input = pictureInput((await loadModelFile(path)).model);
  const { width = 0, height = 0, dtype } = input;
  const scene = createScene({ camera: 40, seed: 7, light: 'sun', size: { width: 320, height: 192 } });
  const { rgb } = renderFrame(scene, 20);
  const bytes = new Uint8Array(height * width * 3);
  for (let row = 0; row < height; row++) {
    const start = row * 320 * 3;
    bytes.set(rgb.subarray(start, start + width * 3), row * width * 3);
  }
  if (dtype === 'uint8')
    return { name, path, input: { name: input.name, dtype, shape: [1, height, width, 3], data: bytes } };
  const plane = height * width;
  const data = Float32Array.from(
    { length: 3 * plane },
    (_, at) => (bytes[(at % plane) * 3 + Math.floor(at / plane)] ?? 0) / 255,
  );
  return { name, path, input: { name: input.name, dtype: 'float32', shape: [1, 3, height, width], data } };
}
