// The few things that a program needs before it knows what it will do. Kept apart from the index because loading all
// of core takes as long as printing a help text may.
export {
  ConfigError,
  DataError,
  DeviceError,
  EdgeDetectError,
  ModelError,
  SourceError,
  UsageError,
} from './errors.ts';
export { HEAD_KINDS } from './head-layout.ts';
export { nearest } from './nearest.ts';
