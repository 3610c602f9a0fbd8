// The light of a stream by the position of the sun: the ladder of its height, and what measures it for a frame.
import type { LightLadder } from '#core';
import type { SunPlace } from '#data/sun';
import type { Frame } from './frame.ts';

export interface SunLightOptions extends SunPlace {
  /** ms since 1970 at time 0 of a video. Absent: frames are of when they arrive, as those of a camera are. */
  readonly startMs?: number;
}

/** What `LightOptions` needs to follow the sun. */
export interface SunFollowing {
  readonly ladder: LightLadder;
  /** Degrees of the sun above the horizon. */
  readonly measure: (frame: Frame) => number;
}

/** States of the sun, from dark to bright. Dusk stands for dawn, too: the sun is as high. */
export const SUN_STATES = ['night', 'dusk', 'day'] as const;

/** The sun does not flicker, so its states need neither margin nor time. The measure throws for a place that there is not. */
export async function followSun({ latitude, longitude, startMs }: SunLightOptions): Promise<SunFollowing> {
  // Tables of the planets are read only where somebody asks for the sun.
  const { CIVIL_LIMITS, sunLight } = await import('#data/sun');
  return {
    ladder: {
      states: SUN_STATES,
      boundaries: [CIVIL_LIMITS.night, CIVIL_LIMITS.day],
      margin: 0,
      holdSeconds: 0,
    },
    measure({ ptsSeconds = 0, capturedAtMs }) {
      const atMs = startMs === undefined ? (capturedAtMs ?? Date.now()) : startMs + 1000 * ptsSeconds;
      return sunLight({ time: new Date(atMs), latitude, longitude }).elevation;
    },
  };
}

/** @returns ms since 1970, or undefined for what is no time, or has no zone */
export function parseZonedTime(text: string): number | undefined {
  const ms = /(Z|[+-]\d\d:?\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isFinite(ms) ? ms : undefined;
}
