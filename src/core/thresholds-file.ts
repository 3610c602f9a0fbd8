// The file that `val` and `compare` write and `stream` and `predict` load: thresholds per class, condition, camera.
import * as v from 'valibot';
import { ConfigError } from './errors.ts';
import type { LightLadder, LightPolicy } from './light.ts';
import { type SuppressionSetting, settingOf, suppressionSchema } from './suppression-file.ts';
import type { ThresholdPolicy } from './threshold.ts';

/** Stands for every class that is not named beside it. */
const OTHERS = '*';

// The messages say what is expected; `toError` puts what was found in front of them.
const UNIT = 'a number from 0 to 1';
const POSITIVE = 'a number of 0 or more';
const unit = v.pipe(v.number(UNIT), v.minValue(0, UNIT), v.maxValue(1, UNIT));
const positive = v.pipe(v.number(POSITIVE), v.finite(POSITIVE), v.minValue(0, POSITIVE));
const classThresholds = v.record(v.string(), unit, 'an object of class names with thresholds');
const conditionThresholds = v.record(v.string(), classThresholds, 'an object of conditions');

const INSIDE = 'a number between 0 and 1';
const inside = v.pipe(v.number(INSIDE), v.gtValue(0, INSIDE), v.ltValue(1, INSIDE));
const conformal = v.strictObject({
  target: v.picklist(
    ['object-recall', 'miss-rate', 'precision'],
    "'object-recall', 'miss-rate' or 'precision'",
  ),
  alpha: inside,
  delta: v.exactOptional(inside),
  iou: unit,
});

const schema = v.strictObject({
  version: v.literal(1, '1, the only version of this format'),
  modelSha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, 'a SHA-256 of 64 lower-case hex digits')),
  score: v.picklist(['raw', 'calibrated'], "'raw' or 'calibrated'"),
  suppression: suppressionSchema,
  /** What the thresholds promise, where conformal calibration chose them. */
  conformal: v.exactOptional(conformal),
  classes: classThresholds,
  conditions: v.optional(conditionThresholds, {}),
  cameras: v.optional(
    v.record(
      v.string(),
      v.strictObject({
        classes: v.optional(classThresholds, {}),
        conditions: v.optional(conditionThresholds, {}),
      }),
    ),
    {},
  ),
  hysteresis: v.optional(
    v.strictObject({
      /** Unit of the boundaries: that of `measureLight` (`picture`, also where absent), or degrees of the sun above the horizon. */
      measure: v.exactOptional(v.picklist(['picture', 'sun'], "'picture' or 'sun'")),
      states: v.pipe(v.array(v.string()), v.minLength(2, 'two or more states, from dark to bright')),
      boundaries: v.array(v.pipe(v.number('a number'), v.finite('a number'))),
      margin: positive,
      holdSeconds: positive,
    }),
  ),
});

/** A checked thresholds file. Thresholds lie in [0, 1]; the key `*` stands for all classes not named. */
export type ThresholdsFile = v.InferOutput<typeof schema>;

/**
 * @param text JSON
 * @param path of the file, for messages
 * @param model where given, the file must have been made for it
 * @throws ConfigError naming the file and the path of the key, or both hashes where they differ
 */
export function parseThresholdsFile(
  text: string,
  path: string,
  model?: { readonly modelSha256: string },
): ThresholdsFile {
  const parsed = v.safeParse(schema, parseJson(text, path));
  if (!parsed.success) throw toError(parsed.issues[0], path);
  const file = parsed.output;
  if (file.classes[OTHERS] === undefined) {
    throw new ConfigError(`${path}: 'classes' has no key '${OTHERS}' (all classes that are not named)`, {
      hint: `add a default threshold, such as "${OTHERS}": 0.25`,
    });
  }
  checkHysteresis(file, path);
  if (model !== undefined) expectMadeFor(file, model.modelSha256, path);
  return file;
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ConfigError(`${path} is not JSON: ${(cause as Error).message}`, {
      hint: 'write the file again with `edge-detect val` or `edge-detect compare`',
      cause,
    });
  }
}

function toError(issue: v.BaseIssue<unknown>, path: string): ConfigError {
  const key = v.getDotPath(issue) ?? '';
  if (issue.type === 'strict_object' && issue.expected === 'never') {
    return new ConfigError(`${path}: '${key}' is not a key of this format`, {
      hint: `remove it, or check its spelling; top-level keys are ${Object.keys(schema.entries).join(', ')}`,
    });
  }
  const hint = `correct '${key}' in ${path}`;
  if (issue.received === 'undefined') {
    return new ConfigError(`${path}: key '${key}' is missing`, { hint: `add '${key}' to ${path}` });
  }
  if (key === '') return new ConfigError(`${path}: found ${issue.received}, expected an object`, { hint });
  // Our own texts say what is expected; valibot's begin with "Invalid".
  const expected = issue.message.startsWith('Invalid') ? issue.expected : issue.message;
  return new ConfigError(`${path}: '${key}' is ${JSON.stringify(issue.input)}, expected ${expected}`, {
    hint,
  });
}

function checkHysteresis({ hysteresis, conditions, cameras }: ThresholdsFile, path: string): void {
  if (hysteresis === undefined) return;
  const { states, boundaries } = hysteresis;
  if (boundaries.length !== states.length - 1) {
    throw new ConfigError(
      `${path}: 'hysteresis.boundaries' has ${boundaries.length} numbers, expected ${states.length - 1} for ${states.length} states`,
      { hint: 'give one boundary between each two neighbouring states' },
    );
  }
  if (boundaries.some((boundary, index) => index > 0 && !(boundary > boundaries[index - 1]!))) {
    throw new ConfigError(`${path}: 'hysteresis.boundaries' must rise, found ${boundaries.join(', ')}`, {
      hint: 'order states and boundaries from dark to bright',
    });
  }
  const named = [conditions, ...Object.values(cameras).map((camera) => camera.conditions)];
  const stray = named.flatMap((group) => Object.keys(group)).find((name) => !states.includes(name));
  if (stray === undefined) return;
  throw new ConfigError(`${path}: condition '${stray}' is not one of 'hysteresis.states'`, {
    hint: `name it as one of ${states.join(', ')}, or add it to the states`,
  });
}

function expectMadeFor(file: ThresholdsFile, modelSha256: string, path: string): void {
  if (file.modelSha256 === modelSha256.toLowerCase()) return;
  throw new ConfigError(
    `${path} was made for the model with SHA-256 ${file.modelSha256}, but this model has ${modelSha256.toLowerCase()}`,
    { hint: 'thresholds do not carry over between models: write the file again with `edge-detect val`' },
  );
}

export interface ThresholdsChoice {
  readonly classNames: readonly string[];
  /** A key of `conditions`. */
  readonly condition?: string;
  /** A camera without an entry of its own takes the general thresholds. */
  readonly camera?: string;
}

/**
 * The thresholds for one camera in one condition. The narrower table wins as a whole, its `*` included:
 * classes < conditions[condition] < cameras[camera].classes < cameras[camera].conditions[condition].
 * @throws ConfigError for a class name or a condition that is not known
 */
export function toThresholdPolicy(file: ThresholdsFile, choice: ThresholdsChoice): ThresholdPolicy {
  const { classNames, condition, camera: cameraName } = choice;
  const camera = cameraName === undefined ? undefined : own(file.cameras, cameraName);
  if (condition !== undefined) expectCondition(file, condition);
  const tables = [
    file.classes,
    condition === undefined ? undefined : own(file.conditions, condition),
    camera?.classes,
    condition === undefined || camera === undefined ? undefined : own(camera.conditions, condition),
  ];
  let base = 0;
  const perClass = new Map<number, number>();
  for (const table of tables) {
    const others = table?.[OTHERS];
    if (others !== undefined) {
      base = others;
      perClass.clear();
    }
    for (const [name, threshold] of Object.entries(table ?? {})) {
      if (name !== OTHERS) perClass.set(classIdOf(name, classNames), threshold);
    }
  }
  if (file.conformal !== undefined) {
    const slice = condition === undefined ? {} : { slice: condition };
    const classes = perClass.size === 0 ? {} : { perClass };
    return { kind: 'conformal', base, ...classes, guarantee: { ...file.conformal, ...slice } };
  }
  return perClass.size === 0 ? { kind: 'fixed', base } : { kind: 'per-class', base, perClass };
}

/** Thresholds per light state and the ladder between them; undefined where the file has no hysteresis. */
export function toLightPolicy(
  file: ThresholdsFile,
  choice: Omit<ThresholdsChoice, 'condition'>,
): { readonly policy: LightPolicy; readonly ladder: LightLadder } | undefined {
  if (file.hysteresis === undefined) return undefined;
  const states = file.hysteresis.states.map(
    (condition) => [condition, toThresholdPolicy(file, { ...choice, condition })] as const,
  );
  const otherwise = toThresholdPolicy(file, choice);
  return { policy: { kind: 'light', states: new Map(states), otherwise }, ladder: file.hysteresis };
}

export function toSuppression({ suppression }: ThresholdsFile): SuppressionSetting {
  return settingOf(suppression);
}

/** A record's own entry: 'constructor' is a possible name of a camera. */
function own<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function classIdOf(name: string, classNames: readonly string[]): number {
  const classId = classNames.indexOf(name);
  if (classId >= 0) return classId;
  throw new ConfigError(`the thresholds name class '${name}', which the model does not have`, {
    hint: `its classes are ${classNames.join(', ')}`,
  });
}

function expectCondition({ conditions, cameras, hysteresis }: ThresholdsFile, condition: string): void {
  const known = new Set([
    ...Object.keys(conditions),
    ...Object.values(cameras).flatMap((camera) => Object.keys(camera.conditions)),
    ...(hysteresis?.states ?? []),
  ]);
  if (known.has(condition)) return;
  throw new ConfigError(`the thresholds file has no condition '${condition}'`, {
    hint: known.size > 0 ? `its conditions are ${[...known].join(', ')}` : 'it has no conditions at all',
  });
}
