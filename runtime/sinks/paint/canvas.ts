// Paints rectangles and text straight into the bytes of a frame, plane by plane, without a copy.
import type { FullFrame } from '../../frame.ts';
import type { Rgb } from './palette.ts';

/** Whole px; x2 and y2 are outside. */
export interface Rect {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
}

/** How much of each px is covered by text: 0..255 [height, width]. */
export interface Mask {
  readonly width: number;
  readonly height: number;
  readonly coverage: Uint8Array;
}

/** One colour component of the frame. */
interface Plane {
  readonly offset: number;
  readonly bytesPerRow: number;
  readonly bytesPerSample: number;
  /** 1 where two px share a sample in both directions, else 0. */
  readonly shift: 0 | 1;
}

/** Full strength of a blend. */
export const OPAQUE = 256;

export interface Canvas {
  readonly width: number;
  readonly height: number;
  /** Coordinates are rounded to this many px, so that chroma and luma end at one place. */
  readonly grid: 1 | 2;
  readonly data: Uint8Array;
  readonly planes: readonly Plane[];
  /** The components of a colour, in the order of the planes. */
  readonly components: (colour: Rgb) => readonly [number, number, number];
}

export function canvasOf({ format, width, height, data }: FullFrame): Canvas {
  if (format === 'rgb24') {
    const plane = { bytesPerRow: width * 3, bytesPerSample: 3, shift: 0 } as const;
    const planes = [0, 1, 2].map((offset) => ({ ...plane, offset }));
    return { width, height, grid: 1, data, planes, components: (colour) => colour };
  }
  const lumaBytes = width * height;
  const chroma = { bytesPerRow: width / 2, bytesPerSample: 1, shift: 1 } as const;
  const planes: readonly Plane[] = [
    { offset: 0, bytesPerRow: width, bytesPerSample: 1, shift: 0 },
    { ...chroma, offset: lumaBytes },
    { ...chroma, offset: lumaBytes + lumaBytes / 4 },
  ];
  // What players assume where a video does not say: BT.709 from 720 lines on, BT.601 below; limited range.
  const [red, blue] = height >= 720 ? [0.2126, 0.0722] : [0.299, 0.114];
  return { width, height, grid: 2, data, planes, components: (colour) => toYuv(colour, red, blue) };
}

function toYuv([r, g, b]: Rgb, redWeight: number, blueWeight: number): readonly [number, number, number] {
  const luma = redWeight * r + (1 - redWeight - blueWeight) * g + blueWeight * b;
  return [
    Math.round(16 + (luma * 219) / 255),
    Math.round(128 + (((b - luma) / (1 - blueWeight)) * 112) / 255),
    Math.round(128 + (((r - luma) / (1 - redWeight)) * 112) / 255),
  ];
}

/** Rounds to the grid and cuts at the edges of the frame. */
export function snap({ width, height, grid }: Canvas, { x1, y1, x2, y2 }: Rect): Rect {
  const place = (value: number, limit: number) =>
    Math.max(0, Math.min(limit - (limit % grid), Math.round(value / grid) * grid));
  return { x1: place(x1, width), y1: place(y1, height), x2: place(x2, width), y2: place(y2, height) };
}

/**
 * Paints what lies in `outer` and not in `inner` (both snapped).
 * @param strength 0..256: how far each px moves towards the colour
 */
export function paintRing(canvas: Canvas, outer: Rect, inner: Rect, colour: Rgb, strength = OPAQUE): void {
  const values = canvas.components(colour);
  const isHollow = inner.x2 > inner.x1 && inner.y2 > inner.y1;
  canvas.planes.forEach((plane, index) => {
    const { shift, bytesPerSample: step, bytesPerRow } = plane;
    const { data } = canvas;
    const value = values[index]!;
    const holeFrom = isHollow ? inner.y1 >> shift : Number.POSITIVE_INFINITY;
    const holeTo = inner.y2 >> shift;
    const [left, right] = [(outer.x1 >> shift) * step, (outer.x2 >> shift) * step];
    const [holeLeft, holeRight] = [(inner.x1 >> shift) * step, (inner.x2 >> shift) * step];
    for (let y = outer.y1 >> shift; y < outer.y2 >> shift; y++) {
      const row = plane.offset + y * bytesPerRow;
      if (y >= holeFrom && y < holeTo) {
        paintSpan(data, row + left, row + holeLeft, step, value, strength);
        paintSpan(data, row + holeRight, row + right, step, value, strength);
      } else paintSpan(data, row + left, row + right, step, value, strength);
    }
  });
}

/** Below this length a loop beats the call of `fill`. */
const SHORT_SPAN = 48;

function paintSpan(
  data: Uint8Array,
  from: number,
  to: number,
  step: number,
  value: number,
  strength: number,
): void {
  if (strength !== OPAQUE) {
    for (let i = from; i < to; i += step) {
      const before = data[i]!;
      data[i] = before + (((value - before) * strength) >> 8);
    }
  } else if (step === 1 && to - from >= SHORT_SPAN) data.fill(value, from, to);
  else for (let i = from; i < to; i += step) data[i] = value;
}

export interface MaskColours {
  readonly ground: Rgb;
  readonly text: Rgb;
}

/** Paints text of a mask on a plain ground; `x` and `y` lie on the grid. What is outside the frame is left out. */
export function paintMask(canvas: Canvas, mask: Mask, x: number, y: number, colours: MaskColours): void {
  const grounds = canvas.components(colours.ground);
  const texts = canvas.components(colours.text);
  const columns = Math.min(mask.width, canvas.width - x);
  const rows = Math.min(mask.height, canvas.height - y);
  canvas.planes.forEach((plane, index) => {
    const { shift, bytesPerSample, bytesPerRow } = plane;
    const corner = plane.offset + (y >> shift) * bytesPerRow + (x >> shift) * bytesPerSample;
    const tones = tonesBetween(grounds[index]!, texts[index]!);
    for (let j = 0; j < rows >> shift; j++) {
      const row = corner + j * bytesPerRow;
      if (shift === 0) maskRow(canvas.data, row, bytesPerSample, mask, j * mask.width, columns, tones);
      else maskSharedRow(canvas.data, row, mask, j * 2 * mask.width, columns >> 1, tones);
    }
  });
}

/** The mixture for each coverage, so that the loop over px has no arithmetic. */
function tonesBetween(ground: number, text: number): Uint8Array {
  const tones = new Uint8Array(256);
  for (let coverage = 0; coverage < 256; coverage++)
    tones[coverage] = ground + ((text - ground) * coverage) / 255 + 0.5;
  return tones;
}

function maskRow(
  data: Uint8Array,
  row: number,
  step: number,
  { coverage }: Mask,
  from: number,
  columns: number,
  tones: Uint8Array,
): void {
  for (let i = 0, at = row; i < columns; i++, at += step) data[at] = tones[coverage[from + i]!]!;
}

/** A row of samples that four px share: the mean of their coverages counts. */
function maskSharedRow(
  data: Uint8Array,
  row: number,
  { coverage, width }: Mask,
  from: number,
  columns: number,
  tones: Uint8Array,
): void {
  for (let i = 0, at = from; i < columns; i++, at += 2) {
    const sum = coverage[at]! + coverage[at + 1]! + coverage[at + width]! + coverage[at + width + 1]!;
    data[row + i] = tones[sum >> 2]!;
  }
}
