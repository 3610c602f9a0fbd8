// Fits detector heads whose score is a distribution.
export type { CriterionConfig, QualityLossConfig, TargetPolicy } from './criterion-config.ts';
export { CRITERION_DEFAULTS, PUBLISHED_CRITERION, SMOOTHED_LABELS } from './criterion-config.ts';
export type { ChosenEngine, EngineRequest } from './engines/choose.ts';
export { chooseEngine } from './engines/choose.ts';
export type { Engine, EnginePlan } from './engines/engine.ts';
export type { EpochEvent } from './loop.ts';
export type { TrainRequest } from './options.ts';
export { resumeRun } from './run/resume.ts';
export type { RunEvent, StartFacts, TrainContext } from './train.ts';
export { trainDetector } from './train.ts';
export type { ValidationResult } from './validate.ts';
