// Network inputs that are filled over and over: one buffer per inference under way, padding written once per geometry.
import type { InputWriter, Letterbox, Size } from '#core';
import type { Frame } from './frame.ts';
import type { InputArray } from './session/session.ts';

export interface PooledInput {
  /** [N, 3, H, W] or [N, H, W, 3]. Replaced by `restore` when the session gives the memory back. */
  array: InputArray;
  /** What lies in each of the N places: padding is rewritten only when the geometry changes. */
  readonly geometries: (Letterbox | undefined)[];
}

export interface InputPool {
  /** Takes a buffer and fills it; places without a frame keep what they had (their results are dropped). */
  fill(frames: readonly Frame[]): PooledInput;
  restore(input: PooledInput, array: InputArray): void;
}

export function createInputPool(writer: InputWriter, size: Size, batchSize: number): InputPool {
  const placeLength = size.width * size.height * 3;
  const free: PooledInput[] = [];
  const create = (): PooledInput => {
    const length = placeLength * batchSize;
    const array = writer.type === 'uint8' ? new Uint8Array(length) : new Float32Array(length);
    return { array, geometries: new Array<Letterbox | undefined>(batchSize).fill(undefined) };
  };
  return {
    fill(frames) {
      const input = free.pop() ?? create();
      for (let place = 0; place < batchSize; place++) {
        const target = input.array.subarray(place * placeLength, (place + 1) * placeLength);
        const letterbox = frames[place]?.letterbox;
        if (!sameGeometry(input.geometries[place], letterbox)) {
          writer.fillPaddingInto(target, size);
          input.geometries[place] = letterbox;
        }
        const frame = frames[place];
        if (frame !== undefined) writer.writeContentInto(target, frame.content, frame.letterbox);
      }
      return input;
    },
    restore(input, array) {
      input.array = array;
      free.push(input);
    },
  };
}

function sameGeometry(a: Letterbox | undefined, b: Letterbox | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return (
    a.content.width === b.content.width &&
    a.content.height === b.content.height &&
    a.padLeft === b.padLeft &&
    a.padTop === b.padTop
  );
}
