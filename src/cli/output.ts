// The only place that writes to stdout (data) and stderr (for people).
import { writeSync } from 'node:fs';
import type { EdgeDetectError } from '#core';

/** One line for people. Written at once, so that it survives an abrupt end. */
export function say(text: string): void {
  writeAll(2, `${text}\n`);
}

export function sayError(error: EdgeDetectError): void {
  writeAll(2, `error: ${error.message}\n  what to do: ${error.hint}\n`);
}

export function sayBug(error: unknown): void {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  writeAll(
    2,
    `This is a fault of edge-detect, please report it with the command and these lines:\n${text}\n`,
  );
}

/** Data for the next program. */
export function print(text: string): void {
  writeAll(1, `${text}\n`);
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}

function writeAll(descriptor: 1 | 2, text: string): void {
  const bytes = Buffer.from(text);
  let offset = 0;
  while (offset < bytes.length) {
    try {
      offset += writeSync(descriptor, bytes, offset);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'EPIPE') return; // the reader has gone: nothing more to say to him
      if (code !== 'EAGAIN') throw error;
    }
  }
}
