// Changes between two slices as means over pictures, within cameras and pooled.
import {
  type ComparedPictures,
  type Confidences,
  conditionEffect,
  drawnCalibration,
  type Effect,
  noVerdict,
  type RatioPerPicture,
  type Resampling,
  tallyAt,
} from '#core';
import { type JoinedSlices, picturesOf } from './joined-slices.ts';
import { type Item, objectItems } from './pair-items.ts';
import { LEAST_PICTURES } from './slice-figures.ts';
import { blocksOfCondition, ratioPerBlock, type TimeBlocks, tooFewBlocks } from './time-blocks.ts';

/** Figures that need labels are absent without them. Changes are second − first. */
export interface SliceEffects {
  /** Mean score of detections from `seenScore` on. */
  readonly meanScore: Effect;
  /** Boxes per picture at the threshold. */
  readonly boxesPerPicture: Effect;
  /** Mean score of the detection that found an object, 0 for one that was not found. */
  readonly objectScore?: Effect;
  /** Share of the objects found at the threshold, and of the boxes that are right. */
  readonly recall?: Effect;
  readonly precision?: Effect;
  readonly falseAlarmsPerPicture?: Effect;
  /** Mean score − hit (IoU .5, scores from .3), and score − IoU (scores from .01): above 0 is over-confident. */
  readonly signedCorrect?: Effect;
  readonly signedQuality?: Effect;
}

export interface EffectOptions extends Resampling {
  readonly threshold: number;
  readonly seenScore: number;
  readonly maxDets: number;
}

/** Names of the effects that a joined table allows, each a ratio of sums over pictures. */
export function ratiosOf(
  joined: JoinedSlices,
  { threshold, seenScore, maxDets }: EffectOptions,
): ReadonlyMap<keyof SliceEffects, RatioPerPicture> {
  const { detections, labelled } = joined;
  const pictureCount = joined.pictures.length;
  const ones = new Float64Array(pictureCount).fill(1);
  const sums = (add: (numerators: Float64Array, denominators: Float64Array, picture: number) => void) => {
    const ratio = {
      numerators: new Float64Array(pictureCount),
      denominators: new Float64Array(pictureCount),
    };
    for (let picture = 0; picture < pictureCount; picture++)
      add(ratio.numerators, ratio.denominators, picture);
    return ratio;
  };
  const scoresIn = (picture: number) =>
    detections.scores.subarray(detections.starts[picture], detections.starts[picture + 1]);
  const ratios = new Map<keyof SliceEffects, RatioPerPicture>();
  ratios.set(
    'meanScore',
    sums((numerators, denominators, picture) => {
      const seen = scoresIn(picture).filter((score) => score >= seenScore);
      numerators[picture] = seen.reduce((sum, score) => sum + score, 0);
      denominators[picture] = seen.length;
    }),
  );
  ratios.set('boxesPerPicture', {
    numerators: Float64Array.from(
      ones,
      (_, picture) => scoresIn(picture).filter((score) => score >= threshold).length,
    ),
    denominators: ones,
  });
  if (labelled === undefined) return ratios;
  const { hits, kept, positives } = tallyAt(labelled.pooled, threshold);
  ratios.set('objectScore', objectScores(joined, { seenScore, maxDets }));
  ratios.set('recall', { numerators: Float64Array.from(hits), denominators: Float64Array.from(positives) });
  ratios.set('precision', { numerators: Float64Array.from(hits), denominators: Float64Array.from(kept) });
  ratios.set('falseAlarmsPerPicture', {
    numerators: Float64Array.from(kept, (boxes, picture) => boxes - (hits[picture] ?? 0)),
    denominators: ones,
  });
  const { correct, quality } = drawnCalibration(labelled.truth, detections, {
    classCount: joined.classNames.length,
    maxDets,
  });
  ratios.set('signedCorrect', signedErrors(correct, pictureCount));
  ratios.set('signedQuality', signedErrors(quality, pictureCount));
  return ratios;
}

export function effectsOf(
  ratios: ReadonlyMap<keyof SliceEffects, RatioPerPicture>,
  compared: ComparedPictures,
  { blocks, ...resampling }: Resampling & { readonly blocks: TimeBlocks | undefined },
): SliceEffects {
  const few = blocks === undefined ? tooFewPictures(compared) : tooFewBlocks(blocks, compared);
  const effects = [...ratios].map(([name, ratio]) => {
    const effect =
      blocks === undefined
        ? conditionEffect(ratio, compared, resampling)
        : effectOverBlocks(ratio, compared, { blocks, resampling });
    return [name, few === undefined ? effect : withoutVerdict(effect, few)];
  });
  return Object.fromEntries(effects) as SliceEffects;
}

function effectOverBlocks(
  ratio: RatioPerPicture,
  { first, second }: ComparedPictures,
  { blocks, resampling }: { readonly blocks: TimeBlocks; readonly resampling: Resampling },
): Effect {
  const effect = conditionEffect(
    ratioPerBlock(blocks, ratio),
    { first: blocksOfCondition(blocks, first), second: blocksOfCondition(blocks, second) },
    resampling,
  );
  const pictures = (condition: ComparedPictures['first'], camera: string) =>
    condition.cameras.get(camera)?.length ?? 0;
  return {
    ...effect,
    perCamera: effect.perCamera.map((one) => ({
      ...one,
      pictures: [pictures(first, one.camera), pictures(second, one.camera)],
    })),
  };
}

function tooFewPictures({ first, second }: ComparedPictures): string | undefined {
  const few = [first, second].find((condition) => picturesOf(condition).length < LEAST_PICTURES);
  return (
    few && `${few.name} has ${picturesOf(few).length} pictures; a change needs ${LEAST_PICTURES} or more`
  );
}

/** What was counted camera by camera stays; what would be said of it does not. */
function withoutVerdict(effect: Effect, reason: string): Effect {
  const none = noVerdict(reason);
  return {
    ...effect,
    ...{ first: none, second: none, pooled: none, within: none, byCamera: none },
    signsDisagree: false,
  };
}

function objectScores(
  joined: JoinedSlices,
  options: { readonly seenScore: number; readonly maxDets: number },
): RatioPerPicture {
  const numerators = new Float64Array(joined.pictures.length);
  const denominators = new Float64Array(joined.pictures.length);
  const items: Item[] = [...joined.conditions.values()].flatMap((condition) =>
    objectItems(joined, condition, options),
  );
  for (const { picture, score } of items) {
    numerators[picture] = (numerators[picture] ?? 0) + score;
    denominators[picture] = (denominators[picture] ?? 0) + 1;
  }
  return { numerators, denominators };
}

function signedErrors(
  { confidences, targets, pictures }: Confidences,
  pictureCount: number,
): RatioPerPicture {
  const numerators = new Float64Array(pictureCount);
  const denominators = new Float64Array(pictureCount);
  for (const [row, picture] of pictures.entries()) {
    numerators[picture] = (numerators[picture] ?? 0) + (confidences[row] ?? 0) - (targets[row] ?? 0);
    denominators[picture] = (denominators[picture] ?? 0) + 1;
  }
  return { numerators, denominators };
}
