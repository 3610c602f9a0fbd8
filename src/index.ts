// What most programs need, in one import. The whole of each part is under its own name: `edge-detect/core` (maths on
// boxes and scores), `/onnx` (model files), `/runtime` (sources, detectors, sinks), `/devices` (the machine).

// A model, a source, and one run over the other.

export type {
  DetectionResult,
  DetectorOptions,
  FrameSource,
  OpenDetector,
  PictureDetections,
  SourceEvent,
} from '#runtime';
export { detections, detectPicture, locateFfmpeg, openDetector, openSource, runDetections } from '#runtime';

// What comes out, and which candidates do.

export type { Box, BoxVariance, Detection, SuppressionPolicy, ThresholdPolicy } from '#core';
export { PUBLISHED_THRESHOLD } from '#core';

// Where results go.

export type { Sink } from '#runtime';
export {
  createAnnotatedPictures,
  createAnnotatedVideo,
  createCocoJson,
  createCsv,
  createJsonLines,
  createPainter,
  createYoloTxt,
  linesToFile,
  linesToStream,
} from '#runtime';

// The shapes that other tools read.

export { toCocoRow, toColumns, toUltralyticsRow, toXywh, toYoloRow } from '#runtime';

// What can go wrong: every error of a user's making is an EdgeDetectError with a hint and an exit code.

export {
  ConfigError,
  DataError,
  DeviceError,
  EdgeDetectError,
  ModelError,
  SourceError,
  UsageError,
} from '#core';
