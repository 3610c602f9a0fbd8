// Writes what thresholds-file.ts reads: thresholds per class from operating points, for all of the data and per condition.
import { ConfigError } from './errors.ts';
import type { OperatingPoints } from './operating-points.ts';
import type { SuppressionPolicy } from './suppression.ts';
import { parseThresholdsFile, type ThresholdsFile } from './thresholds-file.ts';

export interface ThresholdsFileParts {
  /** Of the model file, 64 hex digits. */
  readonly modelSha256: string;
  /** Which number the points were chosen on. */
  readonly score: 'raw' | 'calibrated';
  /** What made the boxes that they were chosen on. */
  readonly suppression: SuppressionPolicy;
  readonly iou: number;
  readonly agnostic?: boolean;
  /** By class id. */
  readonly classNames: readonly string[];
  readonly points: OperatingPoints;
  /** Threshold of classes without a verdict. Default: that of all classes pooled. */
  readonly otherwise?: number;
  /** Points chosen on the pictures of one light state or place only; classes without a verdict there take the general one. */
  readonly conditions?: Readonly<Record<string, OperatingPoints>>;
  readonly hysteresis?: NonNullable<ThresholdsFile['hysteresis']>;
}

/**
 * Only classes with a verdict are named; `*` stands for the rest.
 * @throws ConfigError where neither `otherwise` is given nor all classes pooled have a verdict
 */
export function buildThresholdsFile(parts: ThresholdsFileParts): ThresholdsFile {
  const { modelSha256, score, suppression, iou, agnostic = false, classNames, points } = parts;
  const others = parts.otherwise ?? points.pooled.chosen?.threshold;
  if (others === undefined) {
    throw new ConfigError(
      `no threshold for classes without a verdict: all ${points.pooled.objects} objects together give none (${points.pooled.why})`,
      { hint: 'give the threshold of the other classes, or more labelled pictures' },
    );
  }
  const table = ({ perClass }: OperatingPoints) =>
    Object.fromEntries(
      perClass.flatMap(({ classId, chosen }) =>
        classId === null || chosen === undefined ? [] : [[nameOf(classId, classNames), chosen.threshold]],
      ),
    );
  const conditions = Object.entries(parts.conditions ?? {}).map(([name, own]) => [name, table(own)] as const);
  return {
    version: 1,
    modelSha256: modelSha256.toLowerCase(),
    score,
    suppression: { ...suppression, iou, agnostic },
    classes: { '*': others, ...table(points) },
    conditions: Object.fromEntries(conditions),
    cameras: {},
    ...(parts.hysteresis && { hysteresis: parts.hysteresis }),
  };
}

/**
 * JSON that `parseThresholdsFile` reads back to an equal value, with a line break at the end.
 * @param path of the file to be written, for messages
 * @throws ConfigError where the content could not be read back
 */
export function formatThresholdsFile(file: ThresholdsFile, path: string): string {
  const text = `${JSON.stringify(file, undefined, 2)}\n`;
  parseThresholdsFile(text, path);
  return text;
}

function nameOf(classId: number, classNames: readonly string[]): string {
  const name = classNames[classId];
  if (name !== undefined && name !== '*') return name;
  throw new ConfigError(
    name === undefined
      ? `there is no name for class ${classId}: ${classNames.length} names are given`
      : `class ${classId} is called '*', which stands for all classes not named`,
    { hint: 'give one name for each class' },
  );
}
