// What sources and sinks share about ffmpeg.
export { type ChildExit, type ChildOptions, type SupervisedChild, spawnChild } from './child.ts';
export {
  buildArguments,
  type CommandInput,
  type CommandOutput,
  type CommandPlan,
  fileUrl,
} from './command.ts';
export { dialectOf, type Ffmpeg, type FfmpegDialect, type LocateOptions, locateFfmpeg } from './locate.ts';
export { isTelling, type LogLine } from './log-line.ts';
export { redactCredentials } from './redact.ts';
