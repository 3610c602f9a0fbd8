// Which pictures are held out together: those of one camera are too alike for one to judge what another has fitted.
import { DataError, foldsOfGroups } from '#core';
import { cameraOfName } from '../camera-of-name.ts';

/** `camera`: the file name up to its first `-` or `_`; `none`: blocks of pictures that lie next to each other by name. */
export type PictureGrouping = 'camera' | 'none';

export interface PictureFolds {
  /** Int32[N], fold of each picture, from 0. */
  readonly folds: Int32Array;
  /** Int32[N], from 0: the camera of each picture, or the picture itself. */
  readonly groups: Int32Array;
  readonly groupedBy: 'camera' | 'picture';
  readonly foldCount: number;
  readonly groupCount: number;
  /** Names of the cameras. */
  readonly cameras: readonly string[];
  /** What judged what, in words that follow "judged on". */
  readonly description: string;
}

export interface PictureFoldsOptions {
  /** Default: by camera where the file names tell of several, else none. */
  readonly grouping?: PictureGrouping;
  /** Default: one per camera; 5 without cameras. */
  readonly foldCount?: number;
}

const BLOCKS = 5;

/** More names than these would hide the sentence that they stand in. */
const MOST_NAMED = 12;

/**
 * @param paths of the pictures
 * @throws DataError where cameras are asked for and the names tell of none, or there are too few pictures for the folds
 */
export function pictureFolds(
  paths: readonly string[],
  { grouping, foldCount }: PictureFoldsOptions = {},
): PictureFolds {
  const cameras = grouping === 'none' ? undefined : camerasOf(paths);
  if (cameras !== undefined) return byCamera(cameras, foldCount);
  if (grouping === 'camera') {
    throw new DataError(
      'the names of the pictures tell of no several cameras (CAMERA-... or CAMERA_..., each with pictures)',
      {
        hint: 'write groups=none to hold out blocks of pictures instead',
      },
    );
  }
  return byBlocks(paths, foldCount ?? BLOCKS);
}

function byCamera(cameras: readonly string[], foldCount: number | undefined): PictureFolds {
  const names = [...new Set(cameras)].sort();
  const folds = foldsOfGroups(cameras, foldCount);
  const count = foldCount ?? names.length;
  const listed = names.length <= MOST_NAMED ? ` (${names.join(', ')})` : '';
  return {
    folds,
    groups: Int32Array.from(cameras, (camera) => names.indexOf(camera)),
    groupedBy: 'camera',
    foldCount: count,
    groupCount: names.length,
    cameras: names,
    description:
      count === names.length
        ? `each of ${names.length} cameras${listed} by maps that were fitted on the other${names.length > 2 ? ` ${names.length - 1}` : ''}`
        : `${names.length} cameras${listed} in ${count} parts, each by maps that were fitted on the others`,
  };
}

/** Blocks, not a draw: pictures that follow each other may be of one scene. */
function byBlocks(paths: readonly string[], foldCount: number): PictureFolds {
  if (paths.length < foldCount) {
    throw new DataError(`${paths.length} pictures cannot be held out in ${foldCount} parts`, {
      hint: 'label more pictures',
    });
  }
  const byName = [...paths.entries()].sort(([, a], [, b]) => (a < b ? -1 : a > b ? 1 : 0));
  const folds = new Int32Array(paths.length);
  for (const [rank, [picture]] of byName.entries()) {
    folds[picture] = Math.floor((rank * foldCount) / paths.length);
  }
  return {
    folds,
    groups: Int32Array.from(paths.keys()),
    groupedBy: 'picture',
    foldCount,
    groupCount: paths.length,
    cameras: [],
    description: `each of ${foldCount} blocks of pictures by maps that were fitted on the others; pictures of one scene may lie in two blocks`,
  };
}

/** undefined where the names tell of no several cameras: a prefix that only one picture has names no camera. */
function camerasOf(paths: readonly string[]): readonly string[] | undefined {
  const cameras = paths.map(cameraOfName);
  if (cameras.some((camera) => camera === undefined)) return undefined;
  const count = new Set(cameras).size;
  return count >= 2 && 2 * count <= paths.length ? (cameras as string[]) : undefined;
}
