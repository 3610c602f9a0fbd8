// A process that was killed, or a disk that was full, may leave half a line at the end of a log.
import { closeSync, fstatSync, ftruncateSync, openSync, readSync } from 'node:fs';

const CHUNK_BYTES = 65_536;
const LINE_END = 0x0a;

/**
 * Cuts off what follows the last line end.
 * @returns bytes that were cut off: 0 where the file is whole, empty or not there
 * @throws the system's error where it cannot be read or cut
 */
export function cutTornLine(path: string): number {
  let file: number;
  try {
    file = openSync(path, 'r+');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
  try {
    const { size } = fstatSync(file);
    const whole = wholeBytes(file, size);
    if (whole < size) ftruncateSync(file, whole);
    return size - whole;
  } finally {
    closeSync(file);
  }
}

function wholeBytes(file: number, size: number): number {
  const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, size));
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - chunk.length);
    const read = readSync(file, chunk, 0, end - start, start);
    const place = chunk.subarray(0, read).lastIndexOf(LINE_END);
    if (place >= 0) return start + place + 1;
    end = start;
  }
  return 0;
}
