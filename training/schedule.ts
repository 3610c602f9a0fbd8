// The learning rate over a run: linear warm-up, then half a cosine down to a fraction of the peak.

export interface ScheduleConfig {
  /** Peak learning rate. */
  readonly lr0: number;
  /** Last learning rate as a fraction of the peak. */
  readonly lrf: number;
  /** Epochs of warm-up, fractions allowed; at most a third of the run. */
  readonly warmupEpochs: number;
}

/** Learning rate of step `step` (from 0) of `totalSteps` (Loshchilov and Hutter, 2017, one cycle). */
export function learningRate(
  { lr0, lrf, warmupEpochs }: ScheduleConfig,
  step: number,
  totalSteps: number,
  stepsPerEpoch: number,
): number {
  const warmup = Math.min(Math.round(warmupEpochs * stepsPerEpoch), Math.floor(totalSteps / 3));
  if (step < warmup) return (lr0 * (step + 1)) / warmup;
  const progress = (step - warmup) / Math.max(1, totalSteps - warmup);
  return lr0 * (lrf + (1 - lrf) * 0.5 * (1 + Math.cos(Math.PI * Math.min(1, progress))));
}
