// What may be done to a training picture, under the names that users of Ultralytics tools know, and its bounds.
import { ConfigError } from '#core';

/** All zeros is off. Probabilities and fractions are in [0, 1]. */
export interface AugmentConfig {
  /** Largest shift of the hue, as a fraction of the full turn, either way. */
  readonly hsv_h: number;
  /** Largest change of the saturation, as a factor 1 ± hsv_s. */
  readonly hsv_s: number;
  /** Largest change of the value (brightness), as a factor 1 ± hsv_v. */
  readonly hsv_v: number;
  /** Largest shift of the picture as a fraction of the input, either way. */
  readonly translate: number;
  /** Largest change of the size, as a factor 1 ± scale; below 1. */
  readonly scale: number;
  /** Probability that left and right are exchanged. */
  readonly fliplr: number;
  /** Probability that the picture stands on its head. */
  readonly flipud: number;
  /** Probability that four pictures are joined at a random corner. */
  readonly mosaic: number;
  /** Probability that up to three rectangles are painted over with the padding's grey. */
  readonly cutout: number;
  /** Probability that a picture is seen at dusk: see `drawDusk`. */
  readonly dusk: number;
  /** How late dusk may become: strengths are drawn from (0, dusk_strength]. 1 is the last light. */
  readonly dusk_strength: number;
}

/** Nothing is changed. */
export const AUGMENT_OFF: AugmentConfig = {
  hsv_h: 0,
  hsv_s: 0,
  hsv_v: 0,
  translate: 0,
  scale: 0,
  fliplr: 0,
  flipud: 0,
  mosaic: 0,
  cutout: 0,
  dusk: 0,
  dusk_strength: 0,
};

/**
 * The habitual values, for training from scratch; mosaic is for the caller to lower where a host is fine-tuned. Dusk is
 * ours: a quarter of the pictures.
 */
export const AUGMENT_DEFAULTS: AugmentConfig = {
  hsv_h: 0.015,
  hsv_s: 0.7,
  hsv_v: 0.4,
  translate: 0.1,
  scale: 0.5,
  fliplr: 0.5,
  flipud: 0,
  mosaic: 1,
  cutout: 0,
  dusk: 0.25,
  dusk_strength: 1,
};

type AugmentKey = keyof AugmentConfig;

/** Upper bounds; the lower is 0. A scale of 0.95 makes factors from 0.05 to 1.95. */
const UPPER_BOUNDS: Readonly<Record<AugmentKey, number>> = {
  hsv_h: 0.5,
  hsv_s: 1,
  hsv_v: 1,
  translate: 0.9,
  scale: 0.95,
  fliplr: 1,
  flipud: 1,
  mosaic: 1,
  cutout: 1,
  dusk: 1,
  dusk_strength: 1,
};

/** @throws ConfigError naming the key whose value is out of its range or no number */
export function expectAugmentConfig(config: AugmentConfig): AugmentConfig {
  for (const key of Object.keys(UPPER_BOUNDS) as AugmentKey[]) {
    const value: unknown = config[key];
    const most = UPPER_BOUNDS[key];
    if (typeof value === 'number' && value >= 0 && value <= most) continue;
    throw new ConfigError(`${key}: found ${String(value)}, expected a number from 0 to ${most}`, {
      hint: `set ${key}=${AUGMENT_DEFAULTS[key]} (the habitual value) or ${key}=0 (off)`,
    });
  }
  return config;
}

/** Whether nothing can happen to a picture: no step is drawn at all. */
export function isAugmentOff(config: AugmentConfig): boolean {
  const { dusk, dusk_strength, ...others } = config;
  return dusk * dusk_strength === 0 && Object.values(others).every((value) => value === 0);
}
