// What reshapes and rearranges: passes look through it, whatever the numbers are written as.

/** Operators that put numbers elsewhere without changing them. */
export const MOVES: ReadonlySet<string> = new Set([
  'Flatten',
  'Gather',
  'Identity',
  'MaxPool',
  'Reshape',
  'Resize',
  'Slice',
  'Split',
  'Squeeze',
  'Transpose',
  'Unsqueeze',
]);
