import { describe, expect, it } from 'vitest';
import { createMemoryReturn } from '../../../runtime/session/memory-return.ts';

describe('the return of memory', () => {
  it('empties the arrays, also several over one buffer, as often as it is called', async () => {
    const returnMemory = createMemoryReturn();
    for (let round = 0; round < 3; round++) {
      const shared = new Float32Array(1000);
      const outputs = new Map([
        ['a', { shape: [500], data: shared.subarray(0, 500) }],
        ['b', { shape: [500], data: shared.subarray(500) }],
        ['c', { shape: [4], data: new Int32Array(4) }],
      ]);
      returnMemory(outputs);
      expect([...outputs.values()].map(({ data }) => data.length)).toEqual([0, 0, 0]);
      await new Promise((resolve) => setImmediate(resolve)); // the port learns that its other end is closed
    }
  });

  it('keeps memory outside the heap flat', async () => {
    const returnMemory = createMemoryReturn();
    await new Promise((resolve) => setImmediate(resolve)); // the port learns that its other end is closed
    const before = process.memoryUsage().arrayBuffers;
    for (let run = 0; run < 200; run++) {
      returnMemory(new Map([['output', { shape: [1, 250_000], data: new Float32Array(250_000) }]]));
    }
    // 200 MB went through; a collector that had to find them would have left tens of MB.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10e6);
  });
});
