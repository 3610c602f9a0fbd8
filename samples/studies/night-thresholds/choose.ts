// Thresholds at a target precision, for every camera chosen on one half of its pictures and used on the other.
import { operatingPoints } from 'edge-detect/core';
import { nameGroup } from 'edge-detect/data';
import type { Predictions } from 'edge-detect/evaluate';
import { judge } from '../policies/measure.ts';
import type { PolicySetting, SlicedData } from '../policies/setting.ts';

/** What holds for the pictures of one half of one camera; it was chosen on the other half. */
export interface HalfThresholds {
  readonly camera: string;
  /** 1 for the half that every first picture is in, 2 for the other. */
  readonly half: 1 | 2;
  /** Places of the pictures that it is used on. */
  readonly places: readonly number[];
  /** One for every light; undefined: none reached the target. */
  readonly fixed?: number;
  /** By light; one that has none uses `fixed`. */
  readonly lights: ReadonlyMap<string, number>;
}

export interface TargetSetting extends PolicySetting {
  /** In (0, 1]: least share of kept boxes that hit, where the threshold is chosen. */
  readonly precision: number;
}

/** Every second picture of each light of a camera, in the order of their names, is its first half. */
export function halvesOf(
  cameras: readonly string[],
  { pictures, slices }: Pick<SlicedData, 'pictures' | 'slices'>,
): ReadonlyMap<string, readonly [readonly number[], readonly number[]]> {
  const halves = new Map<string, [number[], number[]]>();
  const seen = new Map<string, number>();
  const inOrder = [...pictures.keys()].sort((a, b) => (pictures[a]!.path < pictures[b]!.path ? -1 : 1));
  for (const place of inOrder) {
    const camera = cameras[place]!;
    const key = `${camera}\n${slices[place]}`;
    const count = seen.get(key) ?? 0;
    seen.set(key, count + 1);
    const own = halves.get(camera) ?? [[], []];
    halves.set(camera, own);
    own[count % 2 === 0 ? 0 : 1].push(place);
  }
  return halves;
}

/** Both halves of every camera, each with what the other half says. */
export function chooseThresholds(
  data: SlicedData,
  predictions: Predictions,
  setting: TargetSetting,
): readonly HalfThresholds[] {
  const cameras = data.pictures.map(nameGroup);
  return [...halvesOf(cameras, data)].flatMap(([camera, [first, second]]) =>
    [
      { from: first, places: second, half: 2 as const },
      { from: second, places: first, half: 1 as const },
    ].map(({ from, places, half }): HalfThresholds => {
      const fixed = thresholdOn(from, data, predictions, setting);
      const lights = [...new Set(from.map((place) => data.slices[place]!))].flatMap((light) => {
        const own = from.filter((place) => data.slices[place] === light);
        const threshold = thresholdOn(own, data, predictions, setting);
        return threshold === undefined ? [] : [[light, threshold] as const];
      });
      return { camera, half, places, ...(fixed !== undefined && { fixed }), lights: new Map(lights) };
    }),
  );
}

/** The one threshold for all classes that finds most at the target precision, on these pictures alone. */
function thresholdOn(
  places: readonly number[],
  data: SlicedData,
  predictions: Predictions,
  setting: TargetSetting,
): number | undefined {
  const part = <T>(list: readonly T[]) => places.map((place) => list[place]!);
  const { truth, detections, classCount } = judge(
    { ...data, pictures: part(data.pictures) },
    { ...predictions, pictures: part(predictions.pictures) },
    setting,
  );
  const goal = { kind: 'precision', target: setting.precision } as const;
  return operatingPoints(truth, detections, goal, { classCount, maxDets: 300 }).pooled.chosen?.threshold;
}
