// Models and sources to detections, and detections to files.
export type { ReadPictureOptions } from '#data/images';
export { type EncodedFormat, encodePicture } from '#data/images';
export type { CalibratorChoice } from './choose-calibrator.ts';
export type { PictureDetections } from './detect-picture.ts';
export { detectPicture } from './detect-picture.ts';
export type { DetectionResult, DetectionsOptions } from './detections.ts';
export { detections } from './detections.ts';
export type { Detected, Detector, StageTiming } from './detector.ts';
export {
  type Ffmpeg,
  type FfmpegDialect,
  type LocateOptions,
  locateFfmpeg,
  redactCredentials,
} from './ffmpeg/index.ts';
export type { Frame, FullFrame } from './frame.ts';
export type { CocoRow, DetectionColumns } from './habitual-shapes.ts';
export { toCocoRow, toColumns, toUltralyticsRow, toXywh, toYoloRow } from './habitual-shapes.ts';
export type { LightOptions } from './light.ts';
export { readNames } from './names.ts';
export type { DetectorOptions, OpenDetector } from './open-detector.ts';
export { openDetector } from './open-detector.ts';
export type { ModelOptions, OpenModel, UncertaintyRequest } from './open-model.ts';
export { describeCapabilities, openModel } from './open-model.ts';
export type { RunOptions, RunSummary } from './run.ts';
export { runDetections } from './run.ts';
export { builderWorkspaceMiB } from './session/engine-memory.ts';
export type { EngineKey, EngineRecord, EngineShapes } from './session/engine-record.ts';
export { formatEngineRecord, keyDifferences, parseEngineRecord } from './session/engine-record.ts';
export { isEngineWrapper } from './session/ffi/engine-context.ts';
export { disableTelemetry } from './session/no-telemetry.ts';
export { openOrtFfiSession } from './session/ort-ffi.ts';
export { openOrtNodeSession } from './session/ort-node.ts';
export { probeProviders } from './session/probe.ts';
export type {
  InputArray,
  Placement,
  Provider,
  RunResult,
  Session,
  SessionInput,
  SessionOptions,
} from './session/session.ts';
export { providerName } from './session/session.ts';
export type { AnnotatedPicturesOptions } from './sinks/annotated-pictures.ts';
export { createAnnotatedPictures } from './sinks/annotated-pictures.ts';
export type { AnnotatedVideoOptions } from './sinks/annotated-video.ts';
export { createAnnotatedVideo } from './sinks/annotated-video.ts';
export type { CocoJsonOptions } from './sinks/coco-json.ts';
export { createCocoJson } from './sinks/coco-json.ts';
export { createCsv } from './sinks/csv.ts';
export { createJsonLines } from './sinks/json-lines.ts';
export type { LineOutput } from './sinks/line-output.ts';
export { linesToFile, linesToStream } from './sinks/line-output.ts';
export { OutputClosed, outputFault } from './sinks/output-fault.ts';
export type { Painter, PainterOptions } from './sinks/paint/index.ts';
export { createPainter } from './sinks/paint/index.ts';
export type { CornersForm, DetectionForm } from './sinks/result-form.ts';
export type { RunFolderOptions } from './sinks/run-folder.ts';
export { createRunFolder } from './sinks/run-folder.ts';
export type { FrameResult, Sink } from './sinks/sink.ts';
export { writeWholeFile } from './sinks/whole-file.ts';
export type { YoloTxtOptions } from './sinks/yolo-txt.ts';
export { createYoloTxt } from './sinks/yolo-txt.ts';
export { type Gstreamer, locateGstreamer } from './sources/gstreamer-locate.ts';
export type { OpenSourceOptions } from './sources/open.ts';
export { listStreams, openSource } from './sources/open.ts';
export type { FrameRequest, FrameSource, SourceEvent, SourceStats } from './sources/source.ts';
export { DUSK_CLIP, drawDuskClip } from './stand-in-clip.ts';
export { followSun, parseZonedTime, type SunFollowing } from './sun-light.ts';
export type { Tracker, TrackerOptions, TrackResultsOptions } from './tracker/index.ts';
export { createTracker, TRACKER_DEFAULTS } from './tracker/index.ts';
