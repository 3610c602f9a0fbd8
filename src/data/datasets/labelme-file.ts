// One JSON file as labelme writes it: the shapes of one picture.
import { DataError } from '#core';
import { readText } from './files.ts';
import type { NamedObject } from './named-objects.ts';
import { boundsOfEllipse, boundsOfPoints, type ShapeBounds } from './shape-bounds.ts';
import type { DatasetFault } from './types.ts';

export interface LabelmeFile {
  readonly path: string;
  /** As written: relative to the file, with the slashes of the machine that made it. */
  readonly imagePath: string;
  readonly size?: { readonly width: number; readonly height: number };
  readonly objects: readonly NamedObject[];
}

type Row = Readonly<Record<string, unknown>>;
type Point = readonly [number, number];

/** @returns undefined, with a fault, where the file cannot be read as one of labelme */
export async function readLabelmeFile(
  path: string,
  faults: DatasetFault[],
): Promise<LabelmeFile | undefined> {
  try {
    const { imagePath, imageWidth, imageHeight, shapes } = parse(await readText(path), path);
    const [width, height] = [Number(imageWidth), Number(imageHeight)];
    const read = shapes.flatMap((shape, index) => readShape(shape, index, path, faults));
    return {
      path,
      imagePath,
      ...(width > 0 && height > 0 && { size: { width, height } }),
      objects: joinGroups(read, path, faults),
    };
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    const { message, hint } = error;
    faults.push({ severity: 'error', kind: 'broken-json', file: path, message, hint });
    return undefined;
  }
}

function parse(text: string, path: string) {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new DataError(`not valid JSON (${cause instanceof Error ? cause.message : cause})`, {
      hint: 'left out with its picture; save it again, the file may be cut off',
      cause,
    });
  }
  const { imagePath, imageWidth, imageHeight, shapes } = isRow(document) ? document : ({} as Row);
  if (typeof imagePath === 'string' && imagePath !== '' && Array.isArray(shapes) && shapes.every(isRow)) {
    return { imagePath, imageWidth, imageHeight, shapes };
  }
  const found = isRow(document) ? Object.keys(document).slice(0, 8).join(', ') || 'no keys' : typeof document;
  throw new DataError(`not a file of labelme: expected imagePath and a list of shapes, found ${found}`, {
    hint: `left out; move ${path} elsewhere if it belongs to something else`,
  });
}

/** One shape with the key of the object that it is part of. */
interface ReadShape {
  readonly object: NamedObject;
  /** Shapes of one label and group are one object in several parts. */
  readonly group?: string;
}

function readShape(shape: Row, index: number, file: string, faults: DatasetFault[]): ReadShape[] {
  const { label, group_id: group, shape_type: type = 'polygon', difficult } = shape;
  const className = typeof label === 'string' ? label.trim() : '';
  const place = `shape ${index + 1}`;
  const report = (severity: DatasetFault['severity'], kind: string, message: string, hint: string) =>
    void faults.push({
      severity,
      kind,
      file,
      message: `${place}, ${className || 'no label'}: ${message}`,
      hint,
    });
  if (['point', 'points', 'line', 'linestrip'].includes(String(type))) {
    report('warning', 'not-a-box', `a ${type} has no box`, 'left out; draw a rectangle');
    return [];
  }
  const points = pointsOf(shape['points']);
  const bounds = className === '' || points === undefined ? undefined : boundsOf(String(type), points);
  if (bounds === undefined) {
    report(
      'error',
      'broken-box',
      `${type} with points ${JSON.stringify(shape['points'])?.slice(0, 60) ?? 'absent'}`,
      'left out; expected a label and as many pairs of numbers as the shape needs',
    );
    return [];
  }
  if (bounds.from !== undefined) report('notice', 'polygon', bounds.from, 'turned into its bounding box');
  const object = { className, place, corners: bounds.corners, difficult: difficult === true };
  return [{ object, ...(group == null ? {} : { group: JSON.stringify([className, group]) }) }];
}

function boundsOf(type: string, points: readonly Point[]): ShapeBounds | undefined {
  const [first, second] = points;
  switch (type) {
    case 'rectangle':
      return points.length >= 2 ? boundsOfPoints(points) : undefined;
    case 'polygon':
    case 'rotation':
      return points.length >= 3 ? boundsOfPoints(points, 'a polygon') : undefined;
    case 'circle': {
      if (first === undefined || second === undefined) return undefined;
      const radius = Math.hypot(second[0] - first[0], second[1] - first[1]);
      const { corners } = boundsOfEllipse({ cx: first[0], cy: first[1], rx: radius, ry: radius, degrees: 0 });
      return { corners, from: 'a circle' };
    }
    case 'mask': {
      // The second point is the last pixel inside.
      if (first === undefined || second === undefined) return undefined;
      return { corners: [first[0], first[1], second[0] + 1, second[1] + 1], from: 'a mask' };
    }
    default:
      return undefined;
  }
}

/** labelme's own exporters take shapes of one label and `group_id` as one object. */
function joinGroups(shapes: readonly ReadShape[], file: string, faults: DatasetFault[]): NamedObject[] {
  const groups = new Map<string, NamedObject[]>();
  for (const [index, { object, group }] of shapes.entries()) {
    const key = group ?? `shape ${index}`;
    groups.set(key, [...(groups.get(key) ?? []), object]);
  }
  return [...groups.values()].flatMap((parts) => {
    const [first] = parts;
    if (first === undefined || parts.length === 1) return parts;
    const bounds = boundsOfPoints(
      parts.flatMap(({ corners: [x1, y1, x2, y2] }) => [[x1, y1] as const, [x2, y2] as const]),
    );
    const message = `${parts.map(({ place }) => place).join(', ')}: ${first.className} in one group_id`;
    const hint = 'joined into one object; remove the group_id where they are several';
    faults.push({ severity: 'notice', kind: 'joined-group', file, message, hint });
    return [{ ...first, corners: bounds?.corners ?? first.corners }];
  });
}

function pointsOf(value: unknown): readonly Point[] | undefined {
  const isPoint = (point: unknown): point is Point =>
    Array.isArray(point) && point.length === 2 && point.every(Number.isFinite);
  return Array.isArray(value) && value.every(isPoint) ? value : undefined;
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
