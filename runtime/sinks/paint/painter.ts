// Paints detections into a frame: box, label with the score and its ±, and how sure each edge is.
import type { Detection } from '#core';
import type { FullFrame } from '../../frame.ts';
import { type Canvas, canvasOf, paintMask, paintRing, type Rect, snap } from './canvas.ts';
import { createLabelTiles, type LabelTiles } from './label-tiles.ts';
import { classColour, textColour } from './palette.ts';

/** What a painter may tell. */
export interface PainterOptions {
  /** Told once of something that the user should know, such as missing fonts. */
  readonly onNotice?: (message: string) => void;
}

/** Paints results into frames. */
export interface Painter {
  /**
   * Paints into the frame's own bytes (yuv420p or rgb24). The label is `car 0.82 ±0.06`, ± being the standard
   * deviation of the score; a veil of one standard deviation to both sides of each edge shows the box's variance.
   * Both appear only where the model knows them.
   */
  paint(full: FullFrame, detections: readonly Detection[]): Promise<void>;
}

/** Of 256: the picture stays visible below the veil. */
const VEIL_STRENGTH = 76;

/** A painter keeps the labels that it has drawn: make one per run, not one per frame. */
export function createPainter({ onNotice = () => undefined }: PainterOptions = {}): Painter {
  const tiles = createLabelTiles(onNotice);
  return {
    async paint(full, detections) {
      if (detections.length === 0) return;
      const fontPx = labelFontPx(full);
      await tiles.prepare(
        detections.map(({ className }) => className),
        fontPx,
      );
      const canvas = canvasOf(full);
      const linePx = boxLinePx(full);
      // The surest on top; labels after all boxes, so that no line crosses a text.
      const ordered = [...detections].sort((a, b) => a.score - b.score);
      for (const detection of ordered) paintBox(canvas, detection, linePx);
      for (const detection of ordered) paintLabel(canvas, tiles, detection, { linePx, fontPx });
    },
  };
}

function labelFontPx({ width, height }: FullFrame): number {
  return Math.max(13, Math.min(72, Math.round(Math.min(width, height) / 45)));
}

/** Even, so that it looks the same in both planes of yuv420p. */
function boxLinePx({ width, height }: FullFrame): number {
  return Math.max(2, 2 * Math.round((width + height) / 1600));
}

function paintBox(canvas: Canvas, { box, boxVariance, classId }: Detection, linePx: number): void {
  const colour = classColour(classId);
  if (boxVariance) {
    const sigma = {
      x1: Math.sqrt(boxVariance.x1),
      y1: Math.sqrt(boxVariance.y1),
      x2: Math.sqrt(boxVariance.x2),
      y2: Math.sqrt(boxVariance.y2),
    };
    paintRing(
      canvas,
      snap(canvas, widen(box, sigma)),
      snap(canvas, narrow(box, sigma)),
      colour,
      VEIL_STRENGTH,
    );
  }
  const half = linePx / 2;
  const line = { x1: half, y1: half, x2: half, y2: half };
  paintRing(canvas, snap(canvas, widen(box, line)), snap(canvas, narrow(box, line)), colour);
}

function widen(box: Rect, by: Rect): Rect {
  return { x1: box.x1 - by.x1, y1: box.y1 - by.y1, x2: box.x2 + by.x2, y2: box.y2 + by.y2 };
}

function narrow(box: Rect, by: Rect): Rect {
  return { x1: box.x1 + by.x1, y1: box.y1 + by.y1, x2: box.x2 - by.x2, y2: box.y2 - by.y2 };
}

/** `0.82 ±0.06`; the ± only where the model knows it. */
export function labelNumbers({ score, scoreVariance, trackId }: Detection): string {
  const track = trackId === undefined ? '' : `#${trackId} `;
  const plusMinus = scoreVariance === undefined ? '' : ` ±${Math.sqrt(scoreVariance).toFixed(2)}`;
  return `${track}${score.toFixed(2)}${plusMinus}`;
}

function paintLabel(
  canvas: Canvas,
  tiles: LabelTiles,
  detection: Detection,
  { linePx, fontPx }: { readonly linePx: number; readonly fontPx: number },
): void {
  const { box, className, classId } = detection;
  const mask = tiles.compose(className, labelNumbers(detection), fontPx);
  const half = linePx / 2;
  // Above the box; inside it where the frame ends above.
  const above = box.y1 - half - mask.height;
  const left = Math.min(box.x1 - half, canvas.width - mask.width);
  const corner = snap(canvas, {
    x1: left,
    y1: above >= 0 ? above : Math.max(0, box.y1 + half),
    x2: 0,
    y2: 0,
  });
  const ground = classColour(classId);
  paintMask(canvas, mask, corner.x1, corner.y1, { ground, text: textColour(ground) });
}
