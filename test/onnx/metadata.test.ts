import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseNames, readMetadata } from '#onnx';
import { constantDetector } from '../support/tiny-models.ts';

describe('class names', () => {
  it.each([
    ["{0: 'person', 1: 'traffic light'}", ['person', 'traffic light']],
    ['{0: "driver\'s seat", 1: \'say "hi"\'}', ["driver's seat", 'say "hi"']],
    ["{0: 'driver\\'s', 1: 'a\\nb', 2: '\\u00e9'}", ["driver's", 'a\nb', 'é']],
    ["{1: 'b', 0: 'a',}", ['a', 'b']],
    ['{"0": "a", "1": "b"}', ['a', 'b']],
    ["{'a': 0, 'b': 1}", ['a', 'b']],
    ["{0: 'a', 2: 'c'}", ['a', 'class 1', 'c']],
    ["['a', 'b']", ['a', 'b']],
    ["('a', 'b')", ['a', 'b']],
    ['["a", "b"]', ['a', 'b']],
    ['a\nb\r\nc\n', ['a', 'b', 'c']],
    ['a, b,c', ['a', 'b', 'c']],
    ['\uFEFFa\nb', ['a', 'b']],
    ["{0: 0, 1: 'x'}", ['0', 'x']],
    ["{0: 'é', 1: '人'}", ['é', '人']],
  ])('%j', (text, names) => {
    expect(parseNames(text)).toEqual(names);
  });

  it.each([
    '',
    '  ',
    '{',
    "{0: 'a'",
    "{0: __import__('os')}",
    '[1, [2]]',
    '{}',
    '{"a": {"b": 1}}',
    '[]',
    "{999999999: 'x'}",
  ])('no names in %j', (text) => {
    expect(parseNames(text)).toBeUndefined();
  });

  it('never throws, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[](),:\'"\\0a1.- \nTx') }), (text) => {
        parseNames(text);
      }),
    );
  });

  it('reads what JSON writes', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { minLength: 1 }), (names) => {
        expect(parseNames(JSON.stringify(names))).toEqual(names);
      }),
    );
  });

  it('deep nesting is refused instead of overflowing the stack', () => {
    expect(parseNames('['.repeat(100_000))).toBeUndefined();
  });
});

it('reads the keys that Ultralytics writes', () => {
  const metadata = {
    stride: '32',
    imgsz: '[384, 640]',
    end2end: 'False',
    license: 'AGPL-3.0',
    author: 'someone',
    kpt_shape: '[17, 3]',
  };
  expect(readMetadata(constantDetector({ kind: 'yolov8', metadata }))).toMatchObject({
    names: ['car', 'person'],
    stride: 32,
    imageSize: { width: 640, height: 384 },
    endToEnd: false,
    task: 'detect',
    license: 'AGPL-3.0',
    author: 'someone',
    keypointShape: [17, 3],
  });
});
