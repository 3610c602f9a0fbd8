// Axis letters, used everywhere with one meaning:
//   N pictures · A anchors (locations over all levels) · C classes · K kept detections
//   H W input height and width in px · bins bins of a distribution
// A layout is always written: [N, 3, H, W] is planar, [N, H, W, 3] interleaved.

/** Width and height in px. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** `[1, 84, 8400]`; a free axis is shown by its name or `?`. */
export function formatShape(shape: readonly (number | string | null)[]): string {
  return `[${shape.map((axis) => axis ?? '?').join(', ')}]`;
}
