import { describe, expect, it } from 'vitest';
import type { HeadLayout } from '#core';
import { ConfigError } from '#core';
import type { ModelProto } from '#onnx';
import {
  CONTRACTS,
  describeContract,
  ElementType,
  floats,
  graph,
  guessPreprocess,
  model,
  node,
  parsePreprocess,
  pictureInput,
  valueInfo,
} from '#onnx';
import { constantDetector, constantGraph } from '../support/tiny-models.ts';

describe('preprocess=', () => {
  it.each([
    ['rgb,0-1,letterbox', CONTRACTS.ultralytics],
    ['yolox', CONTRACTS.yolox],
    ['bgr,0-255,letterbox,top-left', CONTRACTS.yolox],
    ['BGR, 0-255 ,Top-Left', CONTRACTS.yolox],
    [
      'bgr,mean=103.53/116.28/123.675,std=57.375/57.12/58.395,stretch,pad=0',
      { ...CONTRACTS.nanodet, fit: { mode: 'stretch', align: 'center', enlarge: true } },
    ],
    [
      'bgr,mean=103.53,116.28,123.675,std=57.375,57.12,58.395,stretch,pad=0',
      { ...CONTRACTS.nanodet, fit: { mode: 'stretch', align: 'center', enlarge: true } },
    ],
    ['ultraface,bgr', { ...CONTRACTS.ultraface, channels: 'bgr' }],
    [
      'mean=127,std=128,pad=0,no-enlarge',
      {
        ...CONTRACTS.ultraface,
        fit: { mode: 'letterbox', align: 'center', enlarge: false },
      },
    ],
  ])('%s', (text, contract) => {
    expect(parsePreprocess(text)).toEqual(contract);
  });

  it.each([
    ['', /empty/],
    ['rbg', /'rbg': this word is not known/],
    ['mean=1/2', /one number or three/],
    ['mean=a', /expected numbers/],
    ['std=0', /divide by zero/],
    ['pad=300', /0\.\.255/],
    ['scale=2', /scale= is not known/],
    ['std=', /expected numbers/],
  ])('%j is refused with the words allowed', (text, message) => {
    const error = (() => {
      try {
        return parsePreprocess(text);
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as ConfigError).message).toMatch(message);
    expect((error as ConfigError).hint).toMatch(/rgb or bgr; 0-1 or 0-255; letterbox or stretch.*yolox/);
  });
});

const YOLOV8: HeadLayout = {
  kind: 'yolov8',
  output: 'output0',
  classCount: 2,
  anchorCount: 189,
  channels: 6,
  transposed: false,
};

/** The first nodes of a graph that prepares its picture by itself. */
function prepared(steps: readonly (readonly [operator: string, values: readonly number[]])[]): ModelProto {
  const nodes = steps.map(([operator, values], index) =>
    node(
      operator,
      [index === 0 ? 'images' : `t${index}`, ...(values.length > 0 ? [`c${index}`] : [])],
      [`t${index + 1}`],
    ),
  );
  return model(
    graph({
      nodes,
      inputs: [valueInfo('images', ElementType.FLOAT, [1, 3, 96, 96])],
      outputs: [valueInfo(`t${steps.length}`, ElementType.FLOAT)],
      initializers: steps.flatMap(([, values], index) =>
        values.length > 0 ? [floats(`c${index}`, [1, values.length, 1, 1], values)] : [],
      ),
    }),
  );
}

describe('the guess', () => {
  const guess = (made: ModelProto, layout = YOLOV8) => guessPreprocess(made, layout, pictureInput(made));

  it('follows the family and says so', () => {
    const { contract, family, assumed } = guess(constantDetector({ kind: 'yolov8' }));
    expect(family).toBe('ultralytics');
    expect(contract).toEqual(CONTRACTS.ultralytics);
    expect(assumed).toEqual([
      'preprocessing: rgb, values 0..1, letterbox (centred, padding 114) (the convention of ultralytics; preprocess= overrides)',
    ]);
  });

  it.each([
    ['division', [['Div', [255]]]],
    ['multiplication', [['Mul', [1 / 255]]]],
    [
      'a cast and a mean',
      [
        ['Cast', []],
        ['Sub', [123.675, 116.28, 103.53]],
      ],
    ],
  ] as const)('leaves the values alone where the graph normalises by %s', (_name, steps) => {
    const { contract, assumed } = guess(prepared(steps));
    expect(contract).toMatchObject({ mean: [0, 0, 0], std: [1, 1, 1], channels: 'rgb' });
    expect(assumed[1]).toMatch(/the graph/);
  });

  it('a scale that is no normalisation changes nothing', () => {
    expect(guess(prepared([['Mul', [2]]])).contract).toEqual(CONTRACTS.ultralytics);
    expect(guess(prepared([['Relu', []]])).contract).toEqual(CONTRACTS.ultralytics);
  });

  it('uint8 inputs take 0..255', () => {
    const made = constantDetector({ kind: 'yolov8', inputType: 'uint8' });
    expect(guess(made).contract).toMatchObject({ mean: [0, 0, 0], std: [1, 1, 1] });
  });

  it('our own models state their contract', () => {
    const stated = { ...CONTRACTS.yolox, pad: 7 };
    const edge_detect = JSON.stringify({ version: 1, preprocess: stated });
    const made = constantGraph({ outputs: [{ name: 'boxes', shape: [1, 1, 4] }], metadata: { edge_detect } });
    expect(guess(made)).toEqual({ contract: stated, family: 'edge-detect', assumed: [] });
  });

  it('a contract that lacks a part is refused', () => {
    const edge_detect = JSON.stringify({ version: 1, preprocess: { channels: 'rgb' } });
    const made = constantGraph({ outputs: [{ name: 'boxes', shape: [1, 1, 4] }], metadata: { edge_detect } });
    expect(() => guess(made)).toThrow(/contract in the metadata key edge_detect is incomplete/);
  });
});

it('contracts in words', () => {
  expect(describeContract(CONTRACTS.nanodet)).toBe(
    'bgr, mean 103.53/116.28/123.675, std 57.375/57.12/58.395, stretched',
  );
  expect(describeContract(CONTRACTS.yolox)).toBe('bgr, values 0..255, letterbox (top left, padding 114)');
});
