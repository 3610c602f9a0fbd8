// The machine that a detector runs on.
export { type HostFacts, readHost } from './host.ts';
export { type DevicesReport, devicesLines, type Probe } from './report.ts';
