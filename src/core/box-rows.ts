// Boxes in rows of four numbers, x1 y1 x2 y2: what the loops over candidates measure on them.

/** @param a,b where the rows begin in their arrays; @returns IoU in [0, 1], 0 where no box has an area */
export function iouOfRows(
  boxesA: ArrayLike<number>,
  a: number,
  boxesB: ArrayLike<number>,
  b: number,
): number {
  const width = Math.min(boxesA[a + 2]!, boxesB[b + 2]!) - Math.max(boxesA[a]!, boxesB[b]!);
  const height = Math.min(boxesA[a + 3]!, boxesB[b + 3]!) - Math.max(boxesA[a + 1]!, boxesB[b + 1]!);
  if (!(width > 0 && height > 0)) return 0;
  const intersection = width * height;
  return intersection / (areaOfRow(boxesA, a) + areaOfRow(boxesB, b) - intersection);
}

export function areaOfRow(boxes: ArrayLike<number>, first: number): number {
  return (boxes[first + 2]! - boxes[first]!) * (boxes[first + 3]! - boxes[first + 1]!);
}
