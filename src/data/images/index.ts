// Still pictures as the network and the user see them. The only home of sharp.

export type { DecodedPixels } from './decode.ts';
export { type EncodedFormat, encodedFormatOf, encodePicture } from './encode.ts';
export { isPicturePath, isUnreadablePicturePath, pictureExtensions } from './extensions.ts';
export {
  DEFAULT_MAX_PIXELS,
  type OpenPicture,
  openPicture,
  type Picture,
  type ReadPictureOptions,
  readPicture,
} from './read-picture.ts';
export { looksLikePicture } from './signature.ts';
export { type RenderedSvg, renderSvg } from './svg.ts';
