// The machine that a detector runs on, and boards that one does not have at hand.
export { type Advice, advise, type Finding } from './advice.ts';
export { type HostFacts, readHost } from './host.ts';
export type { FoundLibrary, OrtFolder } from './libraries.ts';
export { type Camera, type MachineFacts, type MachineOptions, readMachine } from './machine.ts';
export { readPowerMode } from './power-mode.ts';
export { findProfile, PROFILES } from './profiles/index.ts';
export type { DeviceProfile, JetPack, PublishedSpeed } from './profiles/profile.ts';
export { type Recipe, recipeLines, recipeOf } from './recipe.ts';
export { type DevicesReport, devicesLines, type Probe } from './report.ts';
