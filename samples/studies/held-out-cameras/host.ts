// The host as it is, with its own classes: what a head of ours has to be better than.
import { evaluatePredictions, predictDataset } from 'edge-detect/evaluate';
import type { HeldOut } from '../common/hold-out.ts';
import type { Figures } from '../common/seeded-tables.ts';
import type { StudyData } from '../common/study-data.ts';
import type { ArmOptions } from '../common/train-arm.ts';

/** Classes of COCO and what the traffic set calls them; COCO has no van. */
const COCO_NAMES: Readonly<Record<string, string>> = {
  car: 'car',
  truck: 'lorry_truck',
  motorcycle: 'bike',
  bus: 'bus',
};

/** Names of the host → those of the data; undefined where they are the same, as in the sample world. */
export type ClassMap = Readonly<Record<string, string>> | undefined;

export function classMapOf({ kind }: Pick<StudyData, 'kind'>): ClassMap {
  return kind === 'real' ? COCO_NAMES : undefined;
}

export interface HostRequest extends Pick<ArmOptions, 'model' | 'classes'> {
  readonly classMap: ClassMap;
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
