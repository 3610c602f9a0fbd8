// One annotations.xml as CVAT writes it for images (version 1.1): its labels, and the shapes of each picture.
import { DataError } from '#core';
import { readText } from './files.ts';
import type { NamedObject } from './named-objects.ts';
import { boundsOfEllipse, boundsOfPoints, boundsOfRotated, type ShapeBounds } from './shape-bounds.ts';
import type { DatasetFault } from './types.ts';
import { childOf, parseXml, type XmlElement } from './xml.ts';

export interface CvatPicture {
  readonly name: string;
  readonly line: number;
  readonly size?: { readonly width: number; readonly height: number };
  /** The part of a project, such as `Train`. */
  readonly subset?: string;
  readonly objects: readonly NamedObject[];
}

export interface CvatFile {
  readonly path: string;
  /** In the order of the task; absent where the file lists none. */
  readonly labels?: readonly string[];
  readonly pictures: readonly CvatPicture[];
}

/** Shapes with an extent, and how it is read; others are left out. */
const BOUNDS: Readonly<Record<string, (shape: XmlElement) => ShapeBounds | undefined>> = {
  box: (shape) =>
    boundsOfRotated(cornersOf(shape, 'xtl', 'ytl', 'xbr', 'ybr'), numberOf(shape, 'rotation') ?? 0),
  polygon: (shape) => boundsOfPoints(pointsOf(shape.attributes.get('points')), 'a polygon'),
  ellipse: boundsOfEllipseElement,
  mask: boundsOfMask,
};

/** What a picture may have besides shapes. */
const NOT_SHAPES: readonly string[] = ['tag', 'attribute'];

/** @throws DataError where the file is not well-formed, is of another form, or holds the tracks of a video */
export async function readCvatFile(path: string, faults: DatasetFault[]): Promise<CvatFile> {
  const root = parseXml(await readText(path), path);
  const images = root.children.filter(({ name }) => name === 'image');
  const track = childOf(root, 'track');
  if (root.name !== 'annotations' || (images.length === 0 && track === undefined)) {
    throw new DataError(`${path}: expected <annotations> with <image>, found <${root.name}>`, {
      hint: 'export from CVAT as "CVAT for images 1.1"',
    });
  }
  if (track !== undefined) {
    throw new DataError(`${path}:${track.line}: tracks of a video, which name no pictures`, {
      hint: 'export from CVAT as "CVAT for images 1.1", with the pictures',
    });
  }
  const labels = readLabels(root);
  const pictures = images.flatMap((image) => readPicture(image, path, faults));
  return { path, pictures, ...(labels.length > 0 && { labels }) };
}

/** `meta/task/labels/label/name`; a project or a job stands where the task does in other exports. */
function readLabels(root: XmlElement): string[] {
  const meta = childOf(root, 'meta');
  const owners = [...(meta?.children ?? [])].filter(({ name }) => ['task', 'project', 'job'].includes(name));
  const labels = owners.flatMap((owner) => childOf(owner, 'labels')?.children ?? []);
  const names = labels.flatMap((label) => childOf(label, 'name')?.text || []);
  return [...new Set(names)];
}

function readPicture(image: XmlElement, file: string, faults: DatasetFault[]): CvatPicture[] {
  const { line, attributes, children } = image;
  const name = attributes.get('name') ?? '';
  if (name === '') {
    const message = `image ${attributes.get('id') ?? 'without id'} has no name`;
    const hint = 'left out with its objects; export the task again';
    faults.push({ severity: 'error', kind: 'broken-image', file, line, message, hint });
    return [];
  }
  const [width = 0, height = 0] = [numberOf(image, 'width'), numberOf(image, 'height')];
  const subset = attributes.get('subset');
  const shapes = children.filter((child) => !NOT_SHAPES.includes(child.name));
  return [
    {
      name,
      line,
      ...(width > 0 && height > 0 && { size: { width, height } }),
      ...(subset && { subset }),
      objects: shapes.flatMap((shape) => readShape(shape, file, faults)),
    },
  ];
}

function readShape(shape: XmlElement, file: string, faults: DatasetFault[]): NamedObject[] {
  const { name, line, attributes } = shape;
  const className = attributes.get('label') ?? '';
  const report = (severity: DatasetFault['severity'], kind: string, message: string, hint: string) =>
    void faults.push({ severity, kind, file, line, message, hint });
  const read = Object.hasOwn(BOUNDS, name) ? BOUNDS[name] : undefined;
  if (read === undefined) {
    report(
      'warning',
      'not-a-box',
      `<${name}> of ${className || 'no label'} has no box`,
      'left out; draw a box',
    );
    return [];
  }
  const bounds = className === '' ? undefined : read(shape);
  if (bounds === undefined) {
    const found = [...attributes].map(([key, value]) => `${key}="${value.slice(0, 40)}"`).join(' ');
    report(
      'error',
      'broken-box',
      `<${name} ${found}>: expected a label, and numbers where the shape lies`,
      'left out; correct or remove it',
    );
    return [];
  }
  if (bounds.from !== undefined)
    report('notice', 'polygon', `${className}: ${bounds.from}`, 'turned into its bounding box');
  return [{ className, line, corners: bounds.corners, difficult: false }];
}

/** NaN-free numbers only: an attribute that is absent, empty or no number is undefined. */
function numberOf({ attributes }: XmlElement, name: string): number | undefined {
  const text = attributes.get(name)?.trim() ?? '';
  const value = text === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : undefined;
}

function cornersOf(shape: XmlElement, ...names: readonly [string, string, string, string]) {
  const [x1, y1, x2, y2] = names.map((name) => numberOf(shape, name));
  if (x1 === undefined || y1 === undefined || x2 === undefined || y2 === undefined) return undefined;
  return [x1, y1, x2, y2] as const;
}

/** `10.5,20;30,40` */
function pointsOf(text: string | undefined): readonly (readonly [number, number])[] | undefined {
  const points = (text ?? '').split(';').map((point) => point.split(',').map(Number));
  const whole = points.every((point) => point.length === 2 && point.every(Number.isFinite));
  return whole && text ? points.map(([x = 0, y = 0]) => [x, y] as const) : undefined;
}

function boundsOfEllipseElement(shape: XmlElement): ShapeBounds | undefined {
  const [cx, cy, rx, ry] = ['cx', 'cy', 'rx', 'ry'].map((name) => numberOf(shape, name));
  if (cx === undefined || cy === undefined || rx === undefined || ry === undefined) return undefined;
  return boundsOfEllipse({ cx, cy, rx, ry, degrees: numberOf(shape, 'rotation') ?? 0 });
}

/** The run lengths are those of a rectangle that the element states. */
function boundsOfMask(shape: XmlElement): ShapeBounds | undefined {
  const found = cornersOf(shape, 'left', 'top', 'width', 'height');
  if (found === undefined) return undefined;
  const [left, top, width, height] = found;
  return { corners: [left, top, left + width, top + height], from: 'a mask' };
}
