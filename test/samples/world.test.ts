// The sample world: equal seeds give equal pictures, boxes are those of what is seen, and every class comes by.
import { describe, expect, it } from 'vitest';
import { drawBodies } from '../../samples/world/frame.ts';
import {
  CLASS_NAMES,
  createScene,
  LEAST_SIDES_PX,
  LEAST_VISIBLE,
  LIGHTS,
  renderFrame,
  type Scene,
  type WorldObject,
} from '../../samples/world/index.ts';

/** Half of the width for which the least sides are stated. */
const size = { width: 160, height: 96 };

function meanLevel(rgb: Uint8Array): number {
  return rgb.reduce((sum, value) => sum + value, 0) / rgb.length;
}

/** Box and share of the samples that belong to one body, found the slow way: by asking every sample. */
function seenOf(scene: Scene, time: number, id: number) {
  const { canvas, bodies } = drawBodies(scene, time);
  const mark = 1 + bodies.findIndex((body) => body.actor.id === id);
  const width = scene.size.width * 2;
  const places = [...canvas.owner.keys()].filter((index) => canvas.owner[index] === mark);
  const columns = places.map((index) => index % width);
  const rows = places.map((index) => Math.floor(index / width));
  const box = [Math.min(...columns), Math.min(...rows), Math.max(...columns) + 1, Math.max(...rows) + 1];
  return { box: box.map((edge) => edge / 2), samples: places.length };
}

const edgesOf = ({ x1, y1, x2, y2 }: WorldObject) => [x1, y1, x2, y2];

describe('the sample world', () => {
  it('gives the same picture and boxes for the same seeds, in whatever order frames are drawn', () => {
    const options = { camera: 15, seed: 5, light: 'night', weather: 'rain', size } as const;
    const [first, second] = [createScene(options), createScene(options)];
    renderFrame(second, 40);
    const [a, b] = [renderFrame(first, 3), renderFrame(second, 3)];
    expect(a.objects).toEqual(b.objects);
    expect(Buffer.compare(a.rgb, b.rgb)).toBe(0);
    expect(a.rgb).toHaveLength(3 * size.width * size.height);
    const other = renderFrame(createScene({ ...options, seed: 6 }), 3);
    expect(other.objects).not.toEqual(a.objects);
    expect(Buffer.compare(a.rgb, other.rgb)).not.toBe(0);
  });

  it('bounds exactly what is seen of every object', () => {
    const scene = createScene({ camera: 15, seed: 5, light: 'sun', size });
    const { objects } = renderFrame(scene, 3);
    expect(objects.length).toBeGreaterThan(8);
    for (const object of objects) {
      const seen = seenOf(scene, 3, object.id);
      expect(edgesOf(object)).toEqual(seen.box);
      expect(seen.samples).toBeGreaterThan(0);
    }
  });

  it('labels nothing that is mostly hidden or too small, and says how much is hidden', () => {
    const frames = [1, 2, 3].map((camera) =>
      renderFrame(createScene({ camera, seed: 2, light: 'overcast', size }), 4),
    );
    const objects = frames.flatMap((frame) => frame.objects);
    for (const { x1, y1, x2, y2, occludedFraction } of objects) {
      expect(occludedFraction).toBeGreaterThanOrEqual(0);
      expect(occludedFraction).toBeLessThanOrEqual(1 - LEAST_VISIBLE);
      expect(Math.min(x2 - x1, y2 - y1)).toBeGreaterThanOrEqual(LEAST_SIDES_PX[0] / 2);
      expect(Math.max(x2 - x1, y2 - y1)).toBeGreaterThanOrEqual(LEAST_SIDES_PX[1] / 2);
      expect(Math.min(x1, y1)).toBeGreaterThanOrEqual(0);
      expect(x2).toBeLessThanOrEqual(size.width);
      expect(y2).toBeLessThanOrEqual(size.height);
    }
    expect(objects.some(({ occludedFraction }) => occludedFraction > 0.2)).toBe(true);
    expect(objects.some(({ occludedFraction }) => occludedFraction === 0)).toBe(true);
  });

  it('has every class within a few cameras, and a thing keeps its number as it moves', () => {
    const scenes = [1, 2, 15].map((camera) => createScene({ camera, seed: 5, light: 'overcast', size }));
    const classes = scenes.flatMap((scene) =>
      renderFrame(scene, 2).objects.map(({ className }) => className),
    );
    expect(new Set(classes)).toEqual(new Set(CLASS_NAMES));
    const [before, after] = [2, 2.1].map((time) => renderFrame(scenes[2]!, time).objects);
    const kept = after!.filter(({ id }) => before!.some((object) => object.id === id));
    expect(kept.length).toBeGreaterThan(0.8 * after!.length);
    const moved = kept.filter(({ id, x1 }) => before!.find((object) => object.id === id)?.x1 !== x1);
    expect(moved.length).toBeGreaterThan(2);
    const ids = after!.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('grows dark from sun to night with the same traffic', () => {
    const frames = LIGHTS.map((light) => renderFrame(createScene({ camera: 15, seed: 5, light, size }), 3));
    for (const { objects } of frames) expect(objects).toEqual(frames[0]!.objects);
    const [sun, , dusk, night] = frames.map(({ rgb }) => meanLevel(rgb));
    expect(dusk!).toBeLessThan(0.85 * sun!);
    expect(night!).toBeLessThan(0.85 * dusk!);
    expect(night!).toBeGreaterThan(15);
  });
});
