// A calibrator as a model carries it in its metadata: bound to the suppression it was fitted after, with where it
// comes from. Reading checks everything: a wrong map would change every score without a sign.
import * as v from 'valibot';
import type { Calibrator, ClassCalibration } from './calibration-fit.ts';
import type { CalibrationMap } from './calibration-map.ts';
import { CALIBRATION_KINDS } from './calibration-map.ts';
import { CALIBRATION_TARGETS } from './calibration-rows.ts';
import { ModelError } from './errors.ts';

// The messages say what is expected; `toError` puts what was found in front of them.
const UNIT = 'a number from 0 to 1';
const FINITE = 'a finite number';
const COUNT = 'a whole number of 0 or more';
const LAW = 'a number of 0 or more';
const unit = v.pipe(v.number(UNIT), v.minValue(0, UNIT), v.maxValue(1, UNIT));
const finite = v.pipe(v.number(FINITE), v.finite(FINITE));
const count = v.pipe(v.number(COUNT), v.integer(COUNT), v.minValue(0, COUNT));
const notNegative = v.pipe(v.number(LAW), v.finite(LAW), v.minValue(0, LAW));
const ABOVE_0 = 'a number above 0';
const text = v.pipe(v.string('a text'), v.nonEmpty('a text that is not empty'));

const KNOTS = 'rising numbers from 0 to 1';
const LEVELS = 'numbers from 0 to 1 that never fall, one per score';
const map = v.variant(
  'kind',
  [
    v.strictObject({ kind: v.literal('platt'), slope: notNegative, intercept: finite }),
    v.strictObject({
      kind: v.literal('temperature'),
      temperature: v.pipe(v.number(ABOVE_0), v.finite(ABOVE_0), v.gtValue(0, ABOVE_0)),
    }),
    v.strictObject({ kind: v.literal('beta'), low: notNegative, high: notNegative, intercept: finite }),
    v.strictObject({
      kind: v.literal('isotonic'),
      scores: v.pipe(
        v.array(unit, KNOTS),
        v.minLength(1, KNOTS),
        v.check((scores) => scores.every((score, place) => place === 0 || score > scores[place - 1]!), KNOTS),
      ),
      values: v.pipe(
        v.array(unit, LEVELS),
        v.check(
          (values) => values.every((value, place) => place === 0 || value >= values[place - 1]!),
          LEVELS,
        ),
      ),
      tilt: v.optional(v.pipe(v.number(UNIT), v.minValue(0, UNIT), v.ltValue(1, UNIT))),
    }),
  ],
  `an object with kind ${CALIBRATION_KINDS.map((kind) => `'${kind}'`).join(', ')}`,
);

const fittedClass = v.strictObject({ map, samples: count });
const keptClass = v.strictObject({ whyKept: text, samples: count });

const schema = v.strictObject({
  version: v.literal(1, '1, the only version of this format'),
  kind: v.picklist(CALIBRATION_KINDS, CALIBRATION_KINDS.map((kind) => `'${kind}'`).join(', ')),
  target: v.picklist(CALIBRATION_TARGETS, "'quality' or 'correct'"),
  minScore: unit,
  maxDets: count,
  suppression: v.looseObject({ kind: text, iou: unit, agnostic: v.boolean('true or false') }),
  data: v.strictObject({ description: text, pictures: count, objects: count, detections: count }),
  classes: v.record(v.string(), v.unknown(), 'an object of class names'),
});

/** The policy and how it was run, as a thresholds file has it. */
export interface FittedSuppression {
  readonly kind: string;
  readonly iou: number;
  readonly agnostic: boolean;
  /** What else the policy has, such as `lambda`. */
  readonly [option: string]: unknown;
}

/** What the calibrator was fitted on, in words and numbers. */
export interface CalibrationData {
  readonly description: string;
  readonly pictures: number;
  readonly objects: number;
  readonly detections: number;
}

/** Plain data: JSON in the metadata of a model. */
export interface StoredCalibrator {
  readonly version: 1;
  readonly kind: Calibrator['kind'];
  readonly target: Calibrator['target'];
  /** Detections below were not fitted on. */
  readonly minScore: number;
  /** Per picture and class. */
  readonly maxDets: number;
  readonly suppression: FittedSuppression;
  readonly data: CalibrationData;
  /** By class name. */
  readonly classes: Readonly<Record<string, StoredClass>>;
}

type StoredClass =
  | { readonly map: CalibrationMap; readonly samples: number }
  | { readonly whyKept: string; readonly samples: number };

export interface CalibratorOrigin {
  /** Of the calibrator's classes, in their order. */
  readonly classNames: readonly string[];
  readonly minScore: number;
  readonly maxDets: number;
  readonly suppression: FittedSuppression;
  readonly data: CalibrationData;
}

export function toStoredCalibrator(
  { kind, target, classes }: Calibrator,
  { classNames, ...origin }: CalibratorOrigin,
): StoredCalibrator {
  const entries = classes.map((entry, classId): [string, StoredClass] => {
    const { samples } = entry;
    const stored = entry.map === null ? { whyKept: entry.whyKept, samples } : { map: entry.map, samples };
    return [classNames[classId]!, stored];
  });
  return { version: 1, kind, target, ...origin, classes: Object.fromEntries(entries) };
}

/**
 * @param value parsed JSON
 * @param source where it stands, for messages
 * @throws ModelError naming the source and the path of the key
 */
export function parseStoredCalibrator(value: unknown, source: string): StoredCalibrator {
  const parsed = v.safeParse(schema, value);
  if (!parsed.success) throw toError(parsed.issues[0], source, '');
  const classes: Record<string, StoredClass> = {};
  for (const [name, entry] of Object.entries(parsed.output.classes)) {
    classes[name] = parseClass(entry, { source, name, kind: parsed.output.kind });
  }
  return { ...parsed.output, classes };
}

/** Apart, so that the message names the key inside the map and not only the class. */
function parseClass(
  entry: unknown,
  { source, name, kind }: { readonly source: string; readonly name: string; readonly kind: string },
): StoredClass {
  const at = `classes.${name}`;
  const hasMap = typeof entry === 'object' && entry !== null && 'map' in entry;
  const parsed = v.safeParse(hasMap ? fittedClass : keptClass, entry);
  if (!parsed.success) throw toError(parsed.issues[0], source, at);
  const found = parsed.output;
  if (!('map' in found)) return found;
  if (found.map.kind !== kind) {
    throw fault(source, `'${at}.map.kind' is '${found.map.kind}', but the calibrator's kind is '${kind}'`);
  }
  if (found.map.kind === 'isotonic' && found.map.scores.length !== found.map.values.length) {
    throw fault(
      source,
      `'${at}.map' has ${found.map.scores.length} scores and ${found.map.values.length} values, expected as many`,
    );
  }
  return found;
}

/**
 * For the classes of a model; one that the calibrator does not name keeps its scores.
 * @throws ModelError where the calibrator names a class that the model does not have
 */
export function toCalibrator(
  { kind, target, classes }: StoredCalibrator,
  classNames: readonly string[],
  source: string,
): Calibrator {
  const stray = Object.keys(classes).find((name) => !classNames.includes(name));
  if (stray !== undefined) {
    throw fault(
      source,
      `it calibrates class '${stray}', which the model does not have (${classNames.join(', ')})`,
    );
  }
  return {
    kind,
    target,
    classes: classNames.map((name): ClassCalibration => {
      const entry = Object.hasOwn(classes, name) ? classes[name]! : undefined;
      if (entry === undefined) return { map: null, samples: 0, whyKept: 'the calibrator does not name it' };
      return 'map' in entry
        ? { map: entry.map, samples: entry.samples }
        : { map: null, samples: entry.samples, whyKept: entry.whyKept };
    }),
  };
}

/**
 * A calibrator holds for what its suppression leaves over, and for nothing else.
 * @returns what differs, in words; undefined where the suppression in use is the one it was fitted after
 */
export function whyOtherSuppression(
  { suppression: fitted }: StoredCalibrator,
  inUse: FittedSuppression,
): string | undefined {
  const keys = new Set([...Object.keys(fitted), ...Object.keys(inUse)]);
  const shown = (value: unknown) => (value === undefined ? 'none' : JSON.stringify(sortKeys(value)));
  const differences = [...keys]
    .filter((key) => shown(fitted[key]) !== shown(inUse[key]))
    .map((key) => `${key} ${shown(inUse[key])} instead of ${shown(fitted[key])}`);
  if (differences.length === 0) return undefined;
  return `the calibrator was fitted after another suppression: ${differences.join(', ')}`;
}

/** Equal values print alike, whatever order their keys were written in. */
function sortKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sortKeys(inner)]));
}

function toError(issue: v.BaseIssue<unknown>, source: string, prefix: string): ModelError {
  const key = [prefix, v.getDotPath(issue)].filter(Boolean).join('.');
  if (issue.type === 'strict_object' && issue.expected === 'never') {
    return fault(source, `'${key}' is not a key of this format`);
  }
  if (issue.received === 'undefined') return fault(source, `key '${key}' is missing`);
  if (key === '') return fault(source, `found ${issue.received}, expected an object`);
  const expected = issue.message.startsWith('Invalid') ? issue.expected : issue.message;
  return fault(source, `'${key}' is ${JSON.stringify(issue.input)}, expected ${expected}`);
}

function fault(source: string, what: string): ModelError {
  return new ModelError(`calibrator of ${source}: ${what}`, {
    hint: 'write it again with `edge-detect calibrate`',
  });
}
