// A scene: one camera's street, its traffic, and the light of one hour.
import { type Backdrop, createBackdrop } from './backdrop.ts';
import { createCamera, type Size } from './camera.ts';
import { type Canvas, createCanvas } from './canvas.ts';
import { createLighting, type Light, type Lighting, type Weather } from './light.ts';
import { hash } from './random.ts';
import { createStreet, type Street } from './street.ts';
import { createTraffic, type Traffic } from './traffic.ts';

export interface SceneOptions {
  /** Which camera: its street, its place, its lens. Any whole number. */
  readonly camera: number;
  /** Which traffic and which weather of the day. The light has no part in the traffic. */
  readonly seed: number;
  readonly light: Light;
  readonly weather?: Weather;
  /** Of the picture, in px. */
  readonly size: Size;
}

export interface Scene {
  readonly size: Size;
  readonly seed: number;
  readonly street: Street;
  readonly lighting: Lighting;
  readonly traffic: Traffic;
  readonly backdrop: Backdrop;
  /** Drawn on anew for every frame. */
  readonly canvas: Canvas;
}

/** Samples per px along each axis. */
export const SUPERSAMPLING = 2;

/** Draws and lights all that stands still: some tenths of a second at 640x384. */
export function createScene(options: SceneOptions): Scene {
  const { camera, seed, light, size } = options;
  const street = createStreet(camera, size.width / size.height);
  const lighting = createLighting(light, options.weather ?? 'dry', seed);
  const grid = { width: size.width * SUPERSAMPLING, height: size.height * SUPERSAMPLING };
  const backdrop = createBackdrop(street, lighting, createCamera(street.pose, grid), seed);
  const traffic = createTraffic(street, hash(camera, seed, 10));
  return { size, seed, street, lighting, traffic, backdrop, canvas: createCanvas(backdrop) };
}
