// Ranges of activations, against values that can be told by hand.
import { describe, expect, it } from 'vitest';
import { DataError, ModelError } from '#core';
import { floats, node, valueInfo } from '#onnx';
import { measureRanges } from '../../../export/precision/ranges.ts';
import { around, noise, SIDE, tinyDetector } from './nets.ts';

const LENGTH = 3 * SIDE * SIDE;

/** images · 2 → Relu → one channel. */
function doubling() {
  return around(
    [
      node('Mul', ['images', 'two'], ['doubled']),
      node('Relu', ['doubled'], ['cut']),
      node('Shape', ['cut'], ['sizes']),
      node('Conv', ['cut', 'w'], ['output0'], { kernel_shape: [1n, 1n] }),
    ],
    [floats('two', [], [2]), floats('w', [1, 1, 1, 1], [1])],
    [1, 1, 2, 2],
  );
}

const four = (...values: number[]) => Float32Array.from(values) as Float32Array<ArrayBuffer>;

describe('measured ranges', () => {
  it('are the extremes over all pictures, of the input and of every float activation', async () => {
    const { ranges, pictures } = await measureRanges(doubling(), [four(0, 1, -2, 3), four(5, 0, 0, -7)], {
      method: 'min-max',
    });
    expect(pictures).toBe(2);
    expect([...ranges.keys()].sort()).toEqual(['cut', 'doubled', 'images', 'output0']);
    expect(ranges.get('images')).toMatchObject({ low: -7, high: 5, lowest: -7, highest: 5 });
    expect(ranges.get('doubled')).toMatchObject({ low: -14, high: 10 });
    expect(ranges.get('cut')).toMatchObject({ low: 0, high: 10 });
  });

  it('come with the mean of every channel', async () => {
    const net = around(
      [node('Conv', ['images', 'w'], ['output0'], { kernel_shape: [1n, 1n] })],
      [floats('w', [1, 2, 1, 1], [1, 10])],
      [1, 2, 1, 2],
    );
    const { ranges } = await measureRanges(net, [four(1, 3, 0, 8), four(2, 2, -4, 0)]);
    expect([...(ranges.get('images')?.channelMeans ?? [])]).toEqual([2, 1]);
    expect([...(ranges.get('output0')?.channelMeans ?? [])]).toEqual([12]);
  });

  it('clip the rarest values, but never those of the picture', async () => {
    const net = around(
      [
        node('Mul', ['images', 'two'], ['doubled']),
        node('Conv', ['doubled', 'w'], ['output0'], { kernel_shape: [1n, 1n] }),
      ],
      [floats('two', [], [2]), floats('w', [1, 1, 1, 1], [1])],
      [1, 1, 10, 10],
    );
    const data = Float32Array.from({ length: 100 }, (_, index) => (index === 50 ? 100 : index / 100));
    const { ranges } = await measureRanges(net, [data], { method: 'percentile', percentile: 99 });
    expect(ranges.get('doubled')?.high).toBeLessThan(2.5);
    expect(ranges.get('doubled')?.highest).toBe(200);
    expect(ranges.get('images')).toMatchObject({ low: 0, high: 100 });
  });

  it('leave out what lies behind the last convolutions', async () => {
    const { ranges } = await measureRanges(tinyDetector(), noise(2, LENGTH, 1));
    expect(ranges.has('sides')).toBe(true);
    for (const name of ['law', 'distances', 'scores', 'output0']) expect(ranges.has(name)).toBe(false);
  });

  it('are the same for one array that is filled over and over', async () => {
    const pictures = noise(3, LENGTH, 4);
    const shared = new Float32Array(LENGTH);
    async function* again() {
      for (const one of pictures) {
        shared.set(one);
        yield shared;
      }
    }
    const net = tinyDetector();
    const [apart, together] = [await measureRanges(net, pictures), await measureRanges(net, again())];
    expect(together.ranges).toEqual(apart.ranges);
  });

  it('come with a warning where few pictures were seen', async () => {
    const few = await measureRanges(doubling(), [four(1, 2, 3, 4)]);
    expect(few.warnings).toEqual([expect.stringContaining('calibrated on 1 picture:')]);
    const enough = await measureRanges(
      doubling(),
      Array.from({ length: 8 }, () => four(1, 2, 3, 4)),
    );
    expect(enough.warnings).toEqual([]);
  });
});

describe('what cannot be measured', () => {
  it('is refused: no pictures, inputs of another size, open shapes, bytes', async () => {
    await expect(measureRanges(doubling(), [])).rejects.toThrow(/there are no pictures to calibrate on/);
    await expect(measureRanges(doubling(), [four(1)])).rejects.toThrow(DataError);
    const open = doubling();
    open.graph!.input[0] = valueInfo('images', 1, [1, 1, 'height', 2]);
    await expect(measureRanges(open, [four(1)])).rejects.toThrow(/input images has the open shape/);
    open.graph!.input[0] = valueInfo('images', 2, [1, 1, 2, 2]);
    await expect(measureRanges(open, [four(1)])).rejects.toThrow(/input images is uint8/);
  });

  it('is refused where the float network is broken already, naming the tensor', async () => {
    const net = around(
      [
        node('Log', ['images'], ['logs']),
        node('Conv', ['logs', 'w'], ['output0'], { kernel_shape: [1n, 1n] }),
      ],
      [floats('w', [1, 1, 1, 1], [1])],
      [1, 1, 2, 2],
    );
    await expect(measureRanges(net, [four(1, 2, -1, 4)])).rejects.toThrow(/tensor logs becomes NaN/);
  });

  it('is refused where the runtime cannot run the graph', async () => {
    const odd = node('Conv', ['images', 'w'], ['x'], { kernel_shape: [3n, 3n], group: 7n });
    const net = around(
      [odd, node('Conv', ['x', 'w'], ['output0'])],
      [floats('w', [1, 1, 1, 1], [1])],
      [1, 1, 2, 2],
    );
    await expect(measureRanges(net, [four(1, 2, 3, 4)])).rejects.toThrow(ModelError);
  });

  it('ends where the signal says so', async () => {
    const stop = AbortSignal.abort(new Error('enough'));
    await expect(measureRanges(doubling(), [four(1, 2, 3, 4)], { signal: stop })).rejects.toThrow('enough');
  });
});
