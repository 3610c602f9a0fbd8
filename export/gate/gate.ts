// The gate: a model and what was made of it see the same pictures, and the floors say whether it passes.
import { ModelError } from '#core';
import { type DetectionChanges, detectionChanges } from './detection-changes.ts';
import { checkFloors, type FloorCheck, type GateFloors } from './floors.ts';
import {
  type GateContext,
  type GateModelOptions,
  type GatePictures,
  type GatePredictions,
  gatePredictions,
} from './gate-predictions.ts';
import { type LabelChanges, labelChanges } from './label-changes.ts';

export interface GateRequest {
  /** What the artefact is held against: the source, or its dequantised self. */
  readonly reference: string;
  readonly referenceOptions: GateModelOptions;
  readonly artefact: string;
  readonly artefactOptions: GateModelOptions;
  readonly pictures: GatePictures;
  readonly floors: GateFloors;
}

/** Plain data: stands in the manifest and in the report. */
export interface GateResult {
  readonly passed: boolean;
  readonly pictures: number;
  /** Names of the pictures with the largest changes, worst first. */
  readonly worst: readonly (DetectionChanges['worst'][number] & { readonly name: string })[];
  readonly checks: readonly FloorCheck[];
  readonly changes: Omit<DetectionChanges, 'worst'>;
  readonly labels?: LabelChanges;
}

/** The result with what the reference said, for a second gate on the same pictures. */
export interface Gated extends GateResult {
  readonly reference: GatePredictions;
}

/**
 * @param known predictions of the reference, where a gate before this one made them
 * @throws ModelError where the two name different classes or the artefact says less than it should; else as
 * `gatePredictions`
 */
export async function runGate(
  request: GateRequest,
  context: GateContext = {},
  known?: GatePredictions,
): Promise<Gated> {
  const { reference, artefact, pictures, floors } = request;
  const before = known ?? (await gatePredictions(reference, request.referenceOptions, pictures, context));
  const after = await gatePredictions(artefact, request.artefactOptions, pictures, context);
  expectSameClasses(before, after);
  const { worst, ...changes } = detectionChanges(
    before.pictures,
    after.pictures,
    before.classNames.length,
    before.input,
  );
  const labels = before.report && after.report ? labelChanges(before.report, after.report) : undefined;
  const all = { ...changes, worst };
  const checks = checkFloors(floors, all, labels);
  return {
    passed: checks.every(({ passed }) => passed),
    pictures: before.pictures.length,
    worst: worst.map((change) => ({
      ...change,
      name: before.names[change.picture] ?? String(change.picture),
    })),
    checks,
    changes,
    ...(labels && { labels }),
    reference: before,
  };
}

function expectSameClasses(before: GatePredictions, after: GatePredictions): void {
  const count = Math.max(before.classNames.length, after.classNames.length);
  for (let id = 0; id < count; id++) {
    if (before.classNames[id] === after.classNames[id]) continue;
    throw new ModelError(
      `class ${id} is ${before.classNames[id] ?? 'absent'} in the source and ${after.classNames[id] ?? 'absent'} in what was exported`,
      { hint: 'this is a fault of the export: please report it with the model' },
    );
  }
}
