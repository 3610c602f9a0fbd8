// What the studies of thresholds and suppressions are told beside their data: which classes of host and data are the
// same, where boxes are cut, and in which light every picture was taken.
import { basename } from 'node:path';
import { ConfigError, DataError } from 'edge-detect/core';
import type { LabelledPicture } from 'edge-detect/data';
import { type ClassMap, readClassMap } from '../common/class-map.ts';
import { LIGHT_COLUMN, lightWords } from '../common/picture-lights.ts';
import { loadAllPictures, type StudyData, type WantedData } from '../common/study-data.ts';

/** One without a variance, one with a variance of box sides, both with the classes of COCO. */
export const POLICY_DATA: readonly WantedData[] = [
  { name: 'lta_daynight_2021', host: 'yolox_nano.onnx' },
  { name: 'lta_daynight_2021', host: 'yolov8n_640_int8dyn.onnx' },
];

/** Options of `readPolicySetting`, and those that `readChoiceSetting` has beside them. */
export const POLICY_OPTIONS = { map: '', iou: '0.7', threads: '1' };
export const CHOICE_OPTIONS = { ...POLICY_OPTIONS, conf: '0.25', alpha: '0.2' };

export interface PolicySetting {
  /** Absent: names are the same. */
  readonly classMap?: ClassMap;
  readonly iou: number;
  readonly threads: number;
}

export interface ChoiceSetting extends PolicySetting {
  /** Score from which plain suppression keeps boxes: their number is what all others may keep. */
  readonly conf: number;
  /** Share of objects that conformal thresholds may miss. */
  readonly alpha: number;
}

/** @throws ConfigError naming the word, what was found and what is allowed */
export function readPolicySetting(
  values: ReadonlyMap<string, string>,
  set: Pick<StudyData, 'kind'>,
): PolicySetting {
  const classMap = readClassMap(values, set);
  return {
    iou: numberOf(values, 'iou', 1),
    threads: Math.max(1, Math.round(numberOf(values, 'threads', 256))),
    ...(classMap && { classMap }),
  };
}

/** @throws ConfigError as `readPolicySetting` */
export function readChoiceSetting(
  values: ReadonlyMap<string, string>,
  set: Pick<StudyData, 'kind'>,
): ChoiceSetting {
  const [conf, alpha] = [numberOf(values, 'conf', 1), numberOf(values, 'alpha', 1)];
  return { ...readPolicySetting(values, set), conf, alpha };
}

function numberOf(values: ReadonlyMap<string, string>, key: string, most: number): number {
  const value = Number(values.get(key));
  if (value > 0 && value <= most) return value;
  throw new ConfigError(`${key}=${values.get(key)}: expected a number above 0, at most ${most}`, {
    hint: `leave ${key}= away`,
  });
}

export interface SlicedData {
  readonly classNames: readonly string[];
  readonly pictures: readonly LabelledPicture[];
  /** Light of every picture; `all` where nothing tells the light of any. */
  readonly slices: readonly string[];
}

/** @throws DataError where the data or the table cannot be read, or the light of some pictures alone is known */
export async function loadSliced(data: string): Promise<SlicedData> {
  const { classNames, pictures } = await loadAllPictures(data);
  const wordOf = await lightWords(data);
  const words = pictures.map(wordOf);
  if (words.every((word) => word === undefined))
    return { classNames, pictures, slices: pictures.map(() => 'all') };
  const slices = words.map((word, place) => {
    if (word !== undefined) return word;
    throw new DataError(`${data}: nothing tells the light of ${basename(pictures[place]!.path)}`, {
      hint: `give it a row with a ${LIGHT_COLUMN} in frames.csv, or put the word between dashes into its name`,
    });
  });
  return { classNames, pictures, slices };
}
