// Frames with boxes of tracks, and the objects that they make, for tests of what looks at results.
import { createLetterbox, type Detection, type Size } from '#core';
import type { DetectionResult } from '#runtime';
import { createObjectEvents, type ObjectEvents } from '../../../../runtime/site/object-events.ts';
import type { ReviewRule, SiteCamera } from '../../../../runtime/site/site.ts';

export const CLASSES = ['car', 'person', 'traffic light'];
export const FRAME: Size = { width: 640, height: 360 };
/** The network sees a smaller picture. */
const INPUT: Size = { width: 320, height: 320 };

export interface SeenBox {
  readonly trackId: number;
  readonly score: number;
  readonly classId?: number;
  readonly std?: number;
}

export class SeenCamera {
  readonly name: string;
  readonly objects: ObjectEvents;
  #atMs = 1_764_624_000_000;

  constructor(name: string, review?: ReviewRule) {
    this.name = name;
    this.objects = createObjectEvents({
      camera: name,
      rules: {
        ...rulesOf(review),
        filters: new Map(),
        zones: [],
        lines: [],
        minFrames: 1,
        minMedianScore: 0,
      },
      endSeconds: 1,
      updateSeconds: 10,
    });
  }

  /** One frame further. Each box lies at its own place. */
  see(boxes: readonly SeenBox[], stepMs = 100): DetectionResult {
    this.#atMs += stepMs;
    const detections = boxes.map(({ trackId, score, classId = 0, std }): Detection => {
      const x1 = 64 * (trackId % 8);
      return {
        trackId,
        classId,
        className: CLASSES[classId] ?? '',
        score,
        rawScore: score,
        box: { x1, y1: 90, x2: x1 + 64, y2: 180 } as Detection['box'],
        ...(std !== undefined && { scoreVariance: std ** 2 }),
      };
    });
    this.objects.see({ detections, size: FRAME, atMs: this.#atMs, least: () => 0.1 });
    const letterbox = createLetterbox(FRAME, INPUT);
    const { width, height } = letterbox.content;
    return {
      frame: {
        source: this.name,
        index: 0,
        capturedAtMs: this.#atMs,
        letterbox,
        content: new Uint8Array(width * height * 3).fill(100),
        release: () => undefined,
      },
      size: FRAME,
      detections,
      timing: { preMs: 0, inferMs: 0, postMs: 0 },
      limitReached: false,
      nonFinite: 0,
    };
  }
}

function rulesOf(review: ReviewRule | undefined): Partial<Pick<SiteCamera, 'review'>> {
  return review === undefined ? {} : { review };
}
