// One seed: trains a reference per class loss, adapts it under every way of holding its logits, and measures all of them on
// the same pictures.
import { join } from 'node:path';
import type { Size } from 'edge-detect/core';
import type { LabelledPicture } from 'edge-detect/data';
import { say } from '../common/output.ts';
import type { Figures } from '../common/seeded-tables.ts';
import type { LastModel } from '../common/train-last.ts';
import { type Boxes, boxFigures, plattMaps } from './box-figures.ts';
import {
  classFigures,
  fittedTemperature,
  type ObjectAnchor,
  objectAnchors,
  rowsAt,
} from './class-figures.ts';
import {
  adaptHead,
  type ClassLossName,
  TRAINED_WAYS,
  type TrainedWay,
  type TrainingSetting,
  trainReference,
} from './heads.ts';
import { createPictureDetector, type HeadRows, rowsOfHeads } from './network.ts';
import type { Adaptation, SeedPictures } from './pictures.ts';
import { logitsOfScores } from './row-maps.ts';
import { type Fitted, scoredRows, WAYS, type Way } from './ways.ts';

/** What is adapted to, under which class loss. */
export interface Case {
  /** For the command line. */
  readonly id: string;
  readonly name: string;
  readonly adaptation: Adaptation['name'];
  readonly loss: ClassLossName;
}

export const CASES: readonly Case[] = [
  { id: 'night-ce', name: 'night, CE', adaptation: 'night', loss: 'ce' },
  { id: 'camera-ce', name: 'camera, CE', adaptation: 'camera', loss: 'ce' },
  { id: 'night-gra', name: 'night, BS-GRA', adaptation: 'night', loss: 'bsceGra' },
];

export const SETS = ['unseen', 'adapted'] as const;
export type SetName = (typeof SETS)[number];

/** One way in one case under one seed, on one set of pictures. */
export interface Measured {
  readonly case: string;
  readonly set: SetName;
  readonly way: string;
  readonly seed: number;
  readonly figures: Figures;
}

interface SeedResult {
  readonly measured: readonly Measured[];
  readonly heads: readonly LastModel[];
}

interface SeedContext {
  readonly seed: number;
  /** For heads and files of this seed. */
  readonly folder: string;
}

export async function measureSeed(
  setting: TrainingSetting,
  pictures: SeedPictures,
  { cases, ...context }: SeedContext & { readonly cases: readonly Case[] },
): Promise<SeedResult> {
  const { seed, folder } = context;
  const measured: Measured[] = [];
  const heads: LastModel[] = [];
  const references = new Map<ClassLossName, LastModel>();
  for (const one of cases) {
    const { name, loss } = one;
    const adaptation = pictures.adaptations.find((offered) => offered.name === one.adaptation)!;
    let reference = references.get(loss);
    if (reference === undefined) {
      const place = join(folder, `reference-${loss}`);
      reference = await trainReference(setting, { pictures: pictures.reference, loss, seed, folder: place });
      references.set(loss, reference);
      heads.push(reference);
    }
    const adapted = await adaptAll(setting, adaptation, { ...context, loss, reference: reference.path });
    heads.push(...adapted.values());
    const files = new Map<Way['head'], string>([['reference', reference.path]]);
    for (const [way, { path }] of adapted) files.set(way, path);
    const { calibrate, judged } = adaptation;
    const rows = await rowsOfHeads(files, [...calibrate, ...judged.adapted, ...judged.unseen], folder);
    const found = measureCase({ classNames: setting.classNames, adaptation, rows });
    measured.push(...found.map((figures) => ({ ...figures, case: name, seed })));
    say(tellCase({ name, seed, heldOut: pictures.heldOut }, found, heads));
  }
  return { measured, heads };
}

/** The reference, trained on under every way of holding its logits; all begin alike and see the same pictures. */
async function adaptAll(
  setting: TrainingSetting,
  { name, adapt }: Adaptation,
  {
    loss,
    seed,
    folder,
    reference,
  }: SeedContext & { readonly loss: ClassLossName; readonly reference: string },
): Promise<ReadonlyMap<TrainedWay, LastModel>> {
  const heads = new Map<TrainedWay, LastModel>();
  for (const way of TRAINED_WAYS) {
    const place = join(folder, `${name}-${loss}-${way}`);
    heads.set(way, await adaptHead(setting, { pictures: adapt, loss, seed, way, reference, folder: place }));
  }
  return heads;
}

interface CaseRows {
  readonly classNames: readonly string[];
  readonly adaptation: Adaptation;
  readonly rows: ReadonlyMap<Way['head'], HeadRows>;
}

type CaseFigures = Omit<Measured, 'case' | 'seed'>;

function measureCase({ classNames, adaptation, rows }: CaseRows): readonly CaseFigures[] {
  const classCount = classNames.length;
  const reference = rows.get('reference')!;
  const fitted = fitOn(adaptation.calibrate, rows, classCount);
  const detect = createPictureDetector(classNames, inputOf(reference));
  const boxesOf = (way: Way, pictures: readonly LabelledPicture[]): Boxes => ({
    classNames,
    pictures,
    predictions: pictures.map(({ path }) =>
      detect(scoredRows(way, rows.get(way.head)!.get(path)!, reference.get(path)!, fitted)),
    ),
  });
  return SETS.flatMap((set) => {
    const pictures = adaptation.judged[set];
    const anchors = objectAnchors(pictures, reference);
    return WAYS.map((way): CaseFigures => {
      const calibrator = way.platt ? plattMaps(boxesOf(way, adaptation.calibrate)) : undefined;
      return {
        set,
        way: way.name,
        figures: {
          ...classPart(way, anchors, { rows, fitted, classCount }),
          ...boxFigures(boxesOf(way, pictures), calibrator),
        },
      };
    });
  });
}

function inputOf(rows: HeadRows): Size {
  const [first] = rows.values();
  return first!.letterbox.input;
}

interface ClassParts {
  readonly rows: CaseRows['rows'];
  readonly fitted: Fitted;
  readonly classCount: number;
}

/** Nothing where the way acts behind the classes. */
function classPart(
  way: Way,
  anchors: readonly ObjectAnchor[],
  { rows, fitted, classCount }: ClassParts,
): Figures {
  const { logits } = way;
  if (logits === undefined) return {};
  const inForce = new Map<string, Float32Array>();
  const logitsOf = (path: string) => {
    const made =
      inForce.get(path) ?? logits(rows.get(way.head)!.get(path)!, rows.get('reference')!.get(path)!, fitted);
    inForce.set(path, made);
    return made;
  };
  return classFigures(
    rowsAt(anchors, classCount, logitsOf),
    anchors.map(({ classId }) => classId),
    classCount,
  );
}

const CEILING_SHARE = 0.99;

function fitOn(pictures: readonly LabelledPicture[], rows: CaseRows['rows'], classCount: number): Fitted {
  const [reference, adapted] = [rows.get('reference')!, rows.get('none')!];
  const anchors = objectAnchors(pictures, reference);
  const labels = anchors.map(({ classId }) => classId);
  const logits = rowsAt(anchors, classCount, (path) => adapted.get(path)!.logits);
  const scores = rowsAt(anchors, classCount, (path) => logitsOfScores(reference.get(path)!));
  const own = labels.map((label, row) => scores[row * classCount + label]!).sort((a, b) => a - b);
  return {
    temperature: fittedTemperature(logits, labels, classCount),
    scoreCeiling: own[Math.floor(CEILING_SHARE * (own.length - 1))] ?? 0,
  };
}

function tellCase(
  {
    name,
    seed,
    heldOut,
  }: { readonly name: string; readonly seed: number; readonly heldOut: readonly string[] },
  found: readonly CaseFigures[],
  heads: readonly LastModel[],
): string {
  const figure = (way: string, key: string) =>
    found.find((one) => one.set === 'unseen' && one.way === way)?.figures[key]?.toFixed(3) ?? '–';
  const ways = ['reference', 'none', 'sals'].map(
    (way) => `${way} ECE ${figure(way, 'ece')} AP50 ${figure(way, 'ap50')}`,
  );
  const [seconds, cpu] = [
    heads.reduce((sum, head) => sum + head.seconds, 0),
    heads.reduce((sum, head) => sum + head.cpuSeconds, 0),
  ].map((value) => value.toFixed(0));
  return `seed ${seed}, held out ${heldOut.join(' ')}, ${name}, unseen: ${ways.join(', ')}; ${heads.length} heads in ${seconds} s, ${cpu} s of CPU`;
}
