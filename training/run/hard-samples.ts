// The detections whose score was furthest from the truth, by the shape of their law: what a person should look at.
import { type Box, classifyLaw, type Detection, iou, type LawShape, type Size } from '#core';
import type { LabelledPicture } from '#data/datasets';
import { readPicture } from '#data/images';
import type { PicturePrediction } from '#evaluate';
import type { ScoreLawSample } from '#report';

interface HardDetection {
  readonly path: string;
  readonly size: Size;
  readonly detection: Detection;
  readonly probabilities: Float32Array;
  readonly shape: LawShape;
  /** IoU with the best object of its class; 0 for a false alarm. */
  readonly target: number;
}

/** Below, a detection is background that nobody looks at. */
const LEAST_SCORE = 0.2;

const PER_SHAPE = 3;

const SHAPES: readonly LawShape[] = ['sharp', 'flat', 'bimodal'];

/** Up to three of every shape, hardest first. */
export async function hardSamples(
  pictures: readonly LabelledPicture[],
  predictions: readonly PicturePrediction[],
): Promise<readonly ScoreLawSample[]> {
  const all = predictions.flatMap((prediction, index) => hardDetections(prediction, pictures[index]!));
  const chosen = SHAPES.flatMap((shape) =>
    all
      .filter((sample) => sample.shape === shape)
      .sort((a, b) => errorOf(b) - errorOf(a))
      .slice(0, PER_SHAPE),
  );
  return Promise.all(chosen.map(toSample));
}

function hardDetections(
  { detections, size }: PicturePrediction,
  { objects, path }: LabelledPicture,
): HardDetection[] {
  return detections.flatMap((detection) => {
    const { distribution, score, classId, box } = detection;
    if (distribution === undefined || score < LEAST_SCORE) return [];
    const target = objects
      .filter((object) => object.classId === classId)
      .reduce((best, { x1, y1, x2, y2 }) => {
        const object: Box<'frame'> = {
          x1: x1 * size.width,
          y1: y1 * size.height,
          x2: x2 * size.width,
          y2: y2 * size.height,
        };
        return Math.max(best, iou(box, object));
      }, 0);
    const { probabilities } = distribution;
    return [{ path, size, detection, probabilities, shape: classifyLaw({ probabilities }), target }];
  });
}

function errorOf({ detection, target }: HardDetection): number {
  return (detection.score - target) ** 2;
}

async function toSample({
  path,
  detection,
  probabilities,
  shape,
  target,
}: HardDetection): Promise<ScoreLawSample> {
  const picture = await readPicture(path);
  const caption = `${detection.className} in ${path.split('/').at(-1)}`;
  return { crop: cropAround(detection.box, picture), caption, probabilities, target, shape };
}

/** The box and half of its size around it. */
function cropAround(
  { x1, y1, x2, y2 }: Box<'frame'>,
  { rgb, size }: { readonly rgb: Uint8Array; readonly size: Size },
) {
  const [marginX, marginY] = [0.5 * (x2 - x1), 0.5 * (y2 - y1)];
  const left = Math.max(0, Math.floor(x1 - marginX));
  const top = Math.max(0, Math.floor(y1 - marginY));
  const width = Math.max(1, Math.min(size.width, Math.ceil(x2 + marginX)) - left);
  const height = Math.max(1, Math.min(size.height, Math.ceil(y2 + marginY)) - top);
  const crop = new Uint8Array(3 * width * height);
  for (let row = 0; row < height; row++) {
    const start = 3 * ((top + row) * size.width + left);
    crop.set(rgb.subarray(start, start + 3 * width), 3 * row * width);
  }
  return { rgb: crop, size: { width, height } };
}
