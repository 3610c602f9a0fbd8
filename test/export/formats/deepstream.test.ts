// What DeepStream is told about a model, and what it cannot be told.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEFAULT_FIT, type PreprocessContract } from '#core';
import { ElementType, graph, type ModelProto, model, node, pictureInput, valueInfo } from '#onnx';
import {
  type DeepstreamFacts,
  deepstreamTexts,
  expectDeepstreamFolder,
  writeDeepstreamFiles,
} from '../../../export/formats/deepstream.ts';
import { withDeepstreamInput } from '../../../export/formats/deepstream-input.ts';
import { runGraph } from '../../onnx/heads/run-graph.ts';

const YOLOV8: PreprocessContract = {
  fit: DEFAULT_FIT,
  channels: 'rgb',
  mean: [0, 0, 0],
  std: [255, 255, 255],
  pad: 114,
};
const FACTS: DeepstreamFacts = {
  model: '/somewhere/street.onnx',
  contract: YOLOV8,
  classNames: ['person', 'car'],
  precision: 'float16',
  endToEnd: false,
  known: ['score', 'box'],
};

/** Keys and values as nvinfer reads them: comments and sections left out. */
function settingsOf(config: string): Readonly<Record<string, string>> {
  const lines = config.split('\n').filter((line) => line.includes('=') && !line.startsWith('#'));
  return Object.fromEntries(lines.map((line) => line.split('=', 2)));
}

describe('the configuration', () => {
  it('tells nvinfer what it can be told', () => {
    const { config, labels } = deepstreamTexts({ ...FACTS, batch: 4, threshold: 0.3 });
    expect(settingsOf(config)).toEqual({
      'gpu-id': '0',
      'net-scale-factor': String(1 / 255),
      'model-color-format': '0',
      'maintain-aspect-ratio': '1',
      'symmetric-padding': '1',
      'scaling-filter': '1',
      'onnx-file': 'street.onnx',
      'model-engine-file': 'street.onnx_b4_gpu0_fp16.engine',
      'labelfile-path': 'labels.txt',
      'batch-size': '4',
      'network-mode': '2',
      'num-detected-classes': '2',
      interval: '0',
      'gie-unique-id': '1',
      'process-mode': '1',
      'network-type': '0',
      'cluster-mode': '2',
      'output-tensor-meta': '1',
      'parse-bbox-func-name': 'NvDsInferParseYolo',
      'custom-lib-path': 'nvdsinfer_custom_impl_Yolo/libnvdsinfer_custom_impl_Yolo.so',
      'nms-iou-threshold': '0.45',
      'pre-cluster-threshold': '0.3',
      topk: '300',
    });
    expect(labels).toBe('person\ncar\n');
  });

  it('says what it cannot be told', () => {
    const { config, notes } = deepstreamTexts(FACTS);
    expect(notes[0]).toMatch(/pads with black.*padding of 114/);
    for (const note of notes) expect(config).toContain(`# Note: ${note}.`);
    expect(deepstreamTexts({ ...FACTS, contract: { ...YOLOV8, pad: 0 } }).notes.join()).not.toMatch(/black/);
    const small = { ...YOLOV8, fit: { ...DEFAULT_FIT, enlarge: false } };
    expect(deepstreamTexts({ ...FACTS, contract: small }).notes.join()).toMatch(/enlarges pictures/);
    expect(deepstreamTexts({ ...FACTS, precision: 'int8' }).notes.join()).toMatch(/trtexec/);
  });

  it('of a top-left letterbox, BGR, 0..255 less a mean', () => {
    const contract: PreprocessContract = {
      ...YOLOV8,
      fit: { mode: 'letterbox', align: 'top-left', enlarge: true },
      channels: 'bgr',
      mean: [103.53, 116.28, 123.675],
      std: [1, 1, 1],
    };
    expect(settingsOf(deepstreamTexts({ ...FACTS, contract, known: [] }).config)).toMatchObject({
      'net-scale-factor': '1',
      offsets: '103.53;116.28;123.675',
      'model-color-format': '1',
      'symmetric-padding': '0',
    });
  });

  it('of a stretched input and a network that suppresses by itself', () => {
    const contract: PreprocessContract = { ...YOLOV8, fit: { ...DEFAULT_FIT, mode: 'stretch' } };
    const settings = settingsOf(deepstreamTexts({ ...FACTS, contract, endToEnd: true, known: [] }).config);
    expect(settings).toMatchObject({ 'maintain-aspect-ratio': '0', 'cluster-mode': '4' });
    for (const key of ['symmetric-padding', 'nms-iou-threshold', 'output-tensor-meta'])
      expect(settings).not.toHaveProperty(key);
  });

  it('refuses a class name of two lines', () => {
    expect(() => deepstreamTexts({ ...FACTS, classNames: ['per\nson'] })).toThrow(
      /"per\\nson" has a line break/,
    );
  });
});

describe('the files', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'deepstream-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('lie beside the model, which may be exported again; another model is not overwritten', async () => {
    const path = join(folder, 'street.onnx');
    await expectDeepstreamFolder(path);
    const paths = await writeDeepstreamFiles({ ...FACTS, model: path });
    expect(await readFile(paths.labels, 'utf8')).toBe('person\ncar\n');
    expect(await readFile(paths.config, 'utf8')).toContain('onnx-file=street.onnx');
    await expectDeepstreamFolder(path);
    await expect(expectDeepstreamFolder(join(folder, 'other.onnx'))).rejects.toThrow(
      /belongs to street\.onnx/,
    );
    await writeFile(paths.config, 'something else\n');
    await expect(expectDeepstreamFolder(path)).rejects.toThrow(/belongs to another model/);
  });
});

/** `images` → Identity → `output`, whatever the shape. */
function passThrough(shape: readonly number[], type: number = ElementType.FLOAT): ModelProto {
  return model(
    graph({
      nodes: [node('Cast', ['images'], ['output'], { to: 1n })],
      inputs: [valueInfo('images', type, shape)],
      outputs: [valueInfo('output', ElementType.FLOAT, shape)],
    }),
  );
}

describe('the input', () => {
  it('stays where nvinfer can fill it', () => {
    const source = passThrough([1, 3, 2, 2]);
    expect(withDeepstreamInput(source, YOLOV8)).toEqual({ model: source, contract: YOLOV8, notes: [] });
  });

  it('takes 0..255 where every channel has its own deviation', async () => {
    const contract: PreprocessContract = { ...YOLOV8, mean: [10, 20, 30], std: [2, 4, 8] };
    const moved = withDeepstreamInput(passThrough([1, 3, 1, 1]), contract);
    expect(moved.contract).toMatchObject({ mean: [0, 0, 0], std: [1, 1, 1] });
    expect(moved.notes.join()).toMatch(/a deviation for each channel/);
    const feed = { images: { data: Float32Array.of(12, 28, 46), shape: [1, 3, 1, 1] } };
    expect([...(await runGraph(moved.model, feed)).get('output')!.data]).toEqual([1, 2, 2]);
  });

  it('becomes planes of float32', () => {
    for (const source of [passThrough([1, 2, 2, 3]), passThrough([1, 3, 2, 2], ElementType.FLOAT16)]) {
      const moved = withDeepstreamInput(source, YOLOV8);
      expect(pictureInput(moved.model)).toMatchObject({ dtype: 'float32', order: 'nchw' });
    }
  });

  it('is refused where it takes bytes or grey pictures', () => {
    expect(() => withDeepstreamInput(passThrough([1, 3, 2, 2], ElementType.UINT8), YOLOV8)).toThrow(/bytes/);
    expect(() => withDeepstreamInput(passThrough([1, 1, 2, 2]), YOLOV8)).toThrow(/one channel/);
  });
});
