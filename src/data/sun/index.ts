// The position of the sun as a measure of the light. The only home of astronomy-engine.
export type { SunLight, SunLimits, SunMoment, SunPlace, SunState } from './sun-light.ts';
export { CIVIL_LIMITS, sunLight } from './sun-light.ts';
