// `export` as users run it: what it writes and says, and what it refuses.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../support/cli.ts';
import { ffmpegAvailable, ffmpegNote } from '../support/ffmpeg-available.ts';
import { faultsOfRefusal, RunFolder, solidPng } from '../support/run-folder.ts';
import { writeStreetSet } from '../support/street-set.ts';
import { constantGraph } from '../support/tiny-models.ts';

const MODEL = fileURLToPath(new URL('../../samples/model/edge-n-street.onnx', import.meta.url));
const folder = new RunFolder();

beforeAll(async () => {
  await writeStreetSet(folder.join('street'), { hours: ['day'], cameras: 1, pictures: 4 });
  await folder.write('empty/black.png', await solidPng({ width: 320, height: 192 }, [0, 0, 0]));
  await folder.write('words.txt', 'not a model');
  const outputs = [{ name: 'probabilities', shape: [1, 1000], through: 'Softmax' }];
  await folder.writeModel('classifier.onnx', constantGraph({ outputs }));
});
afterAll(() => folder.remove());

const run = (...words: string[]) => folder.run(['export', ...words]);

describe.skipIf(!ffmpegAvailable)(`export${ffmpegNote}`, () => {
  it('judges on the clips that come with it, and writes what the next command runs', {
    timeout: 90_000,
  }, async () => {
    const { code, stdout, stderr } = await run(
      `model=${MODEL}`,
      'half=True',
      'gate_pictures=6',
      'out=half.onnx',
    );
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/gate on 6 pictures of .*day\.mp4 and 2 more: passed/);
    expect(stdout).toMatch(/AP lost +not judged .*no labels/);
    expect(readdirSync(folder.path)).toEqual(
      expect.arrayContaining(['half.onnx', 'half.export.html', 'half.export.json']),
    );
    const inspected = await folder.run(['inspect', 'model=half.onnx']);
    expect(inspected.stdout).toMatch(/export +onnx, float16, from edge-n-street\.onnx/);
    expect(inspected.stdout).toMatch(/export +gate passed on 6 pictures/);
    const { lines } = await folder.predict('model=half.onnx', 'source=street/images', 'conf=0.05');
    expect(lines).toHaveLength(4);
  });
});

describe('export', () => {
  it('says its figures as JSON where asked', { timeout: 60_000 }, async () => {
    const words = [`model=${MODEL}`, 'data=street/data.yaml', 'uint8=True', 'out=bytes.onnx', 'json=True'];
    const { code, stdout } = await run(...words);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      model: 'bytes.onnx',
      precision: 'float32',
      input: { dtype: 'uint8', shape: [1, 192, 320, 3] },
      gate: { passed: true, labels: { apDrop: 0 } },
    });
  });

  it('writes what DeepStream wants, judged in that form, and reads it itself', {
    timeout: 60_000,
  }, async () => {
    const words = [`model=${MODEL}`, 'data=street/data.yaml', 'format=deepstream', 'topk=500'];
    const { code, stdout } = await run(...words, 'out=deepstream/');
    expect(code).toBe(3);
    expect(stdout).toBe('');
    mkdirSync(folder.join('deepstream'));
    const written = await run(...words, 'out=deepstream/');
    expect(written.code).toBe(0);
    expect(readdirSync(folder.join('deepstream')).sort()).toEqual([
      'config_infer_primary.txt',
      'edge-n-street-deepstream.export.html',
      'edge-n-street-deepstream.export.json',
      'edge-n-street-deepstream.onnx',
      'labels.txt',
    ]);
    const inspected = await folder.run(['inspect', 'model=deepstream/edge-n-street-deepstream.onnx']);
    expect(inspected.code).toBe(0);
    expect(inspected.stdout).toContain('output float32[batch, 500, 6], uncertainty float32[batch, 500, 5]');
    expect(inspected.stdout).toMatch(
      /it can say +score, variance of each box side .*, variance of the score/,
    );
    expect(written.stdout).toMatch(/standard deviation of the score, p99 +\d/);
    const { lines } = await folder.predict(
      'model=deepstream/edge-n-street-deepstream.onnx',
      'source=street/images',
      'conf=0.05',
    );
    const { lines: wanted } = await folder.predict(`model=${MODEL}`, 'source=street/images', 'conf=0.05');
    expect(lines).toHaveLength(wanted.length);
    for (const [at, { detections }] of wanted.entries()) {
      const found = (lines[at] as (typeof wanted)[number]).detections;
      expect(found).toHaveLength(detections.length);
      for (const [row, { confidence, score_var }] of detections.entries()) {
        expect(found[row]?.confidence).toBeCloseTo(confidence, 4);
        expect(found[row]?.score_var).toBeCloseTo(score_var as number, 4);
      }
    }
  });

  it('says how to build an engine where TensorRT is not', { timeout: 60_000 }, async () => {
    const words = [`model=${MODEL}`, 'data=street/data.yaml', 'format=engine', 'out=engine.onnx'];
    const refused = await run(...words);
    expect(faultsOfRefusal(refused, 6)).toEqual([]);
    expect(refused.stderr).toMatch(/trtexec --onnx=engine\.onnx .*--skipInference/);
    expect(existsSync(folder.join('engine.onnx'))).toBe(true);
    expect(existsSync(folder.join('engine.engine'))).toBe(false);
  });

  it('exits with 5 and leaves a report alone where a floor is missed', { timeout: 60_000 }, async () => {
    const words = ['data=street/data.yaml', 'calibration=street/images', 'max_box_px=0', 'out=refused.onnx'];
    const refused = await run(`model=${MODEL}`, 'half=True', ...words);
    expect(faultsOfRefusal(refused, 5)).toEqual([]);
    expect(refused.stderr).toMatch(/box edges, px of the input, p99/);
    expect(readdirSync(folder.path).filter((name) => name.startsWith('refused'))).toEqual([
      'refused.export.html',
    ]);
  });

  it.each([
    ['a file that is no model', 5, ['model=words.txt', 'source=empty'], /words\.txt/],
    ['a classifier', 5, ['model=classifier.onnx', 'source=empty'], /classif/],
    ['two precisions', 3, [`model=${MODEL}`, 'half=True', 'int8=True', 'source=empty'], /contradict/],
    [
      'two kinds of pictures',
      3,
      [`model=${MODEL}`, 'source=empty', 'data=street/data.yaml'],
      /both are given/,
    ],
    [
      'no other pictures for int8',
      3,
      [`model=${MODEL}`, 'int8=True', 'data=street/data.yaml'],
      /only the split/,
    ],
    ['a folder without pictures', 4, [`model=${MODEL}`, 'source=street/labels'], /street\/labels/],
    ['a folder that is not there', 3, [`model=${MODEL}`, 'source=empty', 'out=no/where.onnx'], /folder/],
    ['an unknown format', 3, [`model=${MODEL}`, 'format=tflite'], /onnx, deepstream, engine/],
    ['the word of another tool', 2, [`model=${MODEL}`, 'simplify=True'], /simplify/],
  ])('refuses %s', { timeout: 30_000 }, async (_, code, words, message) => {
    const refused = await run(...words);
    expect(faultsOfRefusal(refused, code)).toEqual([]);
    expect(refused.stderr).toMatch(message);
  });

  it('leaves nothing half-written on a full disk', { timeout: 60_000 }, async () => {
    // No file may grow beyond 1 MiB: what a full disk does to a model of 2 MB.
    const bin = fileURLToPath(new URL('../../dist/src/cli/bin.js', import.meta.url));
    const words = `export model=${MODEL} source=empty uint8=True out=large.onnx`;
    const full = spawnSync('bash', ['-c', `ulimit -f 1024; exec ${process.execPath} ${bin} ${words}`], {
      cwd: folder.path,
      encoding: 'utf8',
    });
    expect([full.status, full.stdout]).toEqual([4, '']);
    expect(full.stderr).toMatch(/the file would be too large/);
    expect(existsSync(folder.join('large.onnx'))).toBe(false);
    expect(readdirSync(folder.path).filter((name) => name.startsWith('.partial'))).toEqual([]);
  });

  it('stops at Ctrl-C and leaves nothing', { timeout: 60_000 }, async () => {
    const words = ['export', `model=${MODEL}`, 'data=street/data.yaml', 'out=stopped.onnx'];
    const scratch = folder.join('scratch');
    mkdirSync(scratch);
    const stopped = await runCli(words, {
      cwd: folder.path,
      env: { TMPDIR: scratch },
      onStart(child) {
        // Its scratch folder is there: the work has begun.
        const watch = setInterval(() => {
          if (readdirSync(scratch).length === 0) return;
          clearInterval(watch);
          child.kill('SIGINT');
        }, 20);
        child.once('close', () => clearInterval(watch));
      },
    });
    expect(readdirSync(scratch)).toEqual([]);
    expect(stopped.code).toBe(130);
    expect(existsSync(folder.join('stopped.onnx'))).toBe(false);
  });
});
