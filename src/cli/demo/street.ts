// The demo that needs nothing but this checkout: our sample detector on one street by day, at dusk and at night. The
// traffic is the same in all three clips, so every change of a score is the light's doing.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Detection, iou } from '#core';
import type { Ffmpeg } from '#runtime';
import { createAnnotatedVideo, createPainter, openDetector, openSource, runDetections } from '#runtime';
import { print, say } from '../output.ts';
import { median } from './statistics.ts';

export interface StreetFiles {
  readonly model: string;
  readonly clips: Readonly<Record<Light, string>>;
  readonly truth: string;
}

const LIGHTS = ['day', 'dusk', 'night'] as const;

type Light = (typeof LIGHTS)[number];

const CONF = 0.25;
const MATCH_IOU = 0.5;

interface TrueObject {
  readonly class: string;
  readonly id: number;
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
}

/** What the detector said of one object in one frame. */
interface Sighting {
  readonly frame: number;
  readonly object: TrueObject;
  readonly found: Detection | undefined;
}

interface LightResult {
  readonly light: Light;
  readonly sightings: readonly Sighting[];
  readonly falseAlarms: number;
  readonly framesPerSecond: number;
}

export interface StreetDemoOptions {
  readonly files: StreetFiles;
  readonly ffmpeg: Ffmpeg;
  /** Annotated clips go here. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

export async function runStreetDemo({ files, ffmpeg, folder, signal }: StreetDemoOptions): Promise<void> {
  print(
    '\nOur sample detector, trained from scratch by this program, on one street by day, at dusk and at night',
  );
  const truth = await readTruth(files.truth);
  const results: LightResult[] = [];
  for (const light of LIGHTS) {
    results.push(await watch(light, { files, ffmpeg, folder, signal }, truth));
  }
  for (const line of overview(results)) print(`   ${line}`);
  print('\nThe same car in the same frames: expectation and standard deviation of its score');
  for (const line of followed(results)) print(`   ${line}`);
  print(`\nlook at ${LIGHTS.map((light) => join(folder, `${light}.mp4`)).join(', ')}`);
}

async function readTruth(path: string): Promise<readonly (readonly TrueObject[])[]> {
  const lines = (await readFile(path, 'utf8')).trim().split('\n').slice(1);
  return lines.map((line) => (JSON.parse(line) as { objects: readonly TrueObject[] }).objects);
}

async function watch(
  light: Light,
  { files, ffmpeg, folder, signal }: StreetDemoOptions,
  truth: readonly (readonly TrueObject[])[],
): Promise<LightResult> {
  const source = await openSource(files.clips[light], { ffmpeg });
  const detector = await openDetector(files.model, { threshold: { kind: 'fixed', base: CONF } });
  const sightings: Sighting[] = [];
  let falseAlarms = 0;
  try {
    const sink = createAnnotatedVideo({
      ffmpeg,
      pathOf: () => join(folder, `${light}.mp4`),
      painter: createPainter({ onNotice: say }),
      live: false,
    });
    const summary = await runDetections({
      source,
      detector,
      sinks: [sink],
      signal,
      full: true,
      onResult({ frame, detections }) {
        const matched = match(truth[frame.index] ?? [], detections);
        sightings.push(...matched.map(([object, found]) => ({ frame: frame.index, object, found })));
        falseAlarms += detections.length - matched.filter(([, found]) => found !== undefined).length;
      },
    });
    return { light, sightings, falseAlarms, framesPerSecond: summary.frames / summary.wallSeconds };
  } finally {
    await detector.close();
  }
}

/** Greedy by falling score, one to one, same class, IoU of at least 0.5. */
function match(
  objects: readonly TrueObject[],
  detections: readonly Detection[],
): (readonly [TrueObject, Detection | undefined])[] {
  const finders = new Map<TrueObject, Detection>();
  for (const detection of detections) {
    const free = objects.filter((object) => object.class === detection.className && !finders.has(object));
    const overlaps = free.map((object) => iou(detection.box, object));
    const best = Math.max(...overlaps);
    const object = free[overlaps.indexOf(best)];
    if (object !== undefined && best >= MATCH_IOU) finders.set(object, detection);
  }
  return objects.map((object) => [object, finders.get(object)]);
}

function overview(results: readonly LightResult[]): readonly string[] {
  const row = (cells: readonly string[]) =>
    cells.map((cell, index) => (index === 0 ? cell.padEnd(8) : cell.padStart(18))).join('');
  return [
    row(['light', 'objects found', 'false alarms', 'median score', 'median std', 'frames per s']),
    ...results.map(({ light, sightings, falseAlarms, framesPerSecond }) => {
      const found = sightings.flatMap((sighting) => sighting.found ?? []);
      const share = `${found.length} of ${sightings.length}`;
      const std = median(found.map(({ scoreVariance = Number.NaN }) => Math.sqrt(scoreVariance)));
      return row([
        light,
        share,
        String(falseAlarms),
        median(found.map(({ score }) => score)).toFixed(2),
        std.toFixed(2),
        framesPerSecond.toFixed(0),
      ]);
    }),
  ];
}

/** The car that all three saw most often, about once a second. */
function followed(results: readonly LightResult[]): readonly string[] {
  const counts = new Map<number, number>();
  for (const { object, found } of results.flatMap(({ sightings }) => sightings)) {
    if (object.class === 'car' && found) counts.set(object.id, (counts.get(object.id) ?? 0) + 1);
  }
  const [best] = [...counts].sort((a, b) => b[1] - a[1]);
  if (best === undefined) return ['no car was found'];
  const frames = [
    ...new Set(
      results.flatMap(({ sightings }) =>
        sightings.filter(({ object }) => object.id === best[0]).map(({ frame }) => frame),
      ),
    ),
  ].sort((a, b) => a - b);
  const step = Math.max(1, Math.floor(frames.length / 8));
  const shown = frames.filter((_, index) => index % step === 0);
  return [
    `${'frame'.padEnd(8)}${LIGHTS.map((light) => light.padEnd(16)).join('')}`.trimEnd(),
    ...shown.map((frame) => {
      const cells = results.map(({ sightings }) => {
        const found = sightings.find(
          (sighting) => sighting.frame === frame && sighting.object.id === best[0],
        )?.found;
        return (
          found ? `${found.score.toFixed(2)} ±${Math.sqrt(found.scoreVariance ?? 0).toFixed(2)}` : 'not found'
        ).padEnd(16);
      });
      return `${String(frame).padEnd(8)}${cells.join('')}`.trimEnd();
    }),
  ];
}
