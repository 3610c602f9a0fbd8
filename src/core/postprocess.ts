// From candidates in input px to detections in frame px: threshold, suppress, map back, clip.
import type { Box } from './box.ts';
import { clipBox } from './box.ts';
import type { Candidates } from './candidates.ts';
import type { Decoder, ScoreFloor } from './decode/decoder.ts';
import type { Detection } from './detection.ts';
import { ModelError } from './errors.ts';
import type { Letterbox } from './letterbox.ts';
import { toFrame, varianceToFrame } from './letterbox.ts';
import type { Kept, Suppressor } from './nms.ts';
import { createSuppressor } from './nms.ts';
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

/** Calibration, voting and fusion are not part of it; see the options for what is. */
export function createPostprocessor(options: PostprocessOptions): Postprocessor {
  return new ThresholdThenSuppress(options);
}

class ThresholdThenSuppress implements Postprocessor {
  floor: ScoreFloor;
  readonly #options: PostprocessOptions;
  readonly #suppressor: Suppressor;
  #threshold: ThresholdPolicy;
  #places = new Int32Array(0);
  #view = new CandidateView();

  constructor(options: PostprocessOptions) {
    this.#options = options;
    this.#threshold = options.threshold;
    this.#suppressor = createSuppressor({ ...options, policy: options.suppression });
    this.floor = scoreFloor(options.threshold, options.classNames.length, options.classes);
  }

  useThreshold(threshold: ThresholdPolicy): void {
    this.#threshold = threshold;
    this.floor = scoreFloor(threshold, this.#options.classNames.length, this.#options.classes);
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
          accepts(this.#threshold, this.#view.at(place, score)),
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
      if (!accepts(this.#threshold, this.#view.at(place, candidates.scores[place]!))) continue;
      this.#places[count++] = place;
    }
    return count;
  }

  #detections(candidates: Candidates, kept: Kept, letterbox: Letterbox, decoder: Decoder): Detection[] {
    const found: { detection: Detection; place: number }[] = [];
    for (let index = 0; index < kept.count; index++) {
      const place = kept.places[index]!;
      const box = clipBox(
        toFrame(letterbox, boxAt(candidates, place)),
        letterbox.frame.width,
        letterbox.frame.height,
      );
      if (box === undefined) continue;
      const classId = candidates.classIds[place]!;
      const detection: Detection = {
        box,
        classId,
        className: this.#options.classNames[classId] ?? String(classId),
        score: kept.scores[index]!,
        rawScore: candidates.scores[place]!,
        ...certaintyAt(candidates, place, letterbox),
        ...(this.#options.scoreLaws && lawAt(candidates, place, decoder)),
      };
      found.push({ detection, place });
    }
    found.sort((a, b) => b.detection.score - a.detection.score || a.place - b.place);
    return found.map(({ detection }) => detection);
  }
}

/** A candidate as threshold policies see it; one object for all, because there can be 30,000. */
class CandidateView implements ScoredCandidate {
  classId = 0;
  score = 0;
  variance = 0;
  #anchor = 0;
  #candidates: Candidates | undefined;
  #decoder: Decoder | undefined;

  look(candidates: Candidates, decoder: Decoder): void {
    this.#candidates = candidates;
    this.#decoder = decoder;
  }

  at(place: number, score: number): this {
    const candidates = this.#candidates!;
    this.score = score;
    this.classId = candidates.classIds[place]!;
    this.variance = candidates.scoreVariances?.[place] ?? 0;
    this.#anchor = candidates.anchors[place]!;
    return this;
  }

  tailMass(base: number): number {
    return this.#decoder!.scoreLaw!.tailMass(this.#anchor, this.classId, base);
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

function boxAt({ boxes }: Candidates, place: number): Box<'input'> {
  const first = 4 * place;
  return { x1: boxes[first]!, y1: boxes[first + 1]!, x2: boxes[first + 2]!, y2: boxes[first + 3]! };
}

function certaintyAt(candidates: Candidates, place: number, letterbox: Letterbox) {
  const { scoreVariances, scoreVariancesEpistemic, boxVariances } = candidates;
  const first = 4 * place;
  return {
    ...(scoreVariances && { scoreVariance: scoreVariances[place]! }),
    ...(scoreVariancesEpistemic && { scoreVarianceEpistemic: scoreVariancesEpistemic[place]! }),
    ...(boxVariances && {
      boxVariance: varianceToFrame(letterbox, {
        x1: boxVariances[first]!,
        y1: boxVariances[first + 1]!,
        x2: boxVariances[first + 2]!,
        y2: boxVariances[first + 3]!,
      }),
    }),
  };
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
