// Polygons and lines of a site file, checked for what no zone means: too few corners, no area, edges that cross.
import { crossesItself, type Point, type Region, regionArea } from '#core';
import type { SiteFaults } from './site-faults.ts';
import type { SitePath } from './site-placed.ts';

type Pairs = readonly (readonly number[])[];
type PolygonText = string | Pairs;
type MaskText = string | readonly (string | readonly (number | readonly number[])[])[];

const EXAMPLE = 'write "0.1,0.2,0.9,0.2,0.5,0.8", or [[0.1, 0.2], [0.9, 0.2], [0.5, 0.8]]';
/** A millionth of the picture is less than a pixel in every camera that is sold. */
const LEAST_AREA = 1e-6;

/** @returns undefined where it is none, which `faults` then says */
export function toRegion(polygon: PolygonText, path: SitePath, faults: SiteFaults): Region | undefined {
  const numbers = typeof polygon === 'string' ? parseNumbers(polygon, path, faults) : polygon.flat();
  if (numbers === undefined) return undefined;
  const region = Float64Array.from(withoutClosing(numbers));
  const corners = region.length / 2;
  const fault = (text: string, hint: string) => void faults.add(path, { text, hint });
  if (corners < 3)
    return fault(`found ${corners} ${corners === 1 ? 'corner' : 'corners'}, expected 3 or more`, EXAMPLE);
  if (Math.abs(regionArea(region)) < LEAST_AREA && !crossesItself(region))
    return fault('found a polygon without area', 'move a corner off the line that all of them lie on');
  if (crossesItself(region))
    return fault('found edges that cross each other', 'name the corners in order, around the area');
  return region;
}

/** One polygon or several. */
export function toRegions(mask: MaskText, path: SitePath, faults: SiteFaults): readonly Region[] {
  const polygons: readonly PolygonText[] = typeof mask === 'string' || isPairs(mask) ? [mask] : [];
  const several = polygons.length > 0 ? polygons : (mask as readonly PolygonText[]);
  if (several.length === 0) faults.expected(path, 'a polygon or a list of polygons', EXAMPLE);
  return several.flatMap((polygon, index) => {
    const at = polygons.length > 0 ? path : [...path, String(index)];
    const isFlat = typeof polygon !== 'string' && polygon.some((pair) => !Array.isArray(pair));
    if (isFlat) {
      faults.expected(at, 'a polygon of pairs [x, y]', EXAMPLE);
      return [];
    }
    const region = toRegion(polygon, at, faults);
    return region === undefined ? [] : [region];
  });
}

function isPairs(mask: Exclude<MaskText, string>): mask is Pairs {
  return (
    mask.length > 0 &&
    mask.every((entry) => Array.isArray(entry) && entry.every((value) => typeof value === 'number'))
  );
}

/** A line from one point to another, which must differ. */
export function toLine(
  { from, to }: { readonly from: readonly number[]; readonly to: readonly number[] },
  path: SitePath,
  faults: SiteFaults,
): { readonly from: Point; readonly to: Point } {
  const [x1 = 0, y1 = 0] = from;
  const [x2 = 0, y2 = 0] = to;
  if (Math.hypot(x2 - x1, y2 - y1) < 1e-3)
    faults.add([...path, 'to'], {
      text: 'found a line without length',
      hint: 'move one end: from and to are the same point',
    });
  return { from: [x1, y1], to: [x2, y2] };
}

function parseNumbers(text: string, path: SitePath, faults: SiteFaults): readonly number[] | undefined {
  const words = text.split(',').map((word) => word.trim());
  const fault = (what: string, hint: string) => void faults.add(path, { text: what, hint });
  const wrong = words.findIndex((word) => word === '' || !Number.isFinite(Number(word)));
  if (wrong >= 0)
    return fault(`found '${words[wrong]}' as number ${wrong + 1}, expected numbers and commas`, EXAMPLE);
  if (words.length % 2 === 1)
    return fault(`found ${words.length} numbers, expected an even count: x,y for each corner`, EXAMPLE);
  const outside = words.findIndex((word) => Number(word) < 0 || Number(word) > 1);
  if (outside >= 0) {
    const hint = 'divide x by the width of the picture, y by its height';
    return fault(`found ${words[outside]}, expected shares of the picture from 0 to 1`, hint);
  }
  return words.map(Number);
}

/** Some programs write the first corner again at the end. */
function withoutClosing(numbers: readonly number[]): readonly number[] {
  const isClosed = numbers.length > 6 && numbers[0] === numbers.at(-2) && numbers[1] === numbers.at(-1);
  return isClosed ? numbers.slice(0, -2) : numbers;
}
