// How the known families of detectors want their pictures. Facts of the families, not choices of ours.
import type { FitPolicy, PreprocessContract } from '#core';

type Triple = readonly [number, number, number];

const CENTERED: FitPolicy = { mode: 'letterbox', align: 'center', enlarge: true };
const TOP_LEFT: FitPolicy = { mode: 'letterbox', align: 'top-left', enlarge: true };
const STRETCHED: FitPolicy = { mode: 'stretch', align: 'center', enlarge: true };

const ZERO: Triple = [0, 0, 0];
const ONE: Triple = [1, 1, 1];
const BYTE: Triple = [255, 255, 255];

/** Grey of the padding that Ultralytics and YOLOX train with. */
const GREY = 114;

/** ImageNet statistics of a 0..255 picture, red first. */
const IMAGENET_MEAN: Triple = [123.675, 116.28, 103.53];
const IMAGENET_STD: Triple = [58.395, 57.12, 57.375];

const reversed = ([a, b, c]: Triple): Triple => [c, b, a];

export type Family =
  | 'ultralytics'
  | 'yolov5'
  | 'yolov6'
  | 'yolox'
  | 'nanodet'
  | 'picodet'
  | 'fastestdet'
  | 'yunet'
  | 'ultraface'
  | 'ssd'
  | 'edge-detect'
  | 'unknown';

export type KnownFamily = Exclude<Family, 'edge-detect'>;

const ULTRALYTICS: PreprocessContract = { fit: CENTERED, channels: 'rgb', mean: ZERO, std: BYTE, pad: GREY };

export const CONTRACTS: Readonly<Record<KnownFamily, PreprocessContract>> = {
  ultralytics: ULTRALYTICS,
  yolov5: ULTRALYTICS,
  yolov6: ULTRALYTICS,
  yolox: { fit: TOP_LEFT, channels: 'bgr', mean: ZERO, std: ONE, pad: GREY },
  nanodet: {
    fit: STRETCHED,
    channels: 'bgr',
    mean: reversed(IMAGENET_MEAN),
    std: reversed(IMAGENET_STD),
    pad: 0,
  },
  picodet: { fit: STRETCHED, channels: 'rgb', mean: IMAGENET_MEAN, std: IMAGENET_STD, pad: 0 },
  fastestdet: { fit: STRETCHED, channels: 'bgr', mean: ZERO, std: BYTE, pad: 0 },
  yunet: { fit: TOP_LEFT, channels: 'bgr', mean: ZERO, std: ONE, pad: 0 },
  ultraface: { fit: STRETCHED, channels: 'rgb', mean: [127, 127, 127], std: [128, 128, 128], pad: 0 },
  ssd: { fit: STRETCHED, channels: 'rgb', mean: ZERO, std: BYTE, pad: 0 },
  unknown: ULTRALYTICS,
};

/** `rgb, 0..1, letterbox (centre, padding 114)`: a contract in words. */
export function describeContract({ fit, channels, mean, std, pad }: PreprocessContract): string {
  const fits =
    fit.mode === 'stretch'
      ? 'stretched'
      : `letterbox (${fit.align === 'center' ? 'centred' : 'top left'}, padding ${pad}${fit.enlarge ? '' : ', never enlarged'})`;
  return `${channels}, ${describeRange(mean, std)}, ${fits}`;
}

function describeRange(mean: Triple, std: Triple): string {
  const all = (values: Triple, value: number) => values.every((item) => item === value);
  if (all(mean, 0) && all(std, 1)) return 'values 0..255';
  if (all(mean, 0) && all(std, 255)) return 'values 0..1';
  return `mean ${mean.join('/')}, std ${std.join('/')}`;
}
