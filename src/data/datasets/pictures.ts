// Finds the pictures of a folder whatever the case of their endings, and says which ones cannot be read.
import { extname } from 'node:path';
import { isPicturePath, isUnreadablePicturePath, openPicture, pictureExtensions } from '#data/images';
import { listFiles } from './files.ts';
import type { DatasetFault, LabelledPicture } from './types.ts';

/** Pictures below a folder, sorted by path. Formats that are known but cannot be read are counted and named. */
export async function listPictures(folder: string, faults: DatasetFault[]): Promise<string[]> {
  return picturesAmong(await listFiles(folder, faults), faults);
}

export function picturesAmong(files: readonly string[], faults: DatasetFault[]): string[] {
  const unreadable = new Map<string, string[]>();
  for (const file of files) {
    if (!isUnreadablePicturePath(file)) continue;
    const extension = extname(file).toLowerCase();
    unreadable.set(extension, [...(unreadable.get(extension) ?? []), file]);
  }
  for (const [extension, found] of unreadable) {
    faults.push({
      severity: 'warning',
      kind: 'unreadable-format',
      file: found[0] ?? '',
      message: `${found.length} ${extension} ${found.length === 1 ? 'picture' : 'pictures'} cannot be read here`,
      hint: `left out; convert to one of ${pictureExtensions()}`,
    });
  }
  return files.filter(isPicturePath);
}

/**
 * The size that labels in px need where their file does not state one, from the header of the picture.
 * @returns undefined, with a fault, where the picture cannot be opened
 */
export async function sizeFromPicture(
  path: string,
  labelFile: string,
  faults: DatasetFault[],
): Promise<LabelledPicture['size']> {
  try {
    const { size } = await openPicture(path);
    faults.push({
      severity: 'notice',
      kind: 'size-missing',
      file: labelFile,
      message: `no size of ${path} is stated`,
      hint: `${size.width}x${size.height} was taken from the picture itself`,
    });
    return size;
  } catch (error) {
    faults.push({
      severity: 'error',
      kind: 'damaged-picture',
      file: path,
      message: `no size is stated in ${labelFile}, and the picture cannot be opened: ${error instanceof Error ? error.message : error}`,
      hint: 'its objects were left out; replace the picture or state its width and height',
    });
    return undefined;
  }
}
