// The light that is measured in every picture: by the ladder as it is shipped, and by one that was fitted on the other
// cameras in the same way.
import { openSource } from 'edge-detect';
import {
  createLetterbox,
  DEFAULT_FIT,
  firstLight,
  INFRARED_VALUE,
  LIGHT_LADDER,
  type LightMeasure,
  measureLight,
} from 'edge-detect/core';
import { say } from '../common/output.ts';
import type { StudyData } from '../common/study-data.ts';
import { loadSliced } from '../policies/setting.ts';
import { fitOrdinal, type OrdinalRow, ordinalValue } from './ordinal-fit.ts';

/** Darkest first. */
export const STATES = LIGHT_LADDER.states;

/** Dawn is as bright as dusk. */
const SAME_AS: Readonly<Record<string, string>> = { dawn: 'dusk' };

export interface Seen {
  readonly camera: string;
  readonly truth: string;
  /** By the shipped ladder; undefined: the picture says nothing, for it is black. */
  readonly found: string | undefined;
  /** By a ladder that was fitted without this camera. */
  readonly foundElsewhere: string | undefined;
}

interface Measured {
  readonly camera: string;
  readonly truth: string;
  readonly light: LightMeasure;
}

export async function measureLights(
  { data, groupOf }: StudyData,
  signal: AbortSignal,
): Promise<readonly Seen[]> {
  const { pictures, slices } = await loadSliced(data);
  const measured: Measured[] = [];
  for (const [place, picture] of pictures.entries()) {
    const truth = slices[place]!;
    const light = await lightOf(picture.path, signal);
    measured.push({ camera: groupOf(picture), truth: SAME_AS[truth] ?? truth, light });
    if (measured.length % 50 === 0 || measured.length === pictures.length)
      say(`${measured.length} of ${pictures.length} pictures`);
  }
  return withFound(measured);
}

function withFound(measured: readonly Measured[]): readonly Seen[] {
  const cameras = [...new Set(measured.map(({ camera }) => camera))].sort();
  return cameras.flatMap((camera) => {
    const valueElsewhere = fitWithout(camera, measured);
    return measured
      .filter((one) => one.camera === camera)
      .map(({ truth, light }) => ({
        camera,
        truth,
        found: stateOf(light.value),
        foundElsewhere: stateOf(valueElsewhere(light)),
      }));
  });
}

/** Infrared and black pictures need no fit. */
function fitWithout(camera: string, measured: readonly Measured[]): (light: LightMeasure) => number {
  const rows = measured.flatMap((one): readonly OrdinalRow[] => {
    const state = STATES.indexOf(one.truth);
    const usable = one.camera !== camera && state >= 0 && hasCues(one.light);
    return usable ? [{ cues: cuesOf(one.light), state: state as OrdinalRow['state'] }] : [];
  });
  if (STATES.some((_, state) => !rows.some((row) => row.state === state))) return () => Number.NaN;
  const model = fitOrdinal(rows);
  return (light) => (hasCues(light) ? ordinalValue(model, cuesOf(light)) : light.value);
}

function hasCues({ value }: LightMeasure): boolean {
  return value !== INFRARED_VALUE && !Number.isNaN(value);
}

function cuesOf({ cues: { highlights, shadows, spread } }: LightMeasure): readonly number[] {
  return [highlights, shadows, spread];
}

function stateOf(value: number): string | undefined {
  return Number.isNaN(value) ? undefined : firstLight(LIGHT_LADDER, value).name;
}

/** Of a picture at its own size. */
async function lightOf(path: string, signal: AbortSignal): Promise<LightMeasure> {
  const source = await openSource(path);
  let measured: LightMeasure | undefined;
  const fit = (size: Parameters<typeof createLetterbox>[0]) => createLetterbox(size, size, DEFAULT_FIT);
  for await (const frame of source.frames({ fit, full: false, signal })) {
    const { width, height } = frame.letterbox.content;
    measured = measureLight(frame.content, width, height);
    frame.release();
  }
  if (measured === undefined) throw new Error(`${path} has no frame`);
  return measured;
}
