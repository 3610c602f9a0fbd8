// What a rewritten model loses against its source on labelled pictures: per class, in AP and in calibration.
import type { EvaluationReport } from '#evaluate';

export interface LabelChanges {
  readonly apBefore: number | null;
  readonly apAfter: number | null;
  /** AP before − after; null where there is none. */
  readonly apDrop: number | null;
  readonly ap50Drop: number | null;
  readonly laEceBefore: number | null;
  readonly laEceAfter: number | null;
  readonly laEceRise: number | null;
  readonly dEceBefore: number | null;
  readonly dEceAfter: number | null;
  readonly classes: readonly ClassChange[];
  /** The class with `minObjects` or more that loses most AP50; absent where no class has as many. */
  readonly worstClass?: ClassChange;
  readonly minObjects: number;
}

export interface ClassChange {
  readonly className: string;
  readonly objects: number;
  readonly ap50Before: number;
  readonly ap50After: number;
  readonly ap50Drop: number;
  readonly laEceBefore: number | null;
  readonly laEceAfter: number | null;
}

/** Below, one box more or less is five points of AP50. */
const MIN_OBJECTS = 20;

/** @param before, after judged on the same pictures with the same options */
export function labelChanges(before: EvaluationReport, after: EvaluationReport): LabelChanges {
  const laEce = ({ calibration }: EvaluationReport) => calibration.quality.laEce;
  const dEce = ({ calibration }: EvaluationReport) => calibration.dEce.measured?.error ?? null;
  const comparable = new Set(before.meanOver);
  const classes = before.averagePrecision.perClass.flatMap(({ classId, objects, ap50 }): ClassChange[] => {
    const className = before.classNames[classId] ?? String(classId);
    const now = after.averagePrecision.perClass.find((other) => other.classId === classId)?.ap50 ?? null;
    if (objects === 0 || ap50 === null || now === null || !comparable.has(className)) return [];
    return [
      {
        className,
        objects,
        ap50Before: ap50,
        ap50After: now,
        ap50Drop: ap50 - now,
        laEceBefore: laEce(before).perClass[classId] ?? null,
        laEceAfter: laEce(after).perClass[classId] ?? null,
      },
    ];
  });
  const judged = classes.filter(({ objects }) => objects >= MIN_OBJECTS);
  const worstClass = judged.toSorted((a, b) => b.ap50Drop - a.ap50Drop)[0];
  return {
    apBefore: before.averagePrecision.ap,
    apAfter: after.averagePrecision.ap,
    apDrop: difference(before.averagePrecision.ap, after.averagePrecision.ap),
    ap50Drop: difference(before.averagePrecision.ap50, after.averagePrecision.ap50),
    laEceBefore: laEce(before).mean,
    laEceAfter: laEce(after).mean,
    laEceRise: difference(laEce(after).mean, laEce(before).mean),
    dEceBefore: dEce(before),
    dEceAfter: dEce(after),
    classes,
    ...(worstClass && { worstClass }),
    minObjects: MIN_OBJECTS,
  };
}

function difference(minuend: number | null, subtrahend: number | null): number | null {
  return minuend === null || subtrahend === null ? null : minuend - subtrahend;
}
