// Averaged weights on the validation pictures: losses, average precision, and whether the scores mean what they say.
import { createDecoder, createPostprocessor, type Detection, HARD_SUPPRESSION } from '#core';
import type { LabelledPicture } from '#data/datasets';
import { type EvaluationReport, evaluatePredictions, type PicturePrediction } from '#evaluate';
import type { HeadSpec, TrainablePart } from '#onnx';
import type { Criterion, LossTerms } from './criterion.ts';
import { dropoutMasks } from './dropout.ts';
import type { Engine, ParameterValues, Tensors } from './engines/engine.ts';
import type { BatchSource, ValidationBatch } from './pictures/batch-source.ts';
import { createTermMeans } from './term-means.ts';
import { createWireReader } from './wire-outputs.ts';

export interface ValidationResult {
  readonly terms: LossTerms;
  /** What `best` is chosen by: 0.1 · AP50 + 0.9 · AP, as the field does. */
  readonly fitness: number;
  /** At the confidence of the best mean F1, IoU 0.5. */
  readonly precision: number;
  readonly recall: number;
  /** COCO AP at IoU 0.5, and over 0.5:0.95, in [0, 1]. */
  readonly ap50: number;
  readonly ap: number;
  /** Detection calibration errors of raw scores, in [0, 1]; NaN where there is nothing to measure. */
  readonly dEce: number;
  readonly laEce0: number;
  /** Mean standard deviation of the score over the detections; NaN without any. */
  readonly meanScoreStd: number;
  readonly report: EvaluationReport;
  /** Detections of every validation picture, in order, in px of the picture. */
  readonly predictions: readonly PicturePrediction[];
}

export interface ValidatorParts {
  readonly spec: HeadSpec;
  readonly part: TrainablePart;
  readonly engine: Engine;
  readonly criterion: Criterion;
  readonly source: Pick<BatchSource, 'validation' | 'validationCount'>;
  /** What a logit range is held to. */
  readonly reference?: ParameterValues;
}

/** Scores below take no part: AP needs the tail, and a longer one changes it in the fourth digit. */
const LEAST_SCORE = 0.001;

/** @returns undefined where the set has no validation pictures */
export function createValidator({ spec, part, engine, criterion, source, reference }: ValidatorParts) {
  const detect = createBatchDetector(spec);
  return async (values: ParameterValues, signal?: AbortSignal): Promise<ValidationResult | undefined> => {
    if (source.validationCount === 0) return undefined;
    const means = createTermMeans();
    const predictions: PicturePrediction[] = [];
    const pictures: LabelledPicture[] = [];
    for await (const batch of source.validation(signal ? { signal } : {})) {
      const inputs: Tensors = new Map([...batch.inputs, ...dropoutMasks(part, batch.names.length, 0)]);
      const { outputs } = await engine.forward(inputs, values, { mode: 'evaluate' });
      const held = reference && (await engine.forward(inputs, reference, { mode: 'evaluate' }));
      means.add(criterion.evaluate(outputs, batch.targets, held?.outputs).terms, batch.names.length);
      predictions.push(...detect(outputs, batch));
      pictures.push(...batch.pictures);
    }
    const { classNames } = spec;
    const report = evaluatePredictions(
      { classNames, pictures },
      { classNames, pictures: predictions },
      { resamples: 0 },
    );
    return { ...summary(report, predictions), terms: means.value(), report, predictions };
  };
}

/** Detections of one batch, by the decoder and the suppression that `stream` uses. */
function createBatchDetector(spec: HeadSpec) {
  const reader = createWireReader(spec);
  const decoder = createDecoder(reader.layout, { input: spec.input, boxVariance: false });
  const postprocessor = createPostprocessor({
    classNames: spec.classNames,
    threshold: { kind: 'fixed', base: LEAST_SCORE },
    suppression: HARD_SUPPRESSION,
    iou: 0.7,
    agnostic: false,
    maxDet: 300,
    maxCandidates: 30_000,
    scoreLaws: true,
  });
  return (outputs: Tensors, batch: ValidationBatch): PicturePrediction[] =>
    batch.letterboxes.map((letterbox, picture) => {
      const wire = reader.read(outputs, picture, LEAST_SCORE);
      const candidates = decoder.decode(wire, postprocessor.floor);
      return {
        detections: postprocessor.process(candidates, letterbox, decoder).detections,
        size: letterbox.frame,
      };
    });
}

function summary(report: EvaluationReport, predictions: readonly PicturePrediction[]) {
  const { ap, ap50, bestF1 } = report.averagePrecision;
  const [ap50OrZero, apOrZero] = [ap50 ?? 0, ap ?? 0];
  return {
    fitness: 0.1 * ap50OrZero + 0.9 * apOrZero,
    precision: bestF1?.precision ?? 0,
    recall: bestF1?.recall ?? 0,
    ap50: ap50OrZero,
    ap: apOrZero,
    dEce: report.calibration.dEce.measured?.error ?? Number.NaN,
    laEce0: report.calibration.quality.laEce.mean ?? Number.NaN,
    meanScoreStd: meanStd(predictions.flatMap(({ detections }) => detections)),
  };
}

function meanStd(detections: readonly Detection[]): number {
  const total = detections.reduce((sum, { scoreVariance = 0 }) => sum + Math.sqrt(scoreVariance), 0);
  return total / detections.length;
}
