// The whole of an export on our own detector and our own street: what is written, what is refused, what is left behind.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { predictDataset } from '#evaluate';
import { loadModelFile, readMetadata } from '#onnx';
import { openDetector } from '#runtime';
import { exportModel } from '../../export/export-model.ts';
import { readManifest } from '../../export/manifest.ts';
import type { ExportRequest, ExportSettings } from '../../export/settings.ts';
import { type StreetSet, writeStreetSet } from '../support/street-set.ts';

const MODEL = fileURLToPath(new URL('../../samples/model/edge-n-street.onnx', import.meta.url));
const SETTINGS: ExportSettings = {
  format: 'onnx',
  precision: 'float32',
  decode: false,
  boxVariance: 'auto',
  uint8: false,
  opset: 17,
};

let folder: string;
let scratch: string;
let street: StreetSet;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'edge-detect-test-export-'));
  // Scratch of its own: other tests export at the same time.
  scratch = join(folder, 'scratch');
  mkdirSync(scratch);
  vi.stubEnv('TMPDIR', scratch);
  street = await writeStreetSet(join(folder, 'street'), { hours: ['day', 'dusk'], cameras: 2, pictures: 6 });
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

function request(settings: Partial<ExportSettings>, more: Partial<ExportRequest> = {}): ExportRequest {
  return {
    model: MODEL,
    settings: { ...SETTINGS, ...settings },
    pictures: { kind: 'labelled', data: street.data },
    out: join(folder, 'out.onnx'),
    ...more,
  };
}

const pictures = () => readdirSync(street.images).map((name) => ({ path: join(street.images, name) }));
const written = () => readdirSync(folder).filter((name) => name.startsWith('out'));
const clear = () => {
  for (const name of written()) rmSync(join(folder, name));
};

describe('exportModel', () => {
  it('writes model, manifest and report of a float32 export that takes bytes', {
    timeout: 60_000,
  }, async () => {
    clear();
    const { manifest, paths } = await exportModel(request({ uint8: true, topAnchors: 1000 }));
    expect(written().sort()).toEqual(['out.export.html', 'out.export.json', 'out.onnx']);
    expect(manifest).toMatchObject({
      precision: 'float32',
      input: { dtype: 'uint8', shape: [1, 192, 320, 3] },
    });
    expect(manifest.gate).toMatchObject({ passed: true, forced: false, pictures: 24 });
    const file = await loadModelFile(paths.model);
    expect(readManifest(readMetadata(file.model))).toEqual(manifest);
    expect(JSON.parse(readFileSync(paths.manifest, 'utf8'))).toEqual(manifest);
    const detector = await openDetector(paths.model);
    await detector.close();
    expect(detector.capabilities).toMatchObject({ distribution: 'bins', boxVariance: true });
    expect(detector.model.finding.layout).toMatchObject({ kind: 'edge-detect', anchorCount: 1000 });
  });

  it('takes several pictures at once, and finds in each what one finds alone', {
    timeout: 60_000,
  }, async () => {
    clear();
    const { manifest, paths } = await exportModel(request({ batch: 3 }));
    expect(manifest.input.shape).toEqual([3, 3, 192, 320]);
    const several = await predictDataset(paths.model, pictures());
    const alone = await predictDataset(MODEL, pictures());
    const rounded = ({ pictures: found }: typeof alone) =>
      found.map(({ detections }) => detections.map(({ classId, score }) => [classId, score.toFixed(4)]));
    expect(rounded(alone).flat().length).toBeGreaterThan(20);
    expect(rounded(several)).toEqual(rounded(alone));
  });

  it('halves a model, and says so where it is opened', { timeout: 60_000 }, async () => {
    clear();
    const calibration = { sources: [street.images], most: 8 };
    const { manifest, bytes } = await exportModel(request({ precision: 'float16' }, { calibration }));
    expect(manifest.gate.checks.every(({ passed }) => passed)).toBe(true);
    expect(manifest.gate.changes.boxPx?.p99).toBeGreaterThan(0);
    expect(bytes).toBeLessThan(0.7 * readFileSync(MODEL).length);
  });

  it('quantises a model on the pictures that it is given', { timeout: 90_000 }, async () => {
    clear();
    const calibration = { sources: [street.images], most: 8 };
    const quantise = { placement: 'cpu', method: 'percentile', weightBits: 8 } as const;
    const { manifest } = await exportModel(
      request({ precision: 'int8', quantise }, { calibration, force: true }),
    );
    expect(manifest.quantisation).toEqual({ ...quantise, pictures: 8 });
    expect(manifest.gate.labels?.apBefore).toBeGreaterThan(0);
  });

  it('refuses what falls below a floor: a report, and nothing under the final name', {
    timeout: 60_000,
  }, async () => {
    clear();
    const calibration = { sources: [street.images], most: 8 };
    const strict = request({ precision: 'float16' }, { calibration, floors: { maxBoxPx: 0 } });
    const refusal = await exportModel(strict).catch((error: unknown) => error);
    expect(refusal).toMatchObject({
      exitCode: 5,
      message: expect.stringMatching(/box edges, px of the input, p99 0\.\d+ \(at most 0\)/),
      hint: expect.stringMatching(/max_box_px=.*force=True/),
    });
    expect(written()).toEqual(['out.export.html']);
    expect(readFileSync(join(folder, 'out.export.html'), 'utf8')).toContain('was not written');
    const { manifest } = await exportModel({ ...strict, force: true });
    expect(manifest.gate).toMatchObject({ passed: false, forced: true });
    expect(written()).toContain('out.onnx');
  });

  it('leaves an older export as it was where the new one is refused', { timeout: 60_000 }, async () => {
    clear();
    writeFileSync(join(folder, 'out.onnx'), 'older');
    const calibration = { sources: [street.images], most: 8 };
    await expect(
      exportModel(request({ precision: 'float16' }, { calibration, floors: { maxBoxPx: 0 } })),
    ).rejects.toThrow(/not written/);
    expect(readFileSync(join(folder, 'out.onnx'), 'utf8')).toBe('older');
  });

  it('stops when it is asked to, and leaves nothing', { timeout: 60_000 }, async () => {
    clear();
    const stop = new AbortController();
    const running = exportModel(request({ uint8: true }), {
      signal: stop.signal,
      onStage: (stage) => {
        if (stage === 'gate') stop.abort(new Error('enough'));
      },
    });
    await expect(running).rejects.toThrow('enough');
    expect(written()).toEqual([]);
    expect(readdirSync(scratch)).toEqual([]);
  });

  it('refuses to replace its source, and a name that is no model', async () => {
    await expect(exportModel(request({}, { out: MODEL }))).rejects.toThrow(/would replace/);
    await expect(exportModel(request({}, { out: join(folder, 'out.engine') }))).rejects.toThrow(/\.onnx/);
    await expect(exportModel(request({}, { out: join(folder, 'no', 'out.onnx') }))).rejects.toThrow(
      /folder cannot be read/,
    );
  });

  it('says what is missing where no picture is named for the ranges', async () => {
    clear();
    const quantise = { placement: 'cpu', method: 'percentile', weightBits: 8 } as const;
    await expect(exportModel(request({ precision: 'int8', quantise }))).rejects.toThrow(
      /no pictures to measure/,
    );
    expect(written()).toEqual([]);
  });
});
