// The sample world: street scenes from a fixed camera, with exact boxes, at any hour and in any number.
export type { Size } from './camera.ts';
export { LEAST_SIDES_PX, LEAST_VISIBLE, renderFrame, type WorldObject } from './frame.ts';
export { LIGHTS, type Light, type Weather } from './light.ts';
export { createScene, type Scene, type SceneOptions } from './scene.ts';
export { CLASS_NAMES, type ClassName } from './traffic.ts';
