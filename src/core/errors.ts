// The errors that a user can cause or meet. Each says what is wrong, what to do next, and with which
// exit code the command ends. Anything else that is thrown is a bug of ours (exit code 1).

interface ErrorDetails {
  /** What to do next: a command, a key with its allowed values, a package to install. */
  readonly hint: string;
  readonly cause?: unknown;
}

/** What a user can cause or meet: says what is wrong (`message`), what to do next (`hint`) and how a command ends (`exitCode`). */
export abstract class EdgeDetectError extends Error {
  abstract readonly exitCode: number;
  readonly hint: string;

  constructor(message: string, { hint, cause }: ErrorDetails) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.hint = hint;
  }
}

/** The command line cannot be understood. */
export class UsageError extends EdgeDetectError {
  readonly exitCode = 2;
}

/** A configuration value or file is wrong. */
export class ConfigError extends EdgeDetectError {
  readonly exitCode = 3;
}

/** A picture, label or data set is wrong; also an output that cannot be written. */
export class DataError extends EdgeDetectError {
  readonly exitCode = 4;
}

/** A model file cannot be read, is not a detector that is known here, or lacks what was asked for. */
export class ModelError extends EdgeDetectError {
  readonly exitCode = 5;
}

/** A device, a provider or a program that is needed (ffmpeg) is not usable here. */
export class DeviceError extends EdgeDetectError {
  readonly exitCode = 6;
}

/** A video, camera or stream cannot be opened, or broke. */
export class SourceError extends EdgeDetectError {
  readonly exitCode = 7;
}
