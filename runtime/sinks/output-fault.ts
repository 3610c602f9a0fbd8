// What writing can meet: a full disk, a folder without permission, a reader that went away.
import { DataError } from '#core';

/** The reader of our output went away (`| head -1`): the run ends quietly, this is nobody's mistake. */
export class OutputClosed extends Error {
  constructor(name: string) {
    super(`${name} was closed by its reader`);
    this.name = 'OutputClosed';
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'no space left on the disk',
  EDQUOT: 'the quota of the disk is used up',
  EACCES: 'no permission',
  EPERM: 'no permission',
  EROFS: 'the file system is read-only',
  ENOENT: 'the folder does not exist',
  ENOTDIR: 'a part of the path is a file',
  EISDIR: 'it is a folder',
  ENAMETOOLONG: 'the name is too long',
  EFBIG: 'the file would be too large',
};

/** A fault of the file system or of a pipe in the user's terms. */
export function outputFault(path: string, cause: unknown): DataError | OutputClosed {
  if (cause instanceof DataError || cause instanceof OutputClosed) return cause;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  if (code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED' || code === 'ECONNRESET')
    return new OutputClosed(path);
  const reason = REASONS[code] ?? (cause instanceof Error ? cause.message : String(cause));
  return new DataError(`cannot write ${path}: ${reason}`, {
    hint: 'free space or name another place for the results (project=, name=)',
    cause,
  });
}
