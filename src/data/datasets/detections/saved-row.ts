// One detection as a file of another tool writes it, before picture and class are looked up.
import type { Corners } from '../boxes.ts';
import type { DatasetFault } from '../types.ts';

/** Where a row stands, for messages. */
export interface RowPlace {
  readonly file: string;
  /** 1-based, where the format has lines. */
  readonly line?: number;
  /** How the user finds it where the line does not say: `detection 12`. */
  readonly name: string;
}

export interface SavedRow {
  readonly place: RowPlace;
  /** As the file names it: `name` is a path or file name with or without ending, `id` that of the data set. */
  readonly picture: { readonly name: string } | { readonly id: string | number };
  /** A name, or a number whose meaning another list says. */
  readonly classKey: string | number;
  readonly score: number;
  readonly box: Corners;
  readonly unit: 'px' | 'share';
  /** What our own files say beyond: variance of the score, its epistemic part, variance of the edges in px². */
  readonly scoreVariance?: number;
  readonly scoreVarianceEpistemic?: number;
  readonly boxVariance?: Corners;
}

/** What a file of detections holds. */
export interface SavedFile {
  readonly format: 'text' | 'coco-results' | 'coco';
  readonly rows: readonly SavedRow[];
  /** Pictures that the file speaks of, also those in which nothing was found. */
  readonly pictures: readonly SavedPicture[];
  /** By class key, where the file itself says what its numbers mean. */
  readonly names?: ReadonlyMap<string | number, string>;
}

export interface SavedPicture {
  readonly file: string;
  readonly name: string;
  /** px, where the file states it. */
  readonly size?: { readonly width: number; readonly height: number };
}

export function rowFault(
  { file, line, name }: RowPlace,
  kind: string,
  message: string,
  hint: string,
): DatasetFault {
  const at = { file, ...(line === undefined ? {} : { line }) };
  return { severity: 'error', kind, ...at, message: `${name}: ${message}`, hint };
}

/** What is wrong with a score or a box whatever the file was; undefined where nothing is. */
export function faultOfRow({ place, score, box, unit }: SavedRow): DatasetFault | undefined {
  if (!(score >= 0 && score <= 1)) {
    const hint =
      'scores are chances: divide per cents by 100; does the score stand where predictions_score= says?';
    return rowFault(place, 'score-range', `score ${score}, expected 0 to 1`, hint);
  }
  if (!(box.x2 >= box.x1 && box.y2 >= box.y1)) {
    const found = [box.x1, box.y1, box.x2, box.y2].join(' ');
    const hint = 'does predictions_box= say how the box is written?';
    return rowFault(place, 'inverted-box', `a box from right to left or bottom to top: ${found}`, hint);
  }
  if (unit === 'share' && Math.max(box.x2, box.y2) > MOST_SHARE) {
    const found = [box.x1, box.y1, box.x2, box.y2].join(' ');
    const hint = 'pixel units? predictions_box= without the n at its end';
    return rowFault(place, 'pixel-units', `corners ${found} are no shares of a picture`, hint);
  }
  return undefined;
}

/** No detector reaches a whole picture beyond the edge. */
const MOST_SHARE = 2;
