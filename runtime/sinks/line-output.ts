// Writes text line by line to a file or to standard output: each line whole, none kept back.
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Writable } from 'node:stream';
import { outputFault } from './output-fault.ts';

/** Where lines of text go: a file or a stream. */
export interface LineOutput {
  /** For messages and the closing summary. */
  readonly name: string;
  /** Whether `name` is a file that was made. */
  readonly isFile: boolean;
  /**
   * Adds the line end and resolves when the system has taken the line.
   * @throws OutputClosed where the reader went away
   * @throws DataError where it cannot be written; the file then holds whole lines only
   */
  writeLine(line: string): Promise<void>;
  close(): Promise<void>;
}

/** Lines to a stream that others own, such as standard output: `close` leaves it open. */
export function linesToStream(stream: Writable, name: string): LineOutput {
  let fault: Error | undefined;
  // A broken pipe is also an event, and an event of this name without a listener ends the process.
  const keepFault = (error: Error) => {
    fault ??= error;
  };
  stream.on('error', keepFault);
  return {
    name,
    isFile: false,
    async writeLine(line) {
      if (fault) throw outputFault(name, fault);
      await new Promise<void>((resolve, reject) => {
        stream.write(`${line}\n`, (error) => (error ? reject(outputFault(name, fault ?? error)) : resolve()));
      });
    },
    async close() {
      if (!fault) stream.off('error', keepFault);
    },
  };
}

/** Lines to a file, which is made anew, its folder too. */
export async function linesToFile(path: string): Promise<LineOutput> {
  let file: FileHandle;
  try {
    await mkdir(dirname(path), { recursive: true });
    file = await open(path, 'w');
  } catch (cause) {
    throw outputFault(path, cause);
  }
  let wholeBytes = 0;
  let isOpen = true;
  return {
    name: path,
    isFile: true,
    async writeLine(line) {
      const bytes = Buffer.from(`${line}\n`);
      try {
        for (let done = 0; done < bytes.length; ) {
          done += (await file.write(bytes, done, bytes.length - done)).bytesWritten;
        }
        wholeBytes += bytes.length;
      } catch (cause) {
        // Half a line would be taken for damage by whoever reads the file. Devices cannot be cut; nothing is lost there.
        await file.truncate(wholeBytes).catch(() => undefined);
        throw outputFault(path, cause);
      }
    },
    async close() {
      if (!isOpen) return;
      isOpen = false;
      await file.close();
    },
  };
}
