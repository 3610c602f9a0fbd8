// `device=`, `ort_library=` and `provider_options=` on the command line: used, or the words and exit code 6.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../support/cli.ts';
import { BUNDLED, ortLibrary } from '../support/ort-libraries.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const MODEL = `model=${join(root, 'samples/model/edge-n-street.onnx')}`;
let folder: string;
let picture: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ort-library-'));
  picture = join(folder, 'grey.png');
  await sharp({ create: { width: 64, height: 48, channels: 3, background: 'grey' } }).toFile(picture);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a device that is not here', () => {
  it.each([
    [
      'tensorrt:0',
      /tensorrt:0 is not usable here: .*libonnxruntime_providers_tensorrt\.so/,
      /built with TensorRT/,
    ],
    ['dla:0', /dla:0 is not usable here: .*libonnxruntime_providers_tensorrt\.so/, /the Jetson's/],
    ['webgpu', /webgpu is not usable here: (?!\/)/, /Vulkan driver/],
  ])('ends with 6 and the recipe: %s', async (device, words, recipe) => {
    const { code, stderr } = await runCli(['predict', MODEL, `source=${picture}`, `device=${device}`]);
    expect({ code, stderr }).toMatchObject({ code: 6, stderr: expect.stringMatching(words) });
    expect(stderr).toMatch(recipe);
    expect(stderr).toContain('device=cpu always works');
  });

  it('is passed over by auto, in one line', async () => {
    const { code, stderr } = await runCli([
      'predict',
      MODEL,
      `source=${picture}`,
      'device=auto',
      `project=${folder}`,
    ]);
    expect(code).toBe(0);
    expect(stderr.split('\n').filter((line) => line.includes('device=auto'))).toHaveLength(1);
  });
});

describe('a library that is named', () => {
  it('is used and told, by option and by environment', async () => {
    const library = ortLibrary(BUNDLED) ?? '';
    const words = ['predict', MODEL, `source=${picture}`, `project=${folder}`];
    for (const run of [
      runCli([...words, `ort_library=${library}`]),
      runCli(words, { env: { ORT_DYLIB_PATH: library } }),
    ]) {
      const { code, stderr } = await run;
      expect(code).toBe(0);
      expect(stderr).toMatch(
        /on cpu \(ONNX Runtime 1\.\d+\.\d+ \(libonnxruntime[^)]*\); nodes: \d+ on CPU\)/,
      );
    }
  });

  it('stands in the results of bench, with where the graph ran', async () => {
    const library = ortLibrary(BUNDLED) ?? '';
    const { code, stdout } = await runCli([
      ...['bench', MODEL, `source=${picture}`, 'rounds=1', 'json=True'],
      ...[`ort_library=${library}`, `project=${folder}`, 'name=bench'],
    ]);
    expect(code).toBe(0);
    const [run] = JSON.parse(stdout).entries[0].rounds;
    expect(run).toMatchObject({
      provider: 'cpu',
      runtime: expect.stringMatching(/^ONNX Runtime 1\./),
      placement: { proof: 'node-counts', nodes: { CPUExecutionProvider: expect.any(Number) } },
    });
    expect(JSON.parse(readFileSync(join(folder, 'bench/results.json'), 'utf8')).entries).toHaveLength(1);
  });

  it('ends every command with 6 where it cannot be used', async () => {
    for (const command of ['predict', 'stream', 'bench']) {
      const { code, stderr } = await runCli([command, MODEL, `source=${picture}`, 'ort_library=nowhere.so']);
      expect(code).toBe(6);
      expect(stderr).toMatch(/ort_library=nowhere\.so cannot be used: there is no such file/);
    }
  });

  it('takes options of a provider as name:value, for a provider that has some', async () => {
    const words = ['predict', MODEL, `source=${picture}`];
    const faulty = await runCli([...words, 'provider_options=fast']);
    expect(faulty).toMatchObject({ code: 3, stderr: expect.stringMatching(/'fast' is not name:value/) });
    const pointless = await runCli([...words, 'provider_options=trt_fp16_enable:1']);
    expect(pointless).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/device=cpu takes no provider_options/),
    });
  });
});
