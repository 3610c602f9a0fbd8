// What sources and sinks share about ffmpeg.
export { type ChildExit, type SupervisedChild, spawnChild } from './child.ts';
export {
  buildArguments,
  type CommandInput,
  fileUrl,
} from './command.ts';
export { type Ffmpeg, type FfmpegDialect, type LocateOptions, locateFfmpeg } from './locate.ts';
export { isTelling, type LogLine } from './log-line.ts';
export { redactCredentials } from './redact.ts';
