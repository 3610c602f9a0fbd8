// The light by clock and place: how high the sun stands, and what that makes of the day.
import { Body, Equator, Horizon, Observer } from 'astronomy-engine';
import { ConfigError } from '#core';

export type SunState = 'night' | 'dawn' | 'dusk' | 'day';

export interface SunPlace {
  /** Degrees in [-90, 90], north positive. */
  readonly latitude: number;
  /** Degrees in [-180, 180], east positive. */
  readonly longitude: number;
}

export interface SunMoment extends SunPlace {
  readonly time: Date;
}

/** Elevations in degrees between the states; `night` must not lie above `day`. */
export interface SunLimits {
  /** Above it is day. */
  readonly day: number;
  /** At or below it is night; between the two dawn while the sun rises, else dusk. */
  readonly night: number;
}

export interface SunLight {
  /** Of the sun's centre above the horizon in degrees, without refraction. */
  readonly elevation: number;
  readonly rising: boolean;
  readonly state: SunState;
}

/**
 * Sunrise and sunset: the upper edge of the sun on the horizon, 16' of its radius and 34' of refraction (US Naval
 * Observatory); and the end of civil twilight, when lamps are needed.
 */
export const CIVIL_LIMITS: SunLimits = { day: -0.833, night: -6 };

const MINUTE_MS = 60_000;

/**
 * Where the sun stands and what state of light that is.
 * @throws ConfigError for a time or a place that there is not, or limits in the wrong order
 * @example
 * sunLight({ time: new Date('2021-03-20T19:30:00+08:00'), latitude: 1.35, longitude: 103.82 }).state // 'dusk'
 */
export function sunLight(moment: SunMoment, limits: SunLimits = CIVIL_LIMITS): SunLight {
  expectMoment(moment);
  if (!(limits.night <= limits.day)) {
    throw new ConfigError(
      `the limit of the night, ${limits.night} degrees, lies above that of the day, ${limits.day}`,
      {
        hint: 'give elevations of the sun such as day -0.833 and night -6',
      },
    );
  }
  const elevation = sunElevation(moment);
  const rising = sunElevation({ ...moment, time: new Date(moment.time.getTime() + MINUTE_MS) }) > elevation;
  return { elevation, rising, state: stateOf(elevation, rising, limits) };
}

function stateOf(elevation: number, rising: boolean, limits: SunLimits): SunState {
  if (elevation > limits.day) return 'day';
  if (elevation <= limits.night) return 'night';
  return rising ? 'dawn' : 'dusk';
}

/** Degrees of the sun's centre above the horizon, without refraction. */
function sunElevation({ time, latitude, longitude }: SunMoment): number {
  const observer = new Observer(latitude, longitude, 0);
  const { ra, dec } = Equator(Body.Sun, time, observer, true, true);
  return Horizon(time, observer, ra, dec).altitude;
}

function expectMoment({ time, latitude, longitude }: SunMoment): void {
  if (!Number.isFinite(time.getTime())) {
    throw new ConfigError('the time for the position of the sun is no time', {
      hint: 'give a date with a zone, such as 2021-03-20T19:30:00+08:00',
    });
  }
  if (!(Math.abs(latitude) <= 90) || !(Math.abs(longitude) <= 180)) {
    throw new ConfigError(`latitude ${latitude}, longitude ${longitude} is no place on earth`, {
      hint: 'latitude is -90 to 90 (north positive), longitude -180 to 180 (east positive), in degrees',
    });
  }
}
