// What a loop works on: a trainable part, who differentiates it, who judges it, and where batches come from.
import type { TrainablePart } from '#onnx';
import type { DetectionCriterion } from './detection-criterion.ts';
import type { Engine, ParameterValues } from './engines/engine.ts';
import type { BatchSource } from './pictures/batch-source.ts';
import type { ValidationResult } from './validate.ts';

export interface TrainingSetup {
  readonly part: TrainablePart;
  readonly engine: Engine;
  readonly criterion: DetectionCriterion;
  readonly classCount: number;
  /** Values before an adaptation whose class logits the new ones are held to; absent without a logit range. */
  readonly reference?: ParameterValues;
  /** Probability that a channel before the prediction layers is dropped. */
  readonly dropout: number;
  readonly source: Pick<BatchSource, 'batchesPerEpoch' | 'epoch'>;
  /** Judges averaged weights on the validation pictures; undefined where the set has none. */
  validate(values: ParameterValues): Promise<ValidationResult | undefined>;
}
