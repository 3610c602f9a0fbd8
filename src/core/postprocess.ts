// From candidates in input px to detections in frame px: threshold, suppress, map back, clip.
import type { Box } from './box.ts';
import { clipBox } from './box.ts';
import { calibrateScore } from './calibration-map.ts';
import type { Candidates } from './candidates.ts';
import type { Decoder, ScoreFloor } from './decode/decoder.ts';
import type { Detection, ScoreDistribution, ScoreMixture } from './detection.ts';
import { ModelError } from './errors.ts';
import type { Letterbox } from './letterbox.ts';
import { toFrame, varianceToFrame } from './letterbox.ts';
import type { Kept, Suppressor } from './nms.ts';
import { createSuppressor } from './nms.ts';
import { calibratedVariance, rawFloor, rawScoresAround, type ScoreScale } from './score-scale.ts';
import type { SuppressionPolicy } from './suppression.ts';
import { suppressionRequirement } from './suppression.ts';
import type { Requirement, ScoredCandidate, ThresholdPolicy } from './threshold.ts';
import { accepts, scoreFloor, thresholdRequirement, whyUnavailable } from './threshold.ts';

export interface PostprocessOptions {
  readonly classNames: readonly string[];
  readonly threshold: ThresholdPolicy;
  readonly suppression: SuppressionPolicy;
  /** IoU in [0, 1]; strictly more suppresses. */
  readonly iou: number;
  /** Suppress across classes too. */
  readonly agnostic: boolean;
  /** Most detections per picture. */
  readonly maxDet: number;
  /** Most candidates that suppression looks at, best first. */
  readonly maxCandidates: number;
  /** Class ids to report; absent: all. */
  readonly classes?: readonly number[];
  /** Whether detections carry the distribution or mixture of their score, where the head has one. */
  readonly scoreLaws: boolean;
  /**
   * Scores are reported, and thresholds act, on this scale; suppression works on raw scores, as it did when the maps
   * were fitted. Absent: on the scale of the model.
   */
  readonly scale?: ScoreScale;
}

export const POSTPROCESS_DEFAULTS = {
  iou: 0.7,
  agnostic: false,
  maxDet: 300,
  maxCandidates: 30_000,
  scoreLaws: false,
} as const;

export interface Postprocessed {
  /** By score, highest first; ties by location in the head. */
  readonly detections: readonly Detection[];
  /** Candidates that passed the threshold. */
  readonly candidateCount: number;
  /** `maxDet` detections were found and candidates were left unread. */
  readonly detectionLimitReached: boolean;
  /** More than `maxCandidates` passed the threshold; the rest was not read. */
  readonly candidateLimitReached: boolean;
  /** Locations with a NaN or infinite score or box. */
  readonly nonFinite: number;
}

export interface Postprocessor {
  /** What to hand to `Decoder.decode`. */
  readonly floor: ScoreFloor;
  /** Changes the rule between two pictures (light, camera); `floor` follows. */
  useThreshold(threshold: ThresholdPolicy): void;
  /**
   * @param candidates as `decoder` returned them for the picture at hand, decoded with `floor`
   * @throws ModelError where a policy needs what the decoder does not give
   */
  process(candidates: Candidates, letterbox: Letterbox, decoder: Decoder): Postprocessed;
}

/** Threshold, suppress, calibrate, map back. */
export function createPostprocessor(options: PostprocessOptions): Postprocessor {
  return new ThresholdThenSuppress(options);
}

class ThresholdThenSuppress implements Postprocessor {
  floor: ScoreFloor;
  readonly #options: PostprocessOptions;
  readonly #suppressor: Suppressor;
  #threshold: ThresholdPolicy;
  #places = new Int32Array(0);
  readonly #view: CandidateView;

  constructor(options: PostprocessOptions) {
    this.#options = options;
    this.#threshold = options.threshold;
    this.#suppressor = createSuppressor({ ...options, policy: options.suppression });
    this.#view = new CandidateView(options.scale);
    this.floor = floorFor(options.threshold, options);
  }

  useThreshold(threshold: ThresholdPolicy): void {
    this.#threshold = threshold;
    this.floor = floorFor(threshold, this.#options);
  }

  process(candidates: Candidates, letterbox: Letterbox, decoder: Decoder): Postprocessed {
    expectServed(thresholdRequirement(this.#threshold), 'threshold', this.#threshold.kind, decoder);
    const { suppression } = this.#options;
    expectServed(suppressionRequirement(suppression), 'suppression', suppression.kind, decoder);
    this.#view.look(candidates, decoder);
    const count = this.#select(candidates);
    const kept = decoder.suppressed
      ? firstByScore(candidates, this.#places, count, this.#options.maxDet)
      : this.#suppressor.suppress(candidates, this.#places, count, (place, score) =>
          this.#accepts(place, score),
        );
    const detections = this.#detections(candidates, kept, letterbox, decoder);
    return {
      detections,
      candidateCount: count,
      detectionLimitReached: kept.detectionLimitReached,
      candidateLimitReached: kept.candidateLimitReached,
      nonFinite: decoder.nonFinite,
    };
  }

  /** Places of the candidates that the rule accepts, rising. */
  #select(candidates: Candidates): number {
    if (this.#places.length < candidates.count) {
      this.#places = new Int32Array(candidates.scores.length);
    }
    let count = 0;
    for (let place = 0; place < candidates.count; place++) {
      const { classes } = this.floor;
      if (classes !== undefined && classes[candidates.classIds[place]!] !== 1) continue;
      if (!this.#accepts(place, candidates.scores[place]!)) continue;
      this.#places[count++] = place;
    }
    return count;
  }

  #accepts(place: number, rawScore: number): boolean {
    const view = this.#view.at(place, rawScore);
    return view.isKnown && accepts(this.#threshold, view);
  }

  #detections(candidates: Candidates, kept: Kept, letterbox: Letterbox, decoder: Decoder): Detection[] {
    const found: { detection: Detection; place: number; keptScore: number }[] = [];
    for (let index = 0; index < kept.count; index++) {
      const place = kept.places[index]!;
      const keptScore = kept.scores[index]!;
      // A mean of scores is lower than the one that passed.
      if (keptScore < candidates.scores[place]! && !this.#accepts(place, keptScore)) continue;
      const moved = kept.boxes !== undefined;
      const box = clipBox(
        toFrame(letterbox, moved ? boxAt(kept.boxes, index) : boxAt(candidates.boxes, place)),
        letterbox.frame.width,
        letterbox.frame.height,
      );
      if (box === undefined) continue;
      const view = this.#view.at(place, keptScore);
      const variances = moved ? kept.boxVariances : candidates.boxVariances;
      const detection: Detection = {
        box,
        classId: view.classId,
        className: this.#options.classNames[view.classId] ?? String(view.classId),
        score: view.score,
        rawScore: candidates.scores[place]!,
        ...view.certainty,
        ...(variances && {
          boxVariance: varianceToFrame(letterbox, boxAt(variances, moved ? index : place)),
        }),
        ...(this.#options.scoreLaws && lawAt(candidates, place, decoder)),
      };
      found.push({ detection, place, keptScore });
    }
    // Plateaus of a map make ties that the raw scores can part.
    found.sort(
      (a, b) => b.detection.score - a.detection.score || b.keptScore - a.keptScore || a.place - b.place,
    );
    return found.map(({ detection }) => detection);
  }
}

function floorFor(
  threshold: ThresholdPolicy,
  { classNames, classes, scale }: PostprocessOptions,
): ScoreFloor {
  const floor = scoreFloor(threshold, classNames.length, classes);
  return scale === undefined ? floor : rawFloor(floor, scale, classNames.length);
}

/**
 * A candidate as threshold policies see it, on the scale that is reported; one object for all, because there can be
 * 30,000. The variance is looked up when asked for.
 */
class CandidateView implements ScoredCandidate {
  classId = 0;
  score = 0;
  /** Whether the maps were fitted on scores like this. */
  isKnown = true;
  readonly #scale: ScoreScale | undefined;
  #map: ScoreScale['maps'][number] | undefined;
  #place = 0;
  #rawScore = 0;
  #candidates: Candidates | undefined;
  #decoder: Decoder | undefined;

  constructor(scale: ScoreScale | undefined) {
    this.#scale = scale;
  }

  look(candidates: Candidates, decoder: Decoder): void {
    this.#candidates = candidates;
    this.#decoder = decoder;
  }

  at(place: number, rawScore: number): this {
    this.#place = place;
    this.#rawScore = rawScore;
    this.classId = this.#candidates!.classIds[place]!;
    this.#map = this.#scale?.maps[this.classId];
    this.score = this.#map ? calibrateScore(this.#map, rawScore) : rawScore;
    this.isKnown = !this.#map || rawScore >= this.#scale!.minScore;
    return this;
  }

  get variance(): number {
    const variance = this.#candidates!.scoreVariances?.[this.#place] ?? 0;
    if (!this.#map) return variance;
    return calibratedVariance(this.#map, { score: this.#rawScore, variance }, this.#law());
  }

  /** Of a score that suppression left as it was; a lowered one has none. */
  #law(): ScoreDistribution | ScoreMixture | undefined {
    const { anchors, scores } = this.#candidates!;
    if (this.#rawScore !== scores[this.#place]) return undefined;
    const { scoreLaw } = this.#decoder!;
    const anchor = anchors[this.#place]!;
    return scoreLaw?.distribution(anchor, this.classId) ?? scoreLaw?.mixture(anchor, this.classId);
  }

  /** What a detection says of its score. */
  get certainty(): Pick<Detection, 'scoreVariance' | 'scoreVarianceEpistemic'> {
    const { scoreVariances, scoreVariancesEpistemic } = this.#candidates!;
    if (scoreVariances === undefined) return {};
    const raw = scoreVariances[this.#place]!;
    const scoreVariance = this.variance;
    if (scoreVariancesEpistemic === undefined) return { scoreVariance };
    // The map moves both parts alike.
    const share = this.#map && raw > 0 ? scoreVariance / raw : 1;
    return { scoreVariance, scoreVarianceEpistemic: scoreVariancesEpistemic[this.#place]! * share };
  }

  tailMass(base: number): number {
    const level = this.#map ? rawScoresAround(this.#map, base).reached : base;
    if (level === Infinity) return 0;
    const anchor = this.#candidates!.anchors[this.#place]!;
    return this.#decoder!.scoreLaw!.tailMass(anchor, this.classId, level);
  }
}

/** For heads that suppressed their rows themselves: order and limit only. */
function firstByScore(candidates: Candidates, places: Int32Array, count: number, maxDet: number): Kept {
  const { scores } = candidates;
  const order = places.slice(0, count).sort((a, b) => scores[b]! - scores[a]! || a - b);
  const kept = order.subarray(0, maxDet);
  return {
    count: kept.length,
    places: kept,
    scores: Float32Array.from(kept, (place) => scores[place]!),
    detectionLimitReached: count > maxDet,
    candidateLimitReached: false,
  };
}

function boxAt(rows: Float32Array, place: number): Box<'input'> {
  const first = 4 * place;
  return { x1: rows[first]!, y1: rows[first + 1]!, x2: rows[first + 2]!, y2: rows[first + 3]! };
}

function lawAt({ anchors, classIds }: Candidates, place: number, { scoreLaw }: Decoder) {
  const distribution = scoreLaw?.distribution(anchors[place]!, classIds[place]!);
  const mixture = scoreLaw?.mixture(anchors[place]!, classIds[place]!);
  return { ...(distribution && { distribution }), ...(mixture && { mixture }) };
}

function expectServed(requirement: Requirement, what: string, kind: string, decoder: Decoder): void {
  const reason = whyUnavailable(requirement, {
    scoreVariance: decoder.scoreVariance,
    epistemic: decoder.epistemic,
    boxVariance: decoder.boxVariance,
    distribution: decoder.scoreLaw?.form ?? 'none',
    limits: [],
  });
  if (reason === undefined) return;
  const plain = what === 'threshold' ? 'fixed' : 'hard';
  throw new ModelError(`${what} '${kind}' cannot be used: ${reason}`, {
    hint: `use ${what} '${plain}' with this model; \`edge-detect inspect\` says what a model can tell`,
  });
}
