// The light of pictures, and a ladder between conditions whose pictures differ in it.
import { fitLightLadder, LEAST_LIT_PICTURES, LEAST_RIGHTLY, type LightLadder, measureLight } from '#core';
import { openPicture } from '#data/images';
import type { PictureSlice } from './slices.ts';

/** Side in px of the pictures that are measured: the cues are made for small ones. */
const MEASURED_SIDE_PX = 320;

/** `value` of `measureLight`: NaN for a black picture. */
export async function lightOfPicture(path: string): Promise<number> {
  const { size, resizeTo } = await openPicture(path);
  const scale = Math.min(1, MEASURED_SIDE_PX / Math.max(size.width, size.height));
  const small = {
    width: Math.max(1, Math.round(scale * size.width)),
    height: Math.max(1, Math.round(scale * size.height)),
  };
  const { rgb } = await resizeTo(small);
  return measureLight(rgb, small.width, small.height).value;
}

export interface SliceLadder {
  /** Absent where the light does not tell the slices apart. */
  readonly ladder?: LightLadder;
  /** What came of a fit, in words; absent for a ladder that was there before. */
  readonly remark?: string;
}

/** Boundaries of the light between slices that something else than the light was asked for. */
export async function ladderOfSlices(
  slices: readonly PictureSlice[],
  signal?: AbortSignal,
): Promise<SliceLadder> {
  const states: { name: string; values: number[] }[] = [];
  for (const { name, pictures } of slices) {
    const values: number[] = [];
    for (const { path } of pictures) {
      signal?.throwIfAborted();
      values.push(await lightOfPicture(path));
    }
    states.push({ name, values });
  }
  const fitted = fitLightLadder(states);
  if (fitted === undefined) {
    return {
      remark: `the light of the pictures does not part these slices (${LEAST_LIT_PICTURES} pictures of each and ${100 * LEAST_RIGHTLY} % of them on their own side are asked for), so the thresholds bring no boundaries`,
    };
  }
  const { ladder, rightly } = fitted;
  return {
    ladder,
    remark: `light=auto tells ${ladder.states.join(', ')} apart by boundaries of these pictures (${ladder.boundaries.map((value) => value.toFixed(2)).join(', ')}), with ${Math.round(100 * rightly)} % of them on their own side at the least`,
  };
}
