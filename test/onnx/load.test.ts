// B26, B32: every wrong file is answered with what it is and what to do.
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ModelError } from '#core';
import { ElementType, loadModelFile, valueInfo } from '#onnx';
import { constantDetector, constantGraph, externalData, modelBytes } from '../support/tiny-models.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'edge-detect-load-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function put(name: string, content: Uint8Array | string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

async function refusal(path: string): Promise<ModelError> {
  const error = await loadModelFile(path).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ModelError);
  return error as ModelError;
}

const whole = modelBytes(constantDetector({ kind: 'yolov8' }));
const ascii = (text: string) => Buffer.from(text, 'latin1');

it('gives bytes, checksum and graph of a good file', async () => {
  const file = await loadModelFile(await put('good.onnx', whole));
  expect(file.sha256).toBe(createHash('sha256').update(whole).digest('hex'));
  expect(file.model.graph?.output[0]?.name).toBe('output0');
  expect(file.externalDataFolder).toBeUndefined();
});

it('takes weights out of the inputs, where old graphs list them', async () => {
  const old = constantDetector({ kind: 'yolov8' });
  old.graph?.input.push(valueInfo('output0_value', ElementType.FLOAT, [1, 6, 189]));
  const { model } = await loadModelFile(await put('old.onnx', modelBytes(old)));
  expect(model.graph?.input.map(({ name }) => name)).toEqual(['images']);
});

describe('files that are no ONNX model', () => {
  it.each([
    [
      'renamed.onnx',
      'PK\x03\x04....archive/data.pkl',
      /PyTorch/,
      /yolo export model=.*renamed\.onnx format=onnx/,
    ],
    ['old.pth', '\x80\x02\x8a\x0a', /PyTorch/, /yolo export model=.*old\.pth format=onnx/],
    ['pickle.onnx', '\x80\x02\x8a\x0a', /PyTorch/, /yolo export model=.*pickle\.onnx format=onnx/],
    ['page.onnx', '\n<!DOCTYPE html><html>', /web page/, /download/],
    ['pointer.onnx', 'version https://git-lfs.github.com/spec/v1\n', /Git LFS/, /git lfs pull/],
    ['net.xml', '<?xml version="1.0"?><net name="x">', /OpenVINO/, /format=onnx/],
    ['lite.onnx', '\x1c\0\0\0TFL3', /TFLite/, /format=onnx/],
    ['board.engine', 'anything', /TensorRT/, /\.onnx file/],
    ['board.trt', 'anything', /TensorRT/, /\.onnx file/],
    ['noise.onnx', '\xff\xff\xff\xff noise', /not an ONNX file/, /\.onnx/],
    ['empty.onnx', '', /empty/, /again/],
  ])('%s', async (name, content, message, hint) => {
    const error = await refusal(await put(name, ascii(content)));
    expect(error.message).toMatch(message);
    expect(error.hint).toMatch(hint);
  });

  it('a folder, a missing file, a missing checkpoint', async () => {
    await mkdir(join(folder, 'folder.onnx'));
    expect((await refusal(join(folder, 'folder.onnx'))).message).toMatch(/is a folder/);
    expect((await refusal(join(folder, 'nowhere.onnx'))).message).toMatch(/no model file/);
    expect((await refusal(join(folder, 'yolov8n.pt'))).hint).toMatch(/yolo export model=.*yolov8n\.pt/);
  });

  it('a file cut in half', async () => {
    const error = await refusal(await put('half.onnx', whole.subarray(0, whole.length / 2)));
    expect(error.message).toMatch(/cut off/);
  });
});

describe('versions newer than the runtime', () => {
  const outputs = [{ name: 'output0', shape: [1, 5, 189] }];

  it('an IR version is named with what the runtime takes', async () => {
    const error = await refusal(await put('ir.onnx', modelBytes(constantGraph({ outputs, irVersion: 99 }))));
    expect(error.message).toMatch(/IR version 99.*up to 13/);
    expect(error.hint).toMatch(/opset 17/);
  });

  it('an opset too', async () => {
    const error = await refusal(await put('opset.onnx', modelBytes(constantGraph({ outputs, opset: 99 }))));
    expect(error.message).toMatch(/opset 99.*up to 26/);
  });
});

describe('weights in a second file', () => {
  it('loads from its folder, also under a name of its own', async () => {
    const { model, weights } = externalData();
    await put('w.bin', weights);
    const file = await loadModelFile(await put('renamed-model.onnx', modelBytes(model)));
    expect(file.externalDataFolder).toBe(folder);
  });

  it('absent: names the file and the folder', async () => {
    const { model } = externalData('gone.bin');
    const error = await refusal(await put('lonely.onnx', modelBytes(model)));
    expect(error.message).toContain('gone.bin');
    expect(error.message).toContain(folder);
  });

  it('too short', async () => {
    const { model, weights } = externalData('short.bin');
    await put('short.bin', weights.subarray(8));
    expect((await refusal(await put('short.onnx', modelBytes(model)))).hint).toMatch(/cut off/);
  });

  it.each(['../w.bin', '/etc/passwd', 'a/../../w.bin', 'C:\\w.bin', '..\\w.bin', ''])(
    'a place outside the folder is refused: %s',
    async (location) => {
      const { model } = externalData(location);
      const error = await refusal(await put('leaves.onnx', modelBytes(model)));
      expect(error.message).toMatch(/not inside the model's folder/);
    },
  );
});
