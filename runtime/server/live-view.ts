// What a page shows of the cameras: the latest boxes of each, and pictures for those who look at them. A picture is
// encoded only while somebody looks, and once for all of them.
import type { Size } from '#core';
import { encodePicture } from '#data/images';
import { toDecimals } from '../decimals.ts';
import type { DetectionResult } from '../detections.ts';
import type { Corners } from '../site/object-track.ts';

/** A box as a page draws it. Plain data; corners in px of the frame. */
export interface SeenBox {
  readonly trackId?: number;
  readonly className: string;
  readonly score: number;
  readonly scoreStd?: number;
  readonly box: Corners;
  readonly boxSigma?: Corners;
}

export interface SeenFrame {
  readonly camera: string;
  readonly atMs: number;
  readonly size: Size;
  readonly light?: string;
  readonly boxes: readonly SeenBox[];
}

export interface LiveView {
  /** Every result of every camera. Copies the picture where somebody looks, else nothing. */
  observe(camera: string, result: DetectionResult): void;
  /** Latest of each camera. */
  readonly frames: ReadonlyMap<string, SeenFrame>;
  /** @returns a function that ends the looking */
  look(camera: string, onPicture: (jpeg: Uint8Array) => void): () => void;
  /** Those who look at the camera. */
  lookers(camera: string): number;
}

/** Pictures a second that are encoded for each camera. */
const MOST_PICTURES = 10;

export function createLiveView(): LiveView {
  const frames = new Map<string, SeenFrame>();
  const lookers = new Map<string, Set<(jpeg: Uint8Array) => void>>();
  const encoding = new Set<string>();
  const last = new Map<string, number>();
  const show = async (camera: string, content: Uint8Array, size: Size) => {
    try {
      const jpeg = await encodePicture(content, size, 'jpeg');
      for (const onPicture of lookers.get(camera) ?? []) onPicture(jpeg);
    } finally {
      encoding.delete(camera);
    }
  };
  return {
    frames,
    observe(camera, result) {
      frames.set(camera, seenFrame(camera, result));
      const now = Date.now();
      const isDue = now - (last.get(camera) ?? 0) >= 1000 / MOST_PICTURES;
      if ((lookers.get(camera)?.size ?? 0) === 0 || encoding.has(camera) || !isDue) return;
      encoding.add(camera);
      last.set(camera, now);
      const { content, letterbox } = result.frame;
      // The frame's bytes are given back when this returns.
      void show(camera, Uint8Array.from(content), letterbox.content).catch(() => undefined);
    },
    look(camera, onPicture) {
      const all = lookers.get(camera) ?? new Set();
      lookers.set(camera, all.add(onPicture));
      return () => all.delete(onPicture);
    },
    lookers: (camera) => lookers.get(camera)?.size ?? 0,
  };
}

function seenFrame(camera: string, { frame, size, detections, light }: DetectionResult): SeenFrame {
  return {
    camera,
    atMs: frame.capturedAtMs ?? Date.now(),
    size,
    ...(light !== undefined && { light }),
    boxes: detections.map(({ trackId, className, score, scoreVariance, box, boxVariance }) => ({
      ...(trackId !== undefined && { trackId }),
      className,
      score: toDecimals(score, 3),
      ...(scoreVariance !== undefined && { scoreStd: toDecimals(Math.sqrt(scoreVariance), 3) }),
      box: corners(box, (value) => toDecimals(value, 1)),
      ...(boxVariance && { boxSigma: corners(boxVariance, (value) => toDecimals(Math.sqrt(value), 2)) }),
    })),
  };
}

function corners({ x1, y1, x2, y2 }: Corners, change: (value: number) => number): Corners {
  return { x1: change(x1), y1: change(y1), x2: change(x2), y2: change(y2) };
}
