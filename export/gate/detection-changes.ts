// How far the detections of a rewritten model lie from those of the model it was made of, on the same pictures.
import type { Detection, Size } from '#core';
import { matchDetections } from '#core';
import { detectionTable, type PicturePrediction } from '#evaluate';

/** A distribution of absolute changes. */
export interface Spread {
  readonly p50: number;
  readonly p99: number;
  readonly largest: number;
  /** Mean of the signed changes, artefact − source. */
  readonly mean: number;
}

export interface DetectionChanges {
  /** Boxes with a score of `minScore` or more. */
  readonly sourceBoxes: number;
  readonly artefactBoxes: number;
  /**
   * Share of the source's boxes that the artefact has, too: same class, IoU of .5 or more, a score of half `minScore`
   * or more (a box that only crosses the threshold is a change of its score, not a lost box). Null without boxes.
   */
  readonly found: number | null;
  /** Share of the artefact's boxes that the source has, by the same rule. */
  readonly known: number | null;
  /** Largest change of an edge of a box, in px of the network's input. */
  readonly boxPx: Spread | null;
  readonly score: Spread | null;
  /** Change of the standard deviation of the score; null where one of the two cannot say. */
  readonly scoreStd: Spread | null;
  /** Places in the list of pictures, worst first: lost and new boxes, then the largest change of a score. */
  readonly worst: readonly PictureChange[];
}

export interface PictureChange {
  readonly picture: number;
  readonly lost: number;
  readonly added: number;
  readonly largestScore: number;
  readonly largestBoxPx: number;
}

export interface ChangeOptions {
  /** Least score of the boxes that are looked at. Default .25. */
  readonly minScore?: number;
  /** Most pictures in `worst`. Default 5. */
  readonly worstCount?: number;
}

const MATCH_IOU = 0.5;

/**
 * @param source predictions of the model as it was, with scores down to half of `minScore` or lower
 * @param artefact predictions of the rewritten model in the same pictures
 * @param input size of the network's input in px
 */
export function detectionChanges(
  source: readonly PicturePrediction[],
  artefact: readonly PicturePrediction[],
  classCount: number,
  input: Size,
  { minScore = 0.25, worstCount = 5 }: ChangeOptions = {},
): DetectionChanges {
  const forward = matchPictures(source, artefact, classCount, minScore);
  const backward = matchPictures(artefact, source, classCount, minScore);
  const pairs = forward.pairs.map(({ picture, wanted, other }) => {
    const change = changeOf(wanted, other, scaleOf(source[picture]?.size, input));
    return { picture, ...change };
  });
  const stds = pairs.flatMap(({ std }) => (std === undefined ? [] : [std]));
  return {
    sourceBoxes: forward.count,
    artefactBoxes: backward.count,
    found: share(forward),
    known: share(backward),
    boxPx: spreadOf(pairs.map(({ boxPx }) => boxPx)),
    score: spreadOf(pairs.map(({ score }) => score)),
    scoreStd: stds.length < pairs.length ? null : spreadOf(stds),
    worst: worstPictures({ pairs, lost: forward.unmatched, added: backward.unmatched }, source.length).slice(
      0,
      worstCount,
    ),
  };
}

interface Matches {
  /** Boxes of `minScore` or more. */
  readonly count: number;
  readonly pairs: readonly Pair[];
  /** Boxes without a partner, by picture. */
  readonly unmatched: readonly number[];
}

interface Pair {
  readonly picture: number;
  readonly wanted: Detection;
  readonly other: Detection;
}

/** Partners among `others` for every one of `wanted`. */
function matchPictures(
  wanted: readonly PicturePrediction[],
  others: readonly PicturePrediction[],
  classCount: number,
  minScore: number,
): Matches {
  const [targets, candidates] = [withScores(wanted, minScore), withScores(others, minScore / 2)];
  const [flatTargets, flatCandidates] = [targets, candidates].map((pictures) =>
    pictures.flatMap(({ detections }, picture) => detections.map((detection) => ({ picture, detection }))),
  ) as [Row[], Row[]];
  const classIds = Array.from({ length: classCount }, (_, id) => id);
  const [truth, detections] = [detectionTable(targets, classIds), detectionTable(candidates, classIds)];
  const areas = Float64Array.from(
    flatTargets,
    ({ detection: { box } }) => (box.x2 - box.x1) * (box.y2 - box.y1),
  );
  const { objects } = matchDetections(
    { ...truth, areas, kinds: new Uint8Array(flatTargets.length) },
    detections,
    { classCount, maxDets: Infinity, iou: MATCH_IOU },
  );
  const unmatched = targets.map(({ detections: { length } }) => length);
  const pairs: Pair[] = [];
  for (const [row, found] of objects.entries()) {
    const [target, candidate] = [flatTargets[found], flatCandidates[row]];
    if (target === undefined || candidate === undefined) continue;
    const { picture } = target;
    pairs.push({ picture, wanted: target.detection, other: candidate.detection });
    unmatched[picture] = (unmatched[picture] ?? 0) - 1;
  }
  return { count: flatTargets.length, pairs, unmatched };
}

interface Row {
  readonly picture: number;
  readonly detection: Detection;
}

function withScores(pictures: readonly PicturePrediction[], least: number): readonly PicturePrediction[] {
  return pictures.map(({ detections, size }) => ({
    size,
    detections: detections.filter(({ score }) => score >= least),
  }));
}

/** Px of the input per px of the picture: of the letterbox; of a stretched picture, along the axis that shrinks more. */
function scaleOf(frame: Size | undefined, input: Size): number {
  if (frame === undefined) return 1;
  return Math.min(input.width / frame.width, input.height / frame.height);
}

function changeOf(before: Detection, after: Detection, scale: number) {
  const edges = (['x1', 'y1', 'x2', 'y2'] as const).map((edge) =>
    Math.abs(after.box[edge] - before.box[edge]),
  );
  const known = before.scoreVariance !== undefined && after.scoreVariance !== undefined;
  return {
    boxPx: scale * Math.max(...edges),
    score: after.score - before.score,
    std: known ? Math.sqrt(after.scoreVariance) - Math.sqrt(before.scoreVariance) : undefined,
  };
}

/**
 * Two overlapping boxes of nearly one score may change places in the suppression, which moves a pair far. Among this many
 * pairs one such pair must not decide, so p99 leaves at least one out; of fewer it is the largest.
 */
const ONE_MAY_DIFFER = 20;

function spreadOf(changes: readonly number[]): Spread | null {
  const count = changes.length;
  if (count === 0) return null;
  const sizes = Float64Array.from(changes, Math.abs).sort();
  const leftOut = count < ONE_MAY_DIFFER ? 0 : Math.max(1, Math.floor(0.01 * count));
  const mean = changes.reduce((sum, change) => sum + change, 0) / count;
  return {
    p50: sizes[Math.ceil(0.5 * count) - 1] ?? 0,
    p99: sizes[count - 1 - leftOut] ?? 0,
    largest: sizes[count - 1] ?? 0,
    mean,
  };
}

function share({ count, pairs }: Matches): number | null {
  return count === 0 ? null : pairs.length / count;
}

interface PictureParts {
  readonly pairs: readonly { readonly picture: number; readonly score: number; readonly boxPx: number }[];
  readonly lost: readonly number[];
  readonly added: readonly number[];
}

function worstPictures({ pairs, lost, added }: PictureParts, count: number): PictureChange[] {
  const changes = Array.from({ length: count }, (_, picture) => ({
    picture,
    lost: lost[picture] ?? 0,
    added: added[picture] ?? 0,
    largestScore: 0,
    largestBoxPx: 0,
  }));
  for (const { picture, score, boxPx } of pairs) {
    const change = changes[picture];
    if (change === undefined) continue;
    change.largestScore = Math.max(change.largestScore, Math.abs(score));
    change.largestBoxPx = Math.max(change.largestBoxPx, boxPx);
  }
  return changes.sort(
    (a, b) =>
      b.lost + b.added - (a.lost + a.added) || b.largestScore - a.largestScore || a.picture - b.picture,
  );
}
