// A labelled data set after reading, whatever its format was.

/** One labelled object. */
export interface LabelledObject {
  /** Index into `Dataset.classNames`. */
  readonly classId: number;
  /** Corners relative to the picture as the user sees it (after the EXIF turn): [0, 1]. */
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
  /** A region of many objects (COCO iscrowd, OpenImages IsGroupOf): not trained on, ignored in evaluation. */
  readonly crowd: boolean;
  /** VOC's and labelme's `difficult`: not trained on by default, ignored in evaluation. */
  readonly difficult: boolean;
  /** px² of the object where the file states one (COCO `area`). */
  readonly areaPx?: number;
}

export interface LabelledPicture {
  /** Absolute path of the picture; with `labelsOnly` it may not be there. */
  readonly path: string;
  /** Id that the format gave it: COCO image id, else the file name without folder and ending. */
  readonly id: string | number;
  readonly objects: readonly LabelledObject[];
  /** Where the labels came from; absent where there is no label file (background by absence). */
  readonly labelPath?: string;
  /** Frame size in px where the format states it (all but YOLO and OpenImages). */
  readonly size?: { readonly width: number; readonly height: number };
}

export type FaultSeverity = 'error' | 'warning' | 'notice';

/** One thing wrong with a data set, as a person would want to fix it. */
export interface DatasetFault {
  readonly severity: FaultSeverity;
  /** Stable word for the kind: `class-out-of-range`, `polygon`, `outside-picture`, … */
  readonly kind: string;
  readonly file: string;
  /** 1-based line where the format has lines. */
  readonly line?: number;
  /** What was found and what was expected. */
  readonly message: string;
  /** What to do, or what was done (dropped, clipped, turned into a box). */
  readonly hint: string;
}

export type SplitName = 'train' | 'val' | 'test';

export type DatasetFormat = 'yolo' | 'coco' | 'voc' | 'openimages' | 'cvat' | 'labelme';

/** Every picture of a split, background too; a split that the set does not have is absent. */
export type DatasetSplits = Readonly<Partial<Record<SplitName, readonly LabelledPicture[]>>>;

export interface Dataset {
  readonly format: DatasetFormat;
  /** The file or folder that was named. */
  readonly source: string;
  readonly classNames: readonly string[];
  /** Ids of the format, parallel to `classNames` (COCO category ids). */
  readonly classKeys: readonly (number | string)[];
  readonly splits: DatasetSplits;
  readonly faults: readonly DatasetFault[];
}

/** How classes are renamed: all to one, or by name; a class that the map lacks is dropped. */
export type ClassMap = 'single' | Readonly<Record<string, string>>;

/** How a data set is read. */
export interface LoadDatasetOptions {
  /** Decides where a folder could be read in two formats. */
  readonly format?: DatasetFormat;
  /** YOLO: names by class number, instead of those of the files. Others: the order of the classes. */
  readonly classNames?: readonly string[];
  /** Text files with one picture (path, file name or id) per line that say anew which picture belongs where. */
  readonly splitLists?: Readonly<Partial<Record<SplitName, string>>>;
  /** Where the pictures lie, when not beside the labels; not for YOLO. */
  readonly picturesFolder?: string;
  /**
   * COCO, CVAT, labelme: pictures that are not there are kept where the file states their size. For what opens none of
   * them, such as judging saved detections.
   */
  readonly labelsOnly?: boolean;
  readonly mapClasses?: ClassMap;
  /** The one name under `mapClasses: 'single'`; `object` unless given. */
  readonly singleName?: string;
}

export const SPLIT_NAMES: readonly SplitName[] = ['train', 'val', 'test'];
