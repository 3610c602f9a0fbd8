// A trained model to what a device runs: graph passes behind a gate.
export type { ExportContext, Exported } from './export-model.ts';
export { exportModel } from './export-model.ts';
export type { ExportPaths } from './export-paths.ts';
export type { FrameChoice } from './frames.ts';
export type { GateFloors, Precision } from './gate/floors.ts';
export { GATE_FLOORS } from './gate/floors.ts';
export type { GatePictures } from './gate/gate-predictions.ts';
export type { ModelManifest } from './manifest.ts';
export { readManifest } from './manifest.ts';
export type { Placement } from './precision/quantise.ts';
export type { ExportFormat, ExportRequest, ExportSettings, QuantiseSettings } from './settings.ts';
export { EXPORT_FORMATS } from './settings.ts';
