// Pictures as a network reads them, one at a time: what calibration runs on.
import type { PreprocessContract } from '#core';
import { createInputWriter, createLetterbox, type Size } from '#core';
import { openPicture } from '#data/images';

export interface PictureInputsOptions {
  readonly contract: PreprocessContract;
  readonly input: Size;
  readonly order: 'nchw' | 'nhwc';
}

/**
 * @param pictures paths
 * @returns float32 [3, H, W] or [H, W, 3] of every picture in turn; the array is used again for the next one
 * @throws DataError where a picture cannot be read
 */
export async function* pictureInputs(
  pictures: Iterable<string>,
  { contract, input, order }: PictureInputsOptions,
): AsyncGenerator<Float32Array<ArrayBuffer>, void, void> {
  const writer = createInputWriter(contract, { type: 'float32', layout: order });
  const values = writer.create(input) as Float32Array<ArrayBuffer>;
  for (const path of pictures) {
    const { size, resizeTo } = await openPicture(path);
    const letterbox = createLetterbox(size, input, contract.fit);
    const { rgb } = await resizeTo(letterbox.content);
    writer.fillPaddingInto(values, input);
    writer.writeContentInto(values, rgb, letterbox);
    yield values;
  }
}
