// The range that the class logits of a model of ours had in training, class by class, in its metadata: what an
// adaptation is held to where there is no class layer of the same classes.
import { type LogitRange, ModelError } from '#core';
import { ownFormat } from './head-finder/own-format.ts';
import type { ModelMetadata } from './metadata.ts';

/** Of one class, over the anchors that were assigned to its objects. */
export interface ClassLogitRange extends Readonly<LogitRange> {
  /** Anchors that it was measured on. */
  readonly positives: number;
}

/** Metadata key `edge_detect`, entry `logitRanges`. */
export interface StoredLogitRanges {
  /** What `least` and `greatest` are, in words. */
  readonly statistic: string;
  /** By class name; a class with too few positives is left out. */
  readonly classes: Readonly<Record<string, ClassLogitRange>>;
}

/**
 * @returns undefined where the model stores none
 * @throws ModelError where they are faulty
 */
export function readLogitRanges(metadata: ModelMetadata): StoredLogitRanges | undefined {
  if (ownFormat(metadata) === undefined) return undefined;
  const { logitRanges } = JSON.parse(metadata.edgeDetect ?? '') as { readonly logitRanges?: unknown };
  if (logitRanges === undefined) return undefined;
  if (isStored(logitRanges)) return logitRanges;
  throw new ModelError('the ranges of class logits in the metadata key edge_detect are faulty', {
    hint: 'expected logitRanges: {statistic, classes: {name: {least, greatest, positives}}}; train the model again',
  });
}

function isStored(value: unknown): value is StoredLogitRanges {
  const { statistic, classes } = (value ?? {}) as Partial<StoredLogitRanges>;
  return (
    typeof statistic === 'string' &&
    typeof classes === 'object' &&
    classes !== null &&
    Object.values(classes).every(
      ({ least, greatest, positives }) =>
        [least, greatest, positives].every(Number.isFinite) && least <= greatest,
    )
  );
}

/**
 * @returns ranges by class id, and the names that have none
 */
export function rangesOfClasses(
  stored: StoredLogitRanges | undefined,
  classNames: readonly string[],
): { readonly ranges: readonly Readonly<LogitRange>[]; readonly missing: readonly string[] } {
  const of = (name: string) =>
    stored !== undefined && Object.hasOwn(stored.classes, name) ? stored.classes[name] : undefined;
  return {
    ranges: classNames.flatMap((name) => of(name) ?? []),
    missing: classNames.filter((name) => of(name) === undefined),
  };
}
