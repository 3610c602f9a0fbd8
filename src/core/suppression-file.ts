// Suppression as files hold it: the policy with the IoU it runs at, in thresholds files and in calibrators.
import * as v from 'valibot';
import type { FittedSuppression } from './calibration-stored.ts';
import { ModelError } from './errors.ts';
import type { SuppressionPolicy } from './suppression.ts';

const UNIT = 'a number from 0 to 1';
const POSITIVE = 'a number of 0 or more';
const unit = v.pipe(v.number(UNIT), v.minValue(0, UNIT), v.maxValue(1, UNIT));
const positive = v.pipe(v.number(POSITIVE), v.finite(POSITIVE), v.minValue(0, POSITIVE));

const common = { iou: unit, agnostic: v.optional(v.boolean('true or false'), false) };

export const suppressionSchema = v.variant(
  'kind',
  [
    v.strictObject({ kind: v.literal('hard'), ...common }),
    v.strictObject({
      kind: v.literal('soft'),
      ...common,
      decay: v.variant('shape', [
        v.strictObject({ shape: v.literal('linear'), iou: unit }),
        v.strictObject({ shape: v.literal('gaussian'), sigma: positive }),
      ]),
      minScore: unit,
    }),
    v.strictObject({ kind: v.literal('uncertainty'), ...common, lambda: positive }),
    v.strictObject({ kind: v.literal('box-uncertainty'), ...common, lambda: positive }),
    v.strictObject({ kind: v.literal('vote'), ...common, sigma: positive, minIou: unit }),
    v.strictObject({
      kind: v.literal('wbf'),
      ...common,
      score: v.picklist(['mean', 'highest'], "'mean' or 'highest'"),
    }),
  ],
  "an object with kind 'hard', 'soft', 'uncertainty', 'box-uncertainty', 'vote' or 'wbf'",
);

/** A policy and how it is run, as `createPostprocessor` takes them. */
export interface SuppressionSetting {
  readonly suppression: SuppressionPolicy;
  /** IoU in [0, 1]; strictly more suppresses. */
  readonly iou: number;
  readonly agnostic: boolean;
}

export function settingOf({
  iou,
  agnostic,
  ...policy
}: v.InferOutput<typeof suppressionSchema>): SuppressionSetting {
  return { suppression: policy, iou, agnostic };
}

/** As a calibrator stores it. */
export function toFittedSuppression({ suppression, iou, agnostic }: SuppressionSetting): FittedSuppression {
  return { ...suppression, iou, agnostic };
}

/** @throws ModelError naming the source where this version does not know the policy */
export function parseFittedSuppression(fitted: FittedSuppression, source: string): SuppressionSetting {
  const parsed = v.safeParse(suppressionSchema, fitted);
  if (parsed.success) return settingOf(parsed.output);
  const [issue] = parsed.issues;
  const key = ['suppression', v.getDotPath(issue)].filter(Boolean).join('.');
  throw new ModelError(
    `calibrator of ${source}: '${key}' is ${JSON.stringify(issue.input)}, expected ${issue.message}`,
    { hint: 'write it again with `edge-detect calibrate`, or run with calibrator=off' },
  );
}
