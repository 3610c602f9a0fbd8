// The host as it is, with its own classes: what a head of ours has to be better than.
import { evaluatePredictions, predictDataset } from 'edge-detect/evaluate';
import type { ClassMap } from '../common/class-map.ts';
import type { HeldOut } from '../common/hold-out.ts';
import type { Figures } from '../common/seeded-tables.ts';
import type { ArmOptions } from '../common/train-arm.ts';

export interface HostRequest extends Pick<ArmOptions, 'model' | 'classes'> {
  /** undefined: host and data use the same names. */
  readonly classMap: ClassMap | undefined;
}

/** AP50: with one class per class and across classes suppressed, with several of those that both can name. */
export async function hostFigures(
  { classNames, pictures }: HeldOut,
  { model, classes, classMap }: HostRequest,
): Promise<Figures> {
  const known = classMap && { classes: Object.keys(classMap) };
  const ap50Of = async (agnostic: boolean) => {
    const predictions = await predictDataset(model, pictures, { ...known, agnostic });
    const options = {
      resamples: 0,
      ...(classes === 'one' ? { singleClass: true } : classMap && { classMap }),
    };
    return evaluatePredictions({ classNames, pictures }, predictions, options).averagePrecision;
  };
  const { ap50, perClass } = await ap50Of(false);
  if (classes === 'one') return { host: ap50, 'host, agnostic': (await ap50Of(true)).ap50 };
  return { host: ap50, 'host, car': perClass[classNames.indexOf('car')]?.ap50 ?? null };
}
