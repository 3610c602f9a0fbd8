// Least scores of a camera: what stands at the top of the site file, a thresholds file, and what the camera says itself.
import { ConfigError, LIGHT_LADDER, type LightLadder, nearest, type ThresholdsFile } from '#core';
import { SUN_STATES } from '../sun-light.ts';
import type { SiteThresholds } from './site.ts';
import type { SiteFaults } from './site-faults.ts';
import type { SitePath } from './site-placed.ts';
import type { SharedDocument } from './site-schema.ts';

const OTHERS = '*';
const DEFAULT_SCORE = 0.25;

type Table = Readonly<Record<string, number>>;

/** One place that names least scores: a table for all states, and one for each light state. */
export interface ThresholdLayer {
  /** Of the key `thresholds` in the site file. */
  readonly path: SitePath;
  readonly table: Table;
  readonly conditions: Readonly<Record<string, Table>>;
  readonly file?: ThresholdsFile;
}

/** Reads the thresholds file of a path as the site file has it. @throws ConfigError */
export type ThresholdsReader = (path: string) => ThresholdsFile;

/**
 * What `conf` and `thresholds` of one place say.
 * @param camera whose own part of a thresholds file is taken
 */
export function layersOf(
  { conf, thresholds }: SharedDocument,
  { path, camera, read, faults }: LayerContext,
): readonly ThresholdLayer[] {
  if (conf === undefined && thresholds === undefined) return [];
  const at = [...path, 'thresholds'];
  if (typeof thresholds === 'string') {
    if (conf !== undefined)
      contradiction([...path, 'conf'], 'the thresholds file decides that already', faults);
    return fileLayers(thresholds, camera, { at, read, faults });
  }
  const { conditions = {}, ...table } = (thresholds ?? {}) as Table & {
    readonly conditions?: Readonly<Record<string, Table>>;
  };
  if (conf !== undefined && table[OTHERS] !== undefined)
    contradiction([...path, 'conf'], "thresholds says the same with '*'", faults);
  return [{ path: at, table: { ...(conf !== undefined && { [OTHERS]: conf }), ...table }, conditions }];
}

export interface LayerContext {
  readonly path: SitePath;
  readonly camera: string;
  readonly read: ThresholdsReader;
  readonly faults: SiteFaults;
}

function contradiction(path: SitePath, text: string, faults: SiteFaults): void {
  faults.addNew(path, { text, hint: 'keep one of the two', atKey: true });
}

function fileLayers(
  named: string,
  camera: string,
  {
    at,
    read,
    faults,
  }: { readonly at: SitePath; readonly read: ThresholdsReader; readonly faults: SiteFaults },
): readonly ThresholdLayer[] {
  if (faults.covers(at)) return [];
  try {
    const file = read(named);
    const own = Object.hasOwn(file.cameras, camera) ? file.cameras[camera] : undefined;
    const general = { path: at, table: file.classes, conditions: file.conditions, file };
    return own === undefined
      ? [general]
      : [general, { path: at, table: own.classes, conditions: own.conditions, file }];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    faults.addNew(at, { text: error.message, hint: error.hint });
    return [];
  }
}

/** What tells the light of a camera. */
export type LightMeasure = 'picture' | 'sun';

/**
 * The narrower layer wins; its `*` replaces all that the wider ones say, as in `toThresholdPolicy`. The ladder of a file
 * holds for what it was made by alone.
 */
export function resolveThresholds(layers: readonly ThresholdLayer[], measure: LightMeasure): SiteThresholds {
  const general = resolve(layers, undefined);
  const states = new Set(layers.flatMap(({ conditions }) => Object.keys(conditions)));
  const conditions = new Map<string, ReadonlyMap<string, number>>();
  for (const state of states) {
    const table = resolve(layers, state);
    if (!areEqual(table, general)) conditions.set(state, table);
  }
  const ladder = ladderOf(layers, measure);
  const { [OTHERS]: base = DEFAULT_SCORE, ...classes } = Object.fromEntries(general);
  return {
    base,
    classes: new Map(Object.entries(classes)),
    conditions,
    ...(conditions.size > 0 && ladder !== undefined && { ladder }),
  };
}

function ladderOf(layers: readonly ThresholdLayer[], measure: LightMeasure): LightLadder | undefined {
  const found = layers.findLast(({ file }) => file !== undefined)?.file?.hysteresis;
  if (found === undefined || (found.measure ?? 'picture') !== measure) return undefined;
  const { states, boundaries, margin, holdSeconds } = found;
  return { states, boundaries, margin, holdSeconds };
}

function resolve(layers: readonly ThresholdLayer[], state: string | undefined): Map<string, number> {
  const merged = new Map([[OTHERS, DEFAULT_SCORE]]);
  for (const { table, conditions } of layers) {
    const own = state !== undefined && Object.hasOwn(conditions, state) ? conditions[state] : undefined;
    for (const one of own === undefined ? [table] : [table, own]) {
      if (one[OTHERS] !== undefined) merged.clear();
      for (const [name, score] of Object.entries(one)) merged.set(name, score);
    }
  }
  return merged;
}

function areEqual(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}

/** Light states that nobody tells apart would never come. */
export function expectLightStates(
  layers: readonly ThresholdLayer[],
  measure: LightMeasure,
  faults: SiteFaults,
): void {
  const withFile = layers.findLast(({ file }) => file !== undefined);
  if (withFile?.file?.hysteresis?.measure === 'sun' && measure === 'picture') {
    faults.addNew(withFile.path, {
      text: 'its light states come from the height of the sun',
      hint: 'write light: sun, and location: {latitude: 52.52, longitude: 13.4}',
    });
    return;
  }
  const general = measure === 'sun' ? SUN_STATES : LIGHT_LADDER.states;
  const states: readonly string[] = ladderOf(layers, measure)?.states ?? general;
  for (const { path, conditions, file } of layers) {
    for (const state of Object.keys(conditions)) {
      const at = file === undefined ? [...path, 'conditions', state] : path;
      if (states.includes(state)) continue;
      const near = nearest(state, states);
      faults.addNew(at, {
        text: `'${state}' is no light state${near === undefined ? '' : `; did you mean '${near}'?`}`,
        hint: `the states here are ${states.join(', ')}; light: off follows none`,
        atKey: file === undefined,
      });
    }
  }
}
