// The condition of every picture that a calibration has, by a column of a table or by the light that is measured.
import type { SliceRule } from '../compare/slice-rules.ts';
import { slicePictures } from '../compare/slice-rules.ts';
import type { ModelValidation } from '../val/validate-model.ts';
import type { Conditions } from './conformal-study.ts';

/** A rule that parts pictures into conditions by what they are, not by another set. */
export type ConditionRule = Extract<SliceRule, { readonly kind: 'column' | 'light' }>;

/** @throws DataError where the table cannot be read, or fewer than two conditions come out */
export async function conditionsOf(
  { dataset, pictures }: Pick<ModelValidation, 'dataset' | 'pictures'>,
  rule: ConditionRule,
  signal?: AbortSignal,
): Promise<Conditions> {
  const set = { source: dataset.source, pictures, classNames: dataset.classNames };
  const { slices, remarks } = await slicePictures(set, rule, signal ? { signal } : {});
  const byPath = new Map(
    slices.flatMap(({ name, pictures: own }) => own.map(({ path }) => [path, name] as const)),
  );
  return {
    ofPicture: pictures.map(({ path }) => byPath.get(path)),
    names: slices.map(({ name }) => name),
    slicedBy: rule.kind,
    remarks,
  };
}
