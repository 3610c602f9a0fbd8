// What `val` prints: the table that users of the field know, with the calibration of the scores beside it.
import type { PartialCorrelation } from '#core';
import type { DetectionsValidation, ModelValidation } from '#evaluate';
import { fixed } from './number-text.ts';

/** Columns after the class: habitual ones first, D-ECE and LaECE0 (0 is perfect) last. */
const HEADER = `${'Class'.padStart(22)}${'Images'.padStart(11)}${'Instances'.padStart(11)}${'Box(P'.padStart(11)}${'R'.padStart(11)}${'mAP50'.padStart(11)}${'mAP50-95)'.padStart(11)}${'D-ECE'.padStart(11)}${'LaECE0'.padStart(11)}`;

export function validationLines(validation: ModelValidation | DetectionsValidation): string[] {
  const { report, pictures } = validation;
  const { averagePrecision, calibration, classNames } = report;
  const { bestF1, ap50, ap, perClass } = averagePrecision;
  const all = row('all', [
    String(report.pictures),
    String(report.objects),
    fixed(bestF1?.precision),
    fixed(bestF1?.recall),
    fixed(ap50),
    fixed(ap),
    fixed(calibration.dEce.measured?.error),
    fixed(calibration.quality.laEce.mean),
  ]);
  const rows = perClass.flatMap((one) =>
    one.objects === 0
      ? []
      : row(classNames[one.classId] ?? String(one.classId), [
          String(picturesWith(one.classId, pictures)),
          String(one.objects),
          fixed(one.bestF1?.precision),
          fixed(one.bestF1?.recall),
          fixed(one.ap50),
          fixed(one.ap),
          '',
          fixed(calibration.quality.laEce.perClass[one.classId]),
        ]),
  );
  return [HEADER, all, ...(rows.length > 1 ? rows : []), ...remarks(validation)];
}

function remarks(validation: ModelValidation | DetectionsValidation): string[] {
  const { report, split } = validation;
  const { variance, calibration, averagePrecision } = report;
  const { signed } = calibration.quality;
  const correct = calibration.dEce.convention;
  const quality = calibration.quality.convention;
  return [
    `split ${split}, ${origin(validation)}; P and R at the best mean F1 (score ${fixed(averagePrecision.bestF1?.threshold)})`,
    `D-ECE: is the score the chance of a hit (IoU ${correct.iou}, ${correct.bins} bins, scores of ${correct.minScore} or more, which find ${percent(calibration.dEce.recall)} of the objects)`,
    `LaECE0: is it the IoU to expect (${quality.bins} bins, scores of ${quality.minScore} or more); ${bias(signed)}`,
    variance === null
      ? `${'saved' in validation ? 'the detections state' : 'the model states'} no variance of ${'saved' in validation ? 'their' : 'its'} score`
      : `variance: partial correlation with the squared error beyond the score ${correlation(variance.partialCorrelation)}`,
  ];
}

function origin(validation: ModelValidation | DetectionsValidation): string {
  return 'saved' in validation
    ? `${validation.report.detections} detections of ${validation.saved.source}`
    : `${validation.msPerPicture.toFixed(1)} ms a picture`;
}

function correlation(found: PartialCorrelation | null): string {
  if (found === null) return '-';
  const [low, high] = found.interval ?? [];
  return `${fixed(found.value)} (${fixed(low)} to ${fixed(high)})`;
}

function bias(signed: number | null): string {
  if (signed === null) return 'nothing to measure';
  return `scores are too ${signed > 0 ? 'high' : 'low'} by ${Math.abs(signed).toFixed(3)} on average`;
}

/** Pictures that show the class; ids are those of the data set unless classes were joined. */
function picturesWith(classId: number, pictures: ModelValidation['pictures']): number {
  return pictures.filter(({ objects }) => objects.some((object) => object.classId === classId)).length;
}

function row(name: string, cells: readonly string[]): string {
  const label = name.length > 22 ? `${name.slice(0, 21)}…` : name;
  return label.padStart(22) + cells.map((cell) => cell.padStart(11)).join('');
}

function percent(value: number | null): string {
  return value === null ? '-' : `${(100 * value).toFixed(0)} %`;
}
