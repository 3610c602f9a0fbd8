// The three committed clips: one street and one traffic, by day, at dusk and at night.
import type { Light, SceneOptions } from '../world/index.ts';

export const CLIP_LIGHTS: readonly { readonly name: string; readonly light: Light }[] = [
  { name: 'day', light: 'sun' },
  { name: 'dusk', light: 'dusk' },
  { name: 'night', light: 'night' },
];
export const CLIP_SIZE = { width: 640, height: 384 };
export const CLIP_FRAMES_PER_SECOND = 12;
export const CLIP_FRAMES = 96;
const CLIP_CAMERA = 15;
const CLIP_SEED = 5;

/** The boxes of all three: light has no part in the traffic. One JSON line a frame, after one that says what this is. */
export const TRUTH_FILE = 'street.truth.jsonl';

export function clipScene(light: Light): SceneOptions {
  return { camera: CLIP_CAMERA, seed: CLIP_SEED, light, size: CLIP_SIZE };
}
