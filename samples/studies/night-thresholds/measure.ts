// Own thresholds of the night against the fixed ones, both chosen for the same precision, per camera and over all.
import { HARD_SUPPRESSION } from 'edge-detect/core';
import type { StudyData } from '../common/study-data.ts';
import { suppressAll } from '../policies/boxes.ts';
import { proposeWithProgress } from '../policies/host.ts';
import { type Comparison, compareFound, type Found, found, type Judged, judge } from '../policies/measure.ts';
import type { PolicySetting, SlicedData } from '../policies/setting.ts';
import { chooseThresholds, type HalfThresholds } from './choose.ts';

/** Name of the row over all cameras. */
export const ALL_CAMERAS = 'all';

export interface NightSetting extends PolicySetting {
  /** Each in (0, 1]; every one has a table of its own. */
  readonly precisions: readonly number[];
  /** Word that means night. */
  readonly night: string;
}

/** Of a camera, or of all, in the halves that have a fixed threshold to compare with. */
export interface NightRow {
  readonly camera: string;
  /** At night. */
  readonly pictures: number;
  readonly objects: number;
  readonly night: Comparison;
  readonly allLight: Comparison;
}

export interface TargetResult {
  readonly precision: number;
  readonly halves: readonly HalfThresholds[];
  readonly rows: readonly NightRow[];
}

export interface NightResult {
  readonly host: string;
  readonly targets: readonly TargetResult[];
}

export async function measureNight(
  { name, host = name, model }: StudyData,
  data: SlicedData,
  setting: NightSetting,
  signal: AbortSignal,
): Promise<NightResult> {
  const proposed = await proposeWithProgress({ ...setting, model }, data, signal);
  const predictions = suppressAll(proposed, HARD_SUPPRESSION, setting.iou);
  const judged = judge(data, predictions, setting);
  const targets = setting.precisions.map((precision): TargetResult => {
    const halves = chooseThresholds(data, predictions, { ...setting, precision });
    return { precision, halves, rows: rowsOf(halves, judged, data, setting.night) };
  });
  return { host, targets };
}

function rowsOf(
  halves: readonly HalfThresholds[],
  judged: Judged,
  { slices }: SlicedData,
  night: string,
): readonly NightRow[] {
  const usable = halves.filter(({ fixed }) => fixed !== undefined);
  const [own, fixed] = [thresholdsBy(usable, slices, true), thresholdsBy(usable, slices, false)].map(
    (thresholds) => found(judged, keepsAbove(judged, thresholds), 0.5),
  ) as [Found, Found];
  const cameras = [...new Set(usable.map(({ camera }) => camera))];
  const lines = [...cameras.map((camera) => [camera, [camera]] as const), [ALL_CAMERAS, cameras] as const];
  return lines.map(([name, chosen]): NightRow => {
    const places = usable.filter(({ camera }) => chosen.includes(camera)).flatMap((half) => half.places);
    const dark = places.filter((place) => slices[place] === night);
    return {
      camera: name,
      pictures: dark.length,
      objects: dark.reduce((sum, place) => sum + own.objects[place]!, 0),
      night: compareFound(own, fixed, dark),
      allLight: compareFound(own, fixed, places),
    };
  });
}

/** Threshold of every picture; Infinity where there is none. */
function thresholdsBy(halves: readonly HalfThresholds[], slices: readonly string[], own: boolean) {
  const thresholds = new Float64Array(slices.length).fill(Infinity);
  for (const { places, fixed = Infinity, lights } of halves) {
    for (const place of places) {
      thresholds[place] = own ? (lights.get(slices[place]!) ?? fixed) : fixed;
    }
  }
  return thresholds;
}

function keepsAbove({ detections: { starts, scores } }: Judged, thresholds: Float64Array) {
  const least = new Float64Array(scores.length);
  for (const [picture, threshold] of thresholds.entries())
    least.fill(threshold, starts[picture]!, starts[picture + 1]!);
  return (row: number) => scores[row]! > least[row]!;
}
