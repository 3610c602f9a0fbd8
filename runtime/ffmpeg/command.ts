// The one place that knows fluent-ffmpeg. It builds argument lists; the children are started by child.ts, because
// fluent-ffmpeg's own start-up asks ffmpeg for its formats (and refuses cameras with ffmpeg 7), opens no pipe
// beyond fd 2 and keeps the stream's address in its error texts.
import createCommand, { type FfmpegCommand } from 'fluent-ffmpeg';

export interface CommandInput {
  /** A URL, `pipe:0`, a device, or a file as `file:…` (see `fileUrl`). */
  readonly url: string;
  readonly options?: readonly string[];
}

export interface CommandOutput {
  /** `pipe:1`, a file or a URL. */
  readonly target: string;
  readonly options?: readonly string[];
}

export interface CommandPlan {
  /** What ffmpeg says on standard error; `level+info` marks every line with its level. */
  readonly verbosity?: 'error' | 'level+error' | 'level+info' | 'level+verbose';
  readonly inputs: readonly CommandInput[];
  /** A whole filter graph with named ends, for `-map`. */
  readonly filterGraph?: string;
  readonly outputs: readonly CommandOutput[];
}

/** Arguments for ffmpeg: every element reaches it as it is, there is no shell and no splitting at spaces. */
export function buildArguments(plan: CommandPlan): readonly string[] {
  const command = createCommand();
  for (const { url, options = [] } of plan.inputs) {
    command.input(url);
    // As separate parameters: fluent-ffmpeg splits the elements of an array at a space.
    if (options.length > 0) command.inputOptions(...options);
  }
  if (plan.filterGraph !== undefined) command.complexFilter(plan.filterGraph);
  for (const { target, options = [] } of plan.outputs) {
    command.output(target);
    if (options.length > 0) command.outputOptions(...options);
  }
  // `-nostdin`: ffmpeg would eat the input of a shell loop, or wait for a key.
  const general = ['-hide_banner', '-nostdin', '-nostats', '-v', plan.verbosity ?? 'level+error'];
  return [...general, ...argumentsOf(command)];
}

/** A path as ffmpeg takes it literally: a name like `a:b.mp4` or `-x.mp4` is neither a protocol nor an option. */
export function fileUrl(path: string): string {
  return `file:${path}`;
}

/** Private in fluent-ffmpeg, but that package is frozen and a test pins the result. */
function argumentsOf(command: FfmpegCommand): string[] {
  const { _getArguments } = command as unknown as { _getArguments(this: FfmpegCommand): unknown[] };
  return _getArguments.call(command).map(String);
}
