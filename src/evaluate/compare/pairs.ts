// Pairs the same thing in two slices: a place of the road in the nearest pictures of a camera, an object in the same
// picture, a track. Then asks core what became of the confidence.
import {
  type ComparedPictures,
  type NoVerdict,
  noVerdict,
  type PairedDrift,
  pairedDrift,
  type Resampling,
  type ScorePairs,
} from '#core';
import { type JoinedSlices, picturesOf } from './joined-slices.ts';
import { byPicture, detectionItems, type Item, objectItems, overlapping } from './pair-items.ts';
import { tooFewBlocks } from './time-blocks.ts';

export interface PairingOptions extends Resampling {
  readonly threshold: number;
  /** Scores below count as not found. */
  readonly seenScore: number;
  /** Least IoU of a pair. */
  readonly pairIou: number;
  readonly maxDets: number;
}

/** How two things were found to be the same. */
export type PairedBy = 'object' | 'picture' | 'time' | 'track';

export interface PairingReport {
  readonly pairedBy: PairedBy;
  readonly pairs: number;
  /** Things without a partner, in the first and in the second. */
  readonly unpaired: readonly [first: number, second: number];
  /** Between the two pictures of a pair; null without times. */
  readonly medianGapSeconds: number | null;
  /** Pairs of pictures drawn together; of clips, those of a block of time. */
  readonly byPicture: PairedDrift | NoVerdict;
  /** Cameras drawn together: wider, and what other cameras could give. */
  readonly byCamera: PairedDrift | NoVerdict;
  readonly perClass: readonly { readonly className: string; readonly drift: PairedDrift | NoVerdict }[];
  readonly perCamera: readonly {
    readonly camera: string;
    readonly pairs: number;
    readonly meanDrop: number;
  }[];
  /** One entry per pair; 0 where not found. */
  readonly scores: { readonly first: readonly number[]; readonly second: readonly number[] };
}

interface Pair {
  readonly first: Item | undefined;
  readonly second: Item | undefined;
  readonly camera: string;
  readonly group: string;
  readonly gapSeconds: number | undefined;
}

/** Nearest pictures in time that are looked at for each picture. */
const NEAREST_PICTURES = 20;

/**
 * Labelled objects of the same camera and class whose boxes overlap, the nearest in time first, one to one. On a fixed
 * camera that is the same place, not the same vehicle.
 */
export function pairByObject(
  joined: JoinedSlices,
  compared: ComparedPictures,
  options: PairingOptions,
): PairingReport | null {
  if (joined.labelled === undefined) return null;
  const candidates = nearPictures(joined, compared);
  return candidates.length === 0 ? null : pairItems('object', joined, { compared, candidates, options });
}

/** Things in pictures of the same pair key: labelled objects, or else detections; unlabelled ones without a partner count as lost. */
export function pairBySamePicture(
  joined: JoinedSlices,
  compared: ComparedPictures,
  options: PairingOptions,
): PairingReport | null {
  const second = new Map<string, number>();
  for (const picture of picturesOf(compared.second)) {
    const key = joined.pictures[picture]?.pairKey;
    if (key !== undefined) second.set(key, picture);
  }
  const candidates = picturesOf(compared.first).flatMap((picture) => {
    const partner = second.get(joined.pictures[picture]?.pairKey ?? '');
    return partner === undefined ? [] : [[picture, partner] as const];
  });
  // Frames of two clips share a key where they show the same moment.
  const pairedBy = joined.blocks === undefined ? 'picture' : 'time';
  return candidates.length === 0 ? null : pairItems(pairedBy, joined, { compared, candidates, options });
}

/** Tracks of a camera that live in both slices: the mean score in each. */
export function pairByTrack(
  joined: JoinedSlices,
  compared: ComparedPictures,
  options: PairingOptions,
): PairingReport | null {
  // Ids of two clips come from two trackers: equal ones are a coincidence.
  if (joined.blocks !== undefined) return null;
  const [first, second] = [compared.first, compared.second].map((condition) => tracksOf(joined, condition));
  if (first === undefined || second === undefined || first.size === 0 || second.size === 0) return null;
  const shared = [...first.keys()].filter((key) => second.has(key)).sort();
  const pairs = shared.map((key) => ({
    first: first.get(key),
    second: second.get(key),
    camera: key.slice(key.indexOf(' ') + 1),
    group: key,
    gapSeconds: undefined,
  }));
  return report('track', joined, {
    pairs,
    unpaired: [first.size - shared.length, second.size - shared.length],
    options,
  });
}

function tracksOf(joined: JoinedSlices, condition: ComparedPictures['first']): Map<string, Item> {
  const tracks = new Map<string, { items: Item[] }>();
  for (const item of detectionItems(joined, condition, 0)) {
    const id = joined.trackIds[item.row] ?? -1;
    if (id < 0) continue;
    const key = `${id} ${joined.pictures[item.picture]?.camera ?? ''}`;
    const own = tracks.get(key) ?? { items: [] };
    own.items.push(item);
    tracks.set(key, own);
  }
  const mean = (items: readonly Item[], read: (item: Item) => number) =>
    items.reduce((sum, item) => sum + read(item), 0) / items.length;
  const merged = new Map<string, Item>();
  for (const [key, { items }] of tracks) {
    const [head] = items;
    if (head === undefined) continue;
    merged.set(key, {
      ...head,
      score: mean(items, ({ score }) => score),
      variance: mean(items, ({ variance }) => variance),
    });
  }
  return merged;
}

/** Pairs of pictures of a camera: each with its nearest in time on the other side, nearest pairs first. */
function nearPictures(
  joined: JoinedSlices,
  { first, second }: ComparedPictures,
): (readonly [number, number])[] {
  const pairs = new Map<string, { pair: readonly [number, number]; gap: number }>();
  for (const [camera, own] of first.cameras) {
    const others = second.cameras.get(camera) ?? [];
    const add = (from: readonly number[], to: readonly number[], turned: boolean) => {
      for (const picture of from) {
        const near = to
          .map((other) => ({ other, gap: gapOf(joined, picture, other) ?? 0 }))
          .sort((a, b) => a.gap - b.gap || a.other - b.other)
          .slice(0, NEAREST_PICTURES);
        for (const { other, gap } of near) {
          const pair = turned ? ([other, picture] as const) : ([picture, other] as const);
          pairs.set(pair.join(), { pair, gap });
        }
      }
    };
    add(own, others, false);
    add(others, own, true);
  }
  // Equal gaps go by the places in the joined table, the lower first: an order that knows no first and second.
  const low = ({ pair }: { pair: readonly [number, number] }) => Math.min(...pair);
  const high = ({ pair }: { pair: readonly [number, number] }) => Math.max(...pair);
  return [...pairs.values()]
    .sort((a, b) => a.gap - b.gap || low(a) - low(b) || high(a) - high(b))
    .map(({ pair }) => pair);
}

function gapOf({ pictures }: JoinedSlices, first: number, second: number): number | undefined {
  const [one, two] = [pictures[first]?.timeSeconds, pictures[second]?.timeSeconds];
  return one === undefined || two === undefined ? undefined : Math.abs(one - two);
}

function pairItems(
  pairedBy: PairedBy,
  joined: JoinedSlices,
  {
    compared,
    candidates,
    options,
  }: {
    readonly compared: ComparedPictures;
    readonly candidates: readonly (readonly [number, number])[];
    readonly options: PairingOptions;
  },
): PairingReport {
  const labelled = joined.labelled !== undefined;
  const keepsLoose = !labelled && (pairedBy === 'picture' || pairedBy === 'time');
  const itemsOf = (condition: ComparedPictures['first']) =>
    byPicture(
      labelled
        ? objectItems(joined, condition, options)
        : detectionItems(joined, condition, options.seenScore),
    );
  const [first, second] = [itemsOf(compared.first), itemsOf(compared.second)];
  const used = new Set<Item>();
  const pairs: Pair[] = [];
  for (const [one, two] of candidates) {
    const pictures = {
      camera: joined.pictures[one]?.camera ?? '',
      group: groupOfPair(joined, one, two),
      gapSeconds: gapOf(joined, one, two),
    };
    for (const [a, b] of overlapping(first.get(one) ?? [], second.get(two) ?? [], options.pairIou)) {
      if (used.has(a) || used.has(b)) continue;
      used.add(a).add(b);
      pairs.push({ ...pictures, first: a, second: b });
    }
    if (!keepsLoose) continue;
    const left = (items: readonly Item[] | undefined) => (items ?? []).filter((item) => !used.has(item));
    for (const a of left(first.get(one))) pairs.push({ ...pictures, first: a, second: undefined });
    for (const b of left(second.get(two))) pairs.push({ ...pictures, first: undefined, second: b });
  }
  const loose = (items: ReadonlyMap<number, readonly Item[]>) =>
    [...items.values()].flat().filter((item) => !used.has(item)).length;
  const unpaired = keepsLoose ? ([0, 0] as const) : ([loose(first), loose(second)] as const);
  const tooFew = joined.blocks && tooFewBlocks(joined.blocks, compared);
  return report(pairedBy, joined, { pairs, unpaired, options, tooFew });
}

/** What is drawn together; the lower picture decides the block, so that exchanged slices give the same groups. */
function groupOfPair({ blocks }: JoinedSlices, one: number, two: number): string {
  const pair = [one, two].sort((a, b) => a - b);
  return blocks === undefined ? pair.join() : String(blocks.ofPicture[pair[0] ?? 0]);
}

function report(
  pairedBy: PairedBy,
  joined: JoinedSlices,
  {
    pairs,
    unpaired,
    options,
    tooFew,
  }: {
    readonly pairs: readonly Pair[];
    readonly unpaired: readonly [number, number];
    readonly options: PairingOptions;
    readonly tooFew?: string | undefined;
  },
): PairingReport {
  const { detections, classNames } = joined;
  const drift = (own: readonly Pair[], groupOf: (pair: Pair) => string) =>
    tooFew === undefined
      ? pairedDrift(
          scorePairs(own, groupOf, detections.scoreVariances !== undefined),
          options.threshold,
          options,
        )
      : noVerdict(tooFew);
  const classOf = ({ first, second }: Pair) => (first ?? second)?.classId;
  const classes = [...new Set(pairs.map(classOf))].sort((a = 0, b = 0) => a - b);
  const cameras = [...new Set(pairs.map(({ camera }) => camera))].sort();
  const gaps = pairs.flatMap(({ gapSeconds }) => gapSeconds ?? []).sort((a, b) => a - b);
  return {
    pairedBy,
    pairs: pairs.length,
    unpaired,
    medianGapSeconds: gaps[Math.floor(gaps.length / 2)] ?? null,
    byPicture: drift(pairs, ({ group }) => group),
    byCamera: drift(pairs, ({ camera }) => camera),
    perClass: classes.map((classId) => ({
      className: classNames[classId ?? 0] ?? '',
      drift: drift(
        pairs.filter((pair) => classOf(pair) === classId),
        ({ group }) => group,
      ),
    })),
    perCamera: cameras.map((camera) => {
      const own = pairs.filter((pair) => pair.camera === camera);
      const sum = own.reduce((total, pair) => total + scoreOf(pair.first) - scoreOf(pair.second), 0);
      return { camera, pairs: own.length, meanDrop: sum / own.length };
    }),
    scores: {
      first: pairs.map(({ first }) => scoreOf(first)),
      second: pairs.map(({ second }) => scoreOf(second)),
    },
  };
}

function scorePairs(
  pairs: readonly Pair[],
  groupOf: (pair: Pair) => string,
  withVariances: boolean,
): ScorePairs {
  const names = [...new Set(pairs.map(groupOf))].sort();
  const places = new Map(names.map((name, place) => [name, place]));
  const read = (value: (pair: Pair) => number) => Float64Array.from(pairs, value);
  return {
    first: read(({ first }) => scoreOf(first)),
    second: read(({ second }) => scoreOf(second)),
    groups: Int32Array.from(pairs, (pair) => places.get(groupOf(pair)) ?? 0),
    ...(withVariances
      ? {
          variances: {
            first: read((one) => one.first?.variance ?? 0),
            second: read((one) => one.second?.variance ?? 0),
          },
        }
      : {}),
  };
}

function scoreOf(item: Item | undefined): number {
  return item?.score ?? 0;
}
