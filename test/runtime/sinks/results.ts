// Results of a run, made up for the tests of the sinks.
import { createLetterbox, type Detection, type Size } from '#core';
import type { FullFrame } from '../../../runtime/frame.ts';
import type { FrameResult } from '../../../runtime/sinks/sink.ts';

export const CAR: Detection = {
  box: { x1: 10.126, y1: 20, x2: 110.5, y2: 80 },
  classId: 2,
  className: 'car',
  score: 0.8234567,
  rawScore: 0.8234567,
};

export const SURE_CAR: Detection = {
  ...CAR,
  scoreVariance: 0.0036123456,
  boxVariance: { x1: 4, y1: 9.87654, x2: 0.00012345678, y2: 16 },
};

/** As a model with passes under dropout says it. */
export const SPLIT_CAR: Detection = { ...SURE_CAR, scoreVarianceEpistemic: 0.00012345678 };

export interface MadeResult {
  readonly source: string;
  readonly index?: number;
  readonly ptsSeconds?: number;
  readonly size?: Size;
  readonly detections?: readonly Detection[];
  readonly full?: FullFrame;
}

export function result({
  source,
  index = 0,
  size = { width: 200, height: 100 },
  detections = [CAR],
  ...rest
}: MadeResult): FrameResult {
  const frame = {
    source,
    index,
    letterbox: createLetterbox(size, { width: 416, height: 416 }),
    content: new Uint8Array(0),
    release: () => undefined,
    ...rest,
  };
  return { frame, size, detections };
}
