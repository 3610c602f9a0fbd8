// The criterion of a head whose score is a law: assigns objects, weighs the terms, and gives the gradient of every raw
// output. total = box + classification + boxDfl + quality + logitRange, each already weighted.
import { DataError, type LogitRowView, ModelError } from '#core';
import type { HeadSpec } from '#onnx';
import { appendInside, createAnchorGrid, createAnchorList } from './assign/anchor-grid.ts';
import { createPredictionReader, type RawLevel } from './assign/predictions.ts';
import { createTaskAlignedAssigner } from './assign/task-aligned.ts';
import type { Criterion, CriterionResult, LossTerms, Targets } from './criterion.ts';
import {
  CRITERION_DEFAULTS,
  type CriterionConfig,
  checkCriterionConfig,
  type TargetPolicy,
} from './criterion-config.ts';
import type { Tensors } from './engines/engine.ts';
import { createGradientMaps } from './gradient-maps.ts';
import { createCiou } from './losses/ciou.ts';
import {
  type Batch,
  clearColumn,
  createPlaceFinder,
  createPositiveList,
  IGNORED,
  POSITIVE,
  reservePositives,
} from './losses/terms/batch.ts';
import { createBoxTerm } from './losses/terms/box-term.ts';
import { createClassTerm } from './losses/terms/class-term.ts';
import { createQualityTerm } from './losses/terms/quality-term.ts';
import type { Numbers } from './losses/types.ts';

export interface DetectionCriterion extends Criterion {
  /**
   * The same with assignment, targets and detached factors of the last `evaluate`: the function that the gradient
   * belongs to, for difference quotients (GRA has no other).
   */
  evaluateHeld(outputs: Tensors, targets: Targets, reference?: Tensors): CriterionResult;
  /**
   * Calls back for every anchor that the last `evaluate` assigned to an object, with the class of the object and the
   * class logits of the anchor; never at one class. The outputs of that call must still hold their values.
   */
  visitPositives(visit: (classId: number, row: LogitRowView) => void): void;
}

const BOX_CHANNELS = 4;

/**
 * @throws ConfigError for a configuration that is unknown or does not fit the head
 * Outputs with NaN or infinite values give non-finite terms and never throw.
 */
export function createDetectionCriterion(
  spec: HeadSpec,
  config: CriterionConfig = CRITERION_DEFAULTS,
): DetectionCriterion {
  const classCount = spec.classNames.length;
  checkCriterionConfig(config, { bins: spec.bins, classCount, classLaw: spec.classLaw });
  const grid = createAnchorGrid(spec.levels, spec.locations);
  const assigner = createTaskAlignedAssigner(grid, config.assigner);
  const reader = createPredictionReader(grid, { ...spec, classCount });
  const maps = createGradientMaps();
  const negative = config.targets.kind === 'hard' ? config.targets.negative : 0;
  const quality = createQualityTerm(grid, spec.bins, config.quality, negative);
  const classes = classCount > 1 ? createClassTerm(grid, classCount, spec.classLaw, config) : undefined;
  const boxes = config.trainBox ? createBoxTerm(grid, spec.boxCode) : undefined;
  const boxChannels = spec.boxCode.kind === 'dfl' ? BOX_CHANNELS * spec.boxCode.bins : BOX_CHANNELS;
  const policy = createTargetPolicy(config.targets);
  const placeOf = createPlaceFinder(grid);
  const ignored = createAnchorList();
  const batch: Batch = {
    pictures: 0,
    levels: [],
    gradients: [],
    states: new Uint8Array(0),
    positives: createPositiveList(),
    boxes: new Float32Array(0),
    classIds: new Int32Array(0),
    normaliser: 1,
    held: false,
  };
  const sums = { target: 0, finite: true };

  function bind(outputs: Tensors, targets: Targets): void {
    const pictures = targets.starts.length - 1;
    const read = (name: string, channels: number, cells: number): Numbers =>
      readOutput(outputs, name, pictures * spec.locations * channels * cells);
    batch.levels = spec.levels.map(({ quality: q, classes: c, box }, level) => {
      const { cells } = grid.levels[level]!;
      return {
        quality: read(q, spec.bins, cells),
        classes: classes && c !== undefined ? read(c, classCount, cells) : undefined,
        box: read(box, boxChannels, cells),
      };
    });
    batch.pictures = pictures;
    batch.boxes = targets.boxes;
    batch.classIds = targets.classIds;
    const objects = targets.starts[pictures]!;
    for (let object = 0; object < objects; object++) {
      const classId = targets.classIds[object]!;
      if (classId < 0 || classId >= classCount) throw unknownClass(classId, classCount);
    }
  }

  /** Class and box gradients are 0 but for the assigned anchors, so only those of the last batch are cleared. */
  function clearGradients(): void {
    const { positives } = batch;
    for (let index = 0; index < positives.count; index++) {
      const place = placeOf(positives.pictures[index]!, positives.anchors[index]!);
      const { classes: classOutput, box } = spec.levels[place.level]!;
      const classMap = classes && classOutput !== undefined ? maps.whole(classOutput) : undefined;
      if (classMap) clearColumn(classMap, place, classCount);
      const boxMap = boxes ? maps.whole(box) : undefined;
      if (boxMap) clearColumn(boxMap, place, boxChannels);
    }
  }

  function takeGradients(outputs: Tensors): void {
    const take = (name: string, like: Numbers): Numbers => maps.take(name, outputs.get(name)!.shape, like);
    const empty = new Float32Array(0);
    batch.gradients = spec.levels.map((level, index): RawLevel => {
      const raw = batch.levels[index]!;
      return {
        quality: take(level.quality, raw.quality),
        classes: raw.classes && take(level.classes!, raw.classes),
        box: boxes ? take(level.box, raw.box) : empty,
      };
    });
  }

  function assign(targets: Targets): void {
    const { positives } = batch;
    const anchors = batch.pictures * grid.count;
    if (batch.states.length < anchors) batch.states = new Uint8Array(anchors);
    batch.states.fill(0, 0, anchors);
    positives.count = 0;
    sums.target = 0;
    sums.finite = true;
    for (let picture = 0; picture < batch.pictures; picture++) {
      assignPicture(picture, targets);
      ignoreRegions(picture, targets);
    }
    batch.normaliser = Math.max(sums.target, 1);
  }

  function assignPicture(picture: number, { starts, boxes: objectBoxes, classIds }: Targets): void {
    const first = starts[picture]!;
    const last = starts[picture + 1]!;
    if (first === last) return;
    const { positives } = batch;
    reader.bind(batch.levels, picture);
    const found = assigner.assign({ boxes: objectBoxes, classIds, first, last }, reader);
    sums.finite &&= found.finite;
    reservePositives(positives, positives.count + found.count);
    for (let index = 0; index < found.count; index++) {
      const anchor = found.anchors[index]!;
      const object = found.objects[index]!;
      const target = policy(found.targets[index]!, reader.boxes, anchor, objectBoxes, object);
      const place = positives.count++;
      positives.pictures[place] = picture;
      positives.anchors[place] = anchor;
      positives.objects[place] = object;
      positives.targets[place] = target;
      batch.states[picture * grid.count + anchor] = POSITIVE;
      sums.target += target;
    }
  }

  function ignoreRegions(picture: number, { ignoreStarts, ignoreBoxes }: Targets): void {
    ignored.length = 0;
    for (let region = ignoreStarts[picture]!; region < ignoreStarts[picture + 1]!; region++) {
      appendInside(ignored, grid, ignoreBoxes, 4 * region);
    }
    const base = picture * grid.count;
    for (let index = 0; index < ignored.length; index++) {
      const place = base + ignored.anchors[index]!;
      if (batch.states[place] !== POSITIVE) batch.states[place] = IGNORED;
    }
  }

  function lossAnchors(): number {
    if (config.qualityReduction === 'targets') return batch.normaliser;
    let count = 0;
    for (let place = 0; place < batch.pictures * grid.count; place++) {
      if (batch.states[place] !== IGNORED) count++;
    }
    return Math.max(count, 1);
  }

  function run(
    outputs: Tensors,
    targets: Targets,
    held: boolean,
    reference: Tensors | undefined,
  ): CriterionResult {
    bind(outputs, targets);
    clearGradients();
    takeGradients(outputs);
    batch.held = held;
    if (!held) assign(targets);
    const { weights } = config;
    const { normaliser, positives } = batch;
    const qualityScale = weights.quality / lossAnchors();
    const qualityLoss = qualityScale * quality.evaluate(batch, qualityScale);
    const frozen = reference && classes && readReference(reference, outputs, spec);
    const classScale = weights.classification / normaliser;
    const classSums = classes?.evaluate(batch, classScale, weights.logitRange, frozen);
    const boxSums = boxes?.evaluate(batch, weights.box / normaliser, weights.boxDfl / normaliser);
    const rows = positives.count * classCount;
    const lambda = config.logitRange.kind === 'penalty' ? config.logitRange.lambda : 0;
    const terms = {
      box: ((boxSums?.box ?? 0) * weights.box) / normaliser,
      classification: (classSums?.classification ?? 0) * classScale,
      boxDfl: ((boxSums?.boxDfl ?? 0) * weights.boxDfl) / normaliser,
      quality: qualityLoss,
      logitRange: rows > 0 ? ((classSums?.range ?? 0) * weights.logitRange * lambda) / rows : 0,
    };
    const sum = terms.box + terms.classification + terms.boxDfl + terms.quality + terms.logitRange;
    return {
      terms: {
        ...terms,
        // A candidate that is not a number is never assigned, so the sum alone would not show it.
        total: sums.finite ? sum : Number.NaN,
        positives: positives.count,
        targetSum: sums.target,
        meanWeight: positives.count > 0 ? (classSums?.weight ?? 0) / positives.count : 0,
      } satisfies LossTerms,
      gradients: maps.tensors(),
    };
  }

  function visitPositives(visit: (classId: number, row: LogitRowView) => void): void {
    const { positives, levels } = batch;
    for (let index = 0; index < positives.count; index++) {
      const { level, map, cell, cells } = placeOf(positives.pictures[index]!, positives.anchors[index]!);
      const logits = levels[level]!.classes;
      if (!logits) return;
      const row = { logits, offset: map * classCount * cells + cell, stride: cells, classes: classCount };
      visit(batch.classIds[positives.objects[index]!]!, row);
    }
  }

  return {
    visitPositives,
    evaluate: (outputs, targets, reference) => run(outputs, targets, false, reference),
    evaluateHeld: (outputs, targets, reference) => run(outputs, targets, true, reference),
  };
}

/** Quality target of an assigned anchor, from the aligned one and the predicted box. */
type PolicyRule = (
  aligned: number,
  predicted: Float64Array,
  anchor: number,
  boxes: Float32Array,
  object: number,
) => number;

function createTargetPolicy(policy: TargetPolicy): PolicyRule {
  const ciou = createCiou();
  switch (policy.kind) {
    case 'task-aligned':
      return (aligned) => aligned;
    case 'iou':
      return (_, predicted, anchor, boxes, object) =>
        ciou.value(predicted, 4 * anchor, boxes, 4 * object).iou;
    case 'hard':
      return (_, predicted, anchor, boxes, object) => {
        const { iou } = ciou.value(predicted, 4 * anchor, boxes, 4 * object);
        return iou < policy.hardBelowIou ? policy.hardPositive : policy.positive;
      };
  }
}

function readOutput(outputs: Tensors, name: string, length: number): Numbers {
  const data: Numbers | undefined = outputs.get(name)?.data;
  if (data?.length === length) return data;
  const found = data === undefined ? 'which is missing' : `which has ${data.length}`;
  throw new ModelError(`the criterion needs ${length} values of output '${name}', ${found}`, {
    hint: 'outputs and targets must be of one batch, and the head the one that the criterion was made for',
  });
}

function readReference(reference: Tensors, outputs: Tensors, spec: HeadSpec): readonly Numbers[] {
  return spec.levels.map(({ classes }) =>
    readOutput(reference, classes!, outputs.get(classes!)!.data.length),
  );
}

function unknownClass(classId: number, classCount: number): DataError {
  return new DataError(`an object has class ${classId}, but the head knows classes 0 to ${classCount - 1}`, {
    hint: 'look for it among the labels: edge-detect inspect data=...',
  });
}
