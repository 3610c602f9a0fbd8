// The annotations of a COCO file as objects of its pictures, with everything said that was left out or changed.
import { type Corners, placeBox, short } from './boxes.ts';
import type { CocoAnnotation, CocoFile } from './coco-file.ts';
import type { DatasetFault, LabelledObject } from './types.ts';

interface PictureSize {
  readonly width: number;
  readonly height: number;
}

/**
 * @param sizes px by image id, of the images that can be used
 * @returns objects by image id
 */
export function collectObjects(
  file: CocoFile,
  classKeys: readonly (number | string)[],
  sizes: ReadonlyMap<unknown, PictureSize>,
  faults: DatasetFault[],
): ReadonlyMap<unknown, readonly LabelledObject[]> {
  const classOf = new Map<unknown, number>(classKeys.map((key, index) => [key, index]));
  const imageIds = new Set<unknown>(file.images.map(({ id }) => id));
  const objects = new Map<unknown, LabelledObject[]>();
  const seen = new Map<string, CocoAnnotation>();
  const strangers: CocoAnnotation[] = [];
  for (const annotation of file.annotations) {
    const size = sizes.get(annotation.imageId);
    const classId = classOf.get(annotation.categoryId);
    if (classId === undefined) strangers.push(annotation);
    if (!imageIds.has(annotation.imageId)) faults.push(unknownImage(file.path, annotation));
    if (size === undefined || classId === undefined) continue; // the picture itself has been reported
    if (isRepeated(file.path, annotation, seen, faults)) continue;
    const box = readBox(annotation, size, file.path, faults);
    if (box === undefined) continue;
    const list = objects.get(annotation.imageId) ?? [];
    objects.set(annotation.imageId, list);
    const area = readArea(annotation, file.path, faults);
    list.push({ classId, ...box, crowd: annotation.crowd, difficult: false, ...area });
  }
  reportStrangers(file, strangers, faults);
  reportAllCrowd(file, faults);
  return objects;
}

function unknownImage(file: string, { name, imageId }: CocoAnnotation): DatasetFault {
  return {
    severity: 'error',
    kind: 'unknown-image',
    file,
    message: `${name}: no image has the id ${imageId}`,
    hint: 'left out; the annotations and images of two files may have been mixed',
  };
}

function isRepeated(
  file: string,
  annotation: CocoAnnotation,
  seen: Map<string, CocoAnnotation>,
  faults: DatasetFault[],
): boolean {
  const { name, imageId, categoryId, bbox, segmentation, crowd } = annotation;
  const key = JSON.stringify([imageId, categoryId, bbox, crowd]);
  const before = seen.get(key);
  if (before === undefined) seen.set(key, annotation);
  // Outlines are compared only where the boxes agree: of a large set they are hundreds of megabytes.
  if (before === undefined || JSON.stringify(before.segmentation) !== JSON.stringify(segmentation))
    return false;
  faults.push({
    severity: 'warning',
    kind: 'repeated-row',
    file,
    message: `${name}: the same box and class as ${before.name}`,
    hint: 'dropped; remove it',
  });
  return true;
}

function readBox(
  { name, bbox, segmentation }: CocoAnnotation,
  { width, height }: PictureSize,
  file: string,
  faults: DatasetFault[],
): Corners | undefined {
  const given = numbersOf(bbox, 4);
  const points = bbox === undefined || bbox === null ? polygonPoints(segmentation) : undefined;
  if (given === undefined && points === undefined) {
    faults.push({
      severity: 'error',
      kind: 'broken-box',
      file,
      message: `${name}: bbox is ${JSON.stringify(bbox) ?? 'absent'}, expected four numbers x, y, width, height in px`,
      hint: 'left out; correct or remove it',
    });
    return undefined;
  }
  if (points !== undefined) {
    const message = `${name}: no bbox, a polygon of ${points.length} points`;
    faults.push({ severity: 'notice', kind: 'polygon', file, message, hint: 'turned into its bounding box' });
  }
  const [x1 = 0, y1 = 0, boxWidth = 0, boxHeight = 0] = given ?? boundsOf(points ?? []);
  const corners = {
    x1: x1 / width,
    y1: y1 / height,
    x2: (x1 + boxWidth) / width,
    y2: (y1 + boxHeight) / height,
  };
  const origin = { file, name: `${name}, bbox ${[x1, y1, boxWidth, boxHeight].map(short).join(' ')}` };
  return placeBox(corners, origin, faults, 1 / Math.min(width, height));
}

/** A stated area counts in evaluation; without one it is that of the box. */
function readArea(
  { name, area }: CocoAnnotation,
  file: string,
  faults: DatasetFault[],
): { readonly areaPx?: number } {
  if (typeof area === 'number' && area > 0) return { areaPx: area };
  if (area === undefined || area === null) return {};
  faults.push({
    severity: 'notice',
    kind: 'area-zero',
    file,
    message: `${name}: area is ${JSON.stringify(area)} although its box has a size`,
    hint: 'the area of the box is used',
  });
  return {};
}

function reportStrangers(file: CocoFile, strangers: readonly CocoAnnotation[], faults: DatasetFault[]): void {
  if (strangers.length === 0) return;
  const counts = new Map<unknown, number>();
  for (const { categoryId } of strangers) counts.set(categoryId, (counts.get(categoryId) ?? 0) + 1);
  faults.push({
    severity: 'error',
    kind: 'class-out-of-range',
    file: file.path,
    message:
      `${strangers.length} of ${file.annotations.length} annotations: ` +
      `${[...counts].map(([id, count]) => `category ${id} in ${count}`).join(', ')}; first: ${strangers[0]?.name}`,
    hint: 'left out; add the categories, or the class names that were asked for',
  });
}

function reportAllCrowd({ path, annotations }: CocoFile, faults: DatasetFault[]): void {
  if (annotations.length === 0 || !annotations.every(({ crowd }) => crowd)) return;
  faults.push({
    severity: 'error',
    kind: 'all-crowd',
    file: path,
    message: `every one of the ${annotations.length} annotations has iscrowd 1`,
    hint: 'crowd regions are never trained on; set iscrowd to 0 where a tool has marked all by mistake',
  });
}

function numbersOf(value: unknown, count: number): readonly number[] | undefined {
  return Array.isArray(value) && value.length === count && value.every(Number.isFinite) ? value : undefined;
}

/** Points of all rings of a polygon; undefined for run lengths and broken rings. */
function polygonPoints(segmentation: unknown): readonly (readonly [number, number])[] | undefined {
  if (!Array.isArray(segmentation) || segmentation.length === 0) return undefined;
  const points: [number, number][] = [];
  for (const ring of segmentation) {
    if (!Array.isArray(ring) || ring.length < 6 || ring.length % 2 === 1 || !ring.every(Number.isFinite)) {
      return undefined;
    }
    for (let index = 0; index < ring.length; index += 2) points.push([ring[index], ring[index + 1]]);
  }
  return points;
}

/** x, y, width, height */
function boundsOf(points: readonly (readonly [number, number])[]): readonly number[] {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of points) {
    left = Math.min(left, x);
    top = Math.min(top, y);
    right = Math.max(right, x);
    bottom = Math.max(bottom, y);
  }
  return [left, top, right - left, bottom - top];
}
