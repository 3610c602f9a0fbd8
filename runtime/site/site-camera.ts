// One camera of a site file with what stands at the top for all of them, every default filled in.
import { nearest } from '#core';
import type { ClassFilter, CountLine, ReviewRule, SiteCamera, SiteMotion, Zone } from './site.ts';
import { toSource } from './site-addresses.ts';
import type { SiteFaults } from './site-faults.ts';
import { lightOf } from './site-light.ts';
import type { SitePath } from './site-placed.ts';
import type { CameraDocument, SharedDocument } from './site-schema.ts';
import { toLine, toRegion, toRegions } from './site-shapes.ts';
import { expectLightStates, layersOf, resolveThresholds, type ThresholdsReader } from './site-thresholds.ts';

const DEFAULTS = {
  stallSeconds: 4,
  rtspTransport: 'tcp',
  minFrames: 3,
  minMedianScore: 0,
  inertia: 3,
  reviewsPerHour: 20,
  motionThreshold: 10,
  motionArea: 0.0005,
  detectEverySeconds: 5,
} as const;

export interface SiteContext {
  /** Absolute folder of the site file. */
  readonly folder: string;
  readonly absolute: (path: string) => string;
  readonly read: ThresholdsReader;
  readonly faults: SiteFaults;
}

/** What is written for a camera itself, and for all of them. */
interface Written {
  readonly name: string;
  readonly own: CameraDocument;
  readonly top: SharedDocument;
  readonly context: SiteContext;
}

type Narrower = <K extends keyof SharedDocument>(
  key: K,
) => { readonly value: SharedDocument[K] | undefined; readonly path: SitePath };

export interface BuiltCamera {
  readonly camera: SiteCamera;
  /** Path of the clip that is its source, where it is one. */
  readonly file?: string;
}

export function buildCamera(written: Written): BuiltCamera {
  const { name, own, top, context } = written;
  const { folder, faults } = context;
  const base = ['cameras', name];
  const narrower: Narrower = (key) =>
    own[key] === undefined ? { value: top[key], path: [key] } : { value: own[key], path: [...base, key] };
  const { source, file } = toSource(own.source, { folder, path: [...base, 'source'], faults });
  const { value: framesPerSecond } = narrower('fps');
  const { value: classes, path: classesPath } = narrower('classes');
  if (classes !== undefined) expectNoneTwice(classes, classesPath, faults);
  const review = reviewOf(narrower, context);
  const motion = motionOf(narrower, faults);
  const camera: SiteCamera = {
    name,
    source,
    enabled: own.enabled ?? true,
    ...(framesPerSecond !== undefined && { framesPerSecond }),
    ...(motion !== undefined && { motion }),
    ...(classes !== undefined && { classes: new Set(classes) }),
    ...thresholdsAndLight(written, narrower, file !== undefined),
    filters: filtersOf(written),
    zones: Object.entries(own.zones ?? {}).flatMap((entry) => zoneOf(entry, [...base, 'zones'], written)),
    lines: Object.entries(own.lines ?? {}).map((entry) => lineOf(entry, [...base, 'lines'], written)),
    ...(review !== undefined && { review }),
    stallSeconds: narrower('stall').value ?? DEFAULTS.stallSeconds,
    rtspTransport: narrower('rtsp_transport').value ?? DEFAULTS.rtspTransport,
    minFrames: narrower('min_frames').value ?? DEFAULTS.minFrames,
    minMedianScore: narrower('min_median_score').value ?? DEFAULTS.minMedianScore,
  };
  return { camera, ...(file !== undefined && { file }) };
}

function thresholdsAndLight(
  { name, own, top, context: { read, faults } }: Written,
  narrower: Narrower,
  isFile: boolean,
): Pick<SiteCamera, 'thresholds' | 'light'> {
  const layers = [
    ...layersOf(top, { path: [], camera: name, read, faults }),
    ...layersOf(own, { path: ['cameras', name], camera: name, read, faults }),
  ];
  const { value: word, path } = narrower('light');
  const measure = word === 'sun' ? 'sun' : 'picture';
  const { ladder, ...thresholds } = resolveThresholds(layers, measure);
  const light = lightOf(word, {
    own,
    path,
    base: ['cameras', name],
    isFile,
    location: narrower('location').value,
    faults,
  });
  if (word === 'off') return { thresholds: { ...thresholds, conditions: new Map() } };
  expectLightStates(layers, measure, faults);
  const follows = light ?? (thresholds.conditions.size > 0 ? 'auto' : undefined);
  return {
    thresholds: { ...thresholds, ...(ladder !== undefined && { ladder }) },
    ...(follows !== undefined && { light: follows }),
  };
}

function filtersOf({ name, own, top, context: { faults } }: Written): ReadonlyMap<string, ClassFilter> {
  const filters = new Map<string, ClassFilter>();
  const places = [
    { from: top.objects?.filters, path: ['objects', 'filters'] },
    { from: own.objects?.filters, path: ['cameras', name, 'objects', 'filters'] },
  ];
  for (const { from = {}, path } of places)
    for (const [className, filter] of Object.entries(from))
      filters.set(className, filterOf(filter, [...path, className], faults));
  return filters;
}

type FilterDocument = NonNullable<NonNullable<SharedDocument['objects']>['filters']>[string];

function filterOf(filter: FilterDocument, path: SitePath, faults: SiteFaults): ClassFilter {
  const minArea = filter.min_area ?? 0;
  const maxArea = filter.max_area ?? 1;
  const minRatio = filter.min_ratio ?? 0;
  const maxRatio = filter.max_ratio ?? Number.POSITIVE_INFINITY;
  if (minArea > maxArea) aboveMost('area', [...path, 'min_area'], maxArea, faults);
  if (minRatio > maxRatio) aboveMost('ratio', [...path, 'min_ratio'], maxRatio, faults);
  const at = [...path, 'mask'];
  const { mask } = filter;
  const masks = mask === undefined || faults.touches(at) ? [] : toRegions(mask, at, faults);
  return { minArea, maxArea, minRatio, maxRatio, masks };
}

function aboveMost(what: 'area' | 'ratio', path: SitePath, most: number, faults: SiteFaults): void {
  if (!faults.touches(path))
    faults.expected(path, `at most max_${what}, which is ${most}`, 'nothing would pass: swap the two');
}

function zoneOf(
  [name, zone]: [string, NonNullable<CameraDocument['zones']>[string]],
  path: SitePath,
  written: Written,
): readonly Zone[] {
  const { faults } = written.context;
  const region = toRegion(zone.coordinates, [...path, name, 'coordinates'], faults);
  const classes = classesOf(zone.objects, [...path, name, 'objects'], written);
  return region === undefined
    ? []
    : [{ name, region, ...classes, inertia: zone.inertia ?? DEFAULTS.inertia }];
}

function lineOf(
  [name, line]: [string, NonNullable<CameraDocument['lines']>[string]],
  path: SitePath,
  written: Written,
): CountLine {
  const ends = toLine(line, [...path, name], written.context.faults);
  return { name, ...ends, ...classesOf(line.objects, [...path, name, 'objects'], written) };
}

/** A zone that counts what the camera does not report would stay at 0 for ever. */
function classesOf(
  names: readonly string[] | undefined,
  path: SitePath,
  { name, own, top, context: { faults } }: Written,
): { readonly classes?: ReadonlySet<string> } {
  if (names === undefined) return {};
  expectNoneTwice(names, path, faults);
  const isUnsure = faults.touches(['classes']) || faults.touches(['cameras', name, 'classes']);
  const reported = isUnsure ? undefined : (own.classes ?? top.classes);
  for (const [index, className] of names.entries()) {
    if (reported === undefined || reported.includes(className)) continue;
    const near = nearest(className, reported);
    faults.add([...path, String(index)], {
      text: `found '${className}', which is not in classes${near === undefined ? '' : `; did you mean '${near}'?`}`,
      hint: `the camera reports ${reported.join(', ')}`,
    });
  }
  return { classes: new Set(names) };
}

function expectNoneTwice(names: readonly string[], path: SitePath, faults: SiteFaults): void {
  for (const [index, className] of names.entries()) {
    const at = [...path, String(index)];
    if (names.indexOf(className) < index)
      faults.addNew(at, { text: `found '${className}' a second time`, hint: 'remove one of the two' });
  }
}

function reviewOf(narrower: Narrower, { absolute, faults }: SiteContext): ReviewRule | undefined {
  const { value: review, path } = narrower('review');
  if (review === undefined || review === 'off') return undefined;
  const { max_std: maxStd, max_epistemic_std: maxEpistemicStd, doubtful, folder, per_hour: perHour } = review;
  const isBimodal = review.bimodal === true;
  if (maxStd === undefined && maxEpistemicStd === undefined && doubtful === undefined && !isBimodal) {
    const hint =
      'add max_std: 0.2, max_epistemic_std: 0.1, doubtful: [0.3, 0.6] or bimodal: true; or write review: off';
    faults.addNew(path, { text: 'found no bound, so nothing would be marked', hint, atKey: true });
  }
  const [low = 0, high = 1] = doubtful ?? [];
  if (doubtful !== undefined && low >= high)
    faults.addNew([...path, 'doubtful'], {
      text: `found [${low}, ${high}], expected [low, high] with low below high`,
      hint: 'swap the two scores',
    });
  return {
    ...(maxStd !== undefined && { maxStd }),
    ...(maxEpistemicStd !== undefined && { maxEpistemicStd }),
    ...(doubtful !== undefined && { doubtful: [low, high] as const }),
    ...(isBimodal && { bimodal: true as const }),
    ...(folder !== undefined && { folder: absolute(folder) }),
    perHour: perHour ?? DEFAULTS.reviewsPerHour,
  };
}

function motionOf(narrower: Narrower, faults: SiteFaults): SiteMotion | undefined {
  const { value: motion, path } = narrower('motion');
  if (motion === undefined || motion === 'off') return undefined;
  const { threshold, min_area: minArea, mask, detect_every: every } = motion === 'on' ? {} : motion;
  const at = [...path, 'mask'];
  return {
    threshold: threshold ?? DEFAULTS.motionThreshold,
    minArea: minArea ?? DEFAULTS.motionArea,
    masks: mask === undefined || faults.touches(at) ? [] : toRegions(mask, at, faults),
    detectEverySeconds: every ?? DEFAULTS.detectEverySeconds,
  };
}
