// Fits detector heads whose score is a distribution.
export type { ChosenEngine, EngineRequest } from './engines/choose.ts';
export { chooseEngine } from './engines/choose.ts';
export type { Engine, EnginePlan } from './engines/engine.ts';
export type { TrainRequest } from './options.ts';
export { resumeRun } from './run/resume.ts';
export type { RunEvent, StartFacts, TrainContext } from './train.ts';
export { trainDetector } from './train.ts';
