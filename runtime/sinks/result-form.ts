// The shape of a result for machines: one object per frame or picture, one entry per detection.
import type { Box, BoxVariance, Detection } from '#core';
import { toDecimals } from '../decimals.ts';
import type { FrameResult } from './sink.ts';

/**
 * One detection in the JSON of Ultralytics, with `score_var`, its part `score_var_epistemic`, and `box_var` where the model
 * knows them, and `raw_confidence` where calibration or suppression made another number of the network's own.
 */
export interface DetectionForm {
  readonly name: string;
  readonly class: number;
  readonly confidence: number;
  readonly raw_confidence?: number;
  readonly box: CornersForm;
  readonly track_id?: number;
  readonly score_var?: number;
  readonly score_var_epistemic?: number;
  readonly box_var?: CornersForm;
}

/** A box, or the variances of its edges. */
export interface CornersForm {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
}

export interface StreamForm {
  readonly stream: string;
  readonly frame: number;
  readonly pts_s: number | null;
  readonly width: number;
  readonly height: number;
  readonly light?: string;
  readonly detections: readonly DetectionForm[];
}

export interface PictureForm {
  readonly source: string;
  readonly width: number;
  readonly height: number;
  readonly light?: string;
  readonly detections: readonly DetectionForm[];
}

/** A frame of a video or a camera. `pts_s` is null where the source has no times. */
export function streamForm({ frame, size, detections, light }: FrameResult): StreamForm {
  return {
    stream: frame.source,
    frame: frame.index,
    pts_s: frame.ptsSeconds === undefined ? null : toDecimals(frame.ptsSeconds, 6),
    width: size.width,
    height: size.height,
    ...(light === undefined ? {} : { light }),
    detections: detections.map(detectionForm),
  };
}

/** A still picture. */
export function pictureForm({ frame, size, detections, light }: FrameResult): PictureForm {
  return {
    source: frame.source,
    width: size.width,
    height: size.height,
    ...(light === undefined ? {} : { light }),
    detections: detections.map(detectionForm),
  };
}

/** Boxes in px with 2 decimals, confidence with 5, variances with 4 significant digits. */
export function detectionForm(detection: Detection): DetectionForm {
  const { box, score, rawScore, boxVariance, scoreVariance, scoreVarianceEpistemic, trackId } = detection;
  return {
    name: detection.className,
    class: detection.classId,
    confidence: toDecimals(score, 5),
    ...(rawScore === score ? {} : { raw_confidence: toDecimals(rawScore, 5) }),
    box: eachCorner(box, (value) => toDecimals(value, 2)),
    ...(trackId === undefined ? {} : { track_id: trackId }),
    ...(scoreVariance === undefined ? {} : { score_var: significant(scoreVariance) }),
    ...(scoreVarianceEpistemic === undefined
      ? {}
      : { score_var_epistemic: significant(scoreVarianceEpistemic) }),
    ...(boxVariance === undefined ? {} : { box_var: eachCorner(boxVariance, significant) }),
  };
}

function eachCorner(
  { x1, y1, x2, y2 }: Box<'frame'> | BoxVariance<'frame'>,
  map: (value: number) => number,
): CornersForm {
  return { x1: map(x1), y1: map(y1), x2: map(x2), y2: map(y2) };
}

/** Variances span many powers of ten: 4 digits that count, however small. */
export function significant(value: number): number {
  return Number(value.toPrecision(4));
}
