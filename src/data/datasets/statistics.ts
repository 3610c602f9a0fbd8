// What a data set holds, counted: pictures, background and objects by class, for each split.
import { type Dataset, type LabelledPicture, SPLIT_NAMES, type SplitName } from './types.ts';

export interface SplitStatistics {
  readonly name: SplitName;
  readonly pictures: number;
  /** Pictures with an object at least. */
  readonly labelled: number;
  /** Pictures without objects that have labels: an empty file, or no annotation. */
  readonly backgroundEmpty: number;
  /** Pictures without a label file. */
  readonly backgroundMissing: number;
  readonly objects: number;
  readonly crowd: number;
  readonly difficult: number;
  /** Objects by class id, crowd and difficult ones too. */
  readonly perClass: readonly number[];
}

/** In the order train, val, test; absent splits are left out. */
export function describeSplits(dataset: Dataset): readonly SplitStatistics[] {
  return SPLIT_NAMES.flatMap((name) => {
    const pictures = dataset.splits[name];
    return pictures === undefined ? [] : [describeSplit(name, pictures, dataset.classNames.length)];
  });
}

function describeSplit(
  name: SplitName,
  pictures: readonly LabelledPicture[],
  classCount: number,
): SplitStatistics {
  const perClass = new Array<number>(classCount).fill(0);
  let [labelled, backgroundMissing, crowd, difficult, objects] = [0, 0, 0, 0, 0];
  for (const picture of pictures) {
    if (picture.objects.length > 0) labelled++;
    else if (picture.labelPath === undefined) backgroundMissing++;
    objects += picture.objects.length;
    for (const object of picture.objects) {
      perClass[object.classId] = (perClass[object.classId] ?? 0) + 1;
      if (object.crowd) crowd++;
      if (object.difficult) difficult++;
    }
  }
  const backgroundEmpty = pictures.length - labelled - backgroundMissing;
  return {
    name,
    pictures: pictures.length,
    labelled,
    backgroundEmpty,
    backgroundMissing,
    objects,
    crowd,
    difficult,
    perClass,
  };
}
