// Heads known by a fixed set of outputs: in-graph suppression, corners with scores, and our own wire format.
import type { EdgeDetectLayout } from '#core';
import { ModelError } from '#core';
import { ElementType } from '../tensor.ts';
import type { HeadFacts, HeadOutput, Proposal, Recogniser } from './facts.ts';
import { describeOutput } from './facts.ts';
import { type OwnRows, ownFormat } from './own-format.ts';
import { computedBy } from './tail.ts';

/** Number of detections, boxes, scores and classes, as suppression plugins give them. */
export const recogniseNmsOutputs: Recogniser = ({ outputs, classCount, maps, rows }) => {
  if (outputs.length !== 4) return [];
  const boxes = outputs.find(({ shape }) => shape.length === 3 && shape[2] === 4);
  const kept = boxes?.shape[1];
  const flat = outputs.filter(({ shape }) => shape.length === 2 && shape[1] === kept && kept !== 1);
  const count = outputs.find(
    (output) =>
      output !== boxes &&
      !flat.includes(output) &&
      output.shape.reduce((a, b) => a * b, 1) <= (output.shape[0] ?? 1),
  );
  const classes = flat.find(isClasses) ?? flat[1];
  const scores = flat.find((output) => output !== classes);
  if (!boxes || !count || !classes || !scores || maps.length > 0 || rows.length > 3) return [];
  return [
    {
      layout: {
        kind: 'nms-outputs',
        classCount: classCount ?? 0,
        count: count.name,
        boxes: boxes.name,
        scores: scores.name,
        classes: classes.name,
      },
      evidence: [
        `four outputs of a suppression inside the graph: count ${count.name}, boxes ${boxes.name}, scores ${scores.name}, classes ${classes.name}`,
      ],
    },
  ];
};

function isClasses({ name, elementType }: HeadOutput): boolean {
  const integer = elementType === ElementType.INT32 || elementType === ElementType.INT64;
  return integer || /cls|class|label/i.test(name);
}

/** Corners `[1, A, 4]` and class scores `[1, A, C]`, with or without a background class. */
export const recogniseCorners: Recogniser = (facts) => {
  const [first, second] = facts.rows;
  if (facts.outputs.length !== 2 || !first || !second || first.dims[0] !== second.dims[0]) return [];
  const candidates = [first, second].filter(({ dims }) => dims[1] === 4);
  const boxes = candidates.find(({ name }) => /box|loc|bbox/i.test(name)) ?? candidates[0];
  const scores = boxes === first ? second : first;
  if (!boxes) return [];
  const normalized = normalizedCorners(facts, boxes);
  const values = scores.dims[1] ?? 0;
  const background = hasBackground(facts, scores, values);
  const classCount = values - (background ? 1 : 0);
  if (normalized === undefined || classCount < 1) return [];
  if (facts.classCount !== undefined && facts.classCount !== classCount) return [];
  return [
    {
      layout: {
        kind: 'corners',
        classCount,
        boxes: boxes.name,
        scores: scores.name,
        anchorCount: boxes.dims[0] ?? 0,
        normalized,
        background,
      },
      evidence: [
        `${describeOutput(boxes)} and ${describeOutput(scores)} belong to the same anchors`,
        normalized
          ? 'the priors in the graph lie in 0..1: corners are parts of the input'
          : 'corners are in px',
        background ? 'the first class is the background (Softmax over the scores)' : 'no background class',
      ],
    },
  ];
};

/**
 * Priors, grids and strides inside the graph tell the unit of the corners.
 * @returns undefined where there are none, as in transformers, whose boxes are no corners
 */
function normalizedCorners(facts: HeadFacts, boxes: HeadOutput): boolean | undefined {
  const { constants, operators } = facts.tail(boxes.name);
  // Factors such as 0.1, 0.5 and 2 belong to the arithmetic of boxes, not to positions.
  const positions = constants.filter(({ dims }) => dims.reduce((a, b) => a * b, 1) >= 4);
  if (positions.length > 0) return positions.every(({ largest }) => largest <= 2);
  if (operators.has('Range')) return false;
  const direct = facts.view.constant(boxes.name);
  if (direct || facts.forced === 'corners') return operators.has('Sigmoid');
  return undefined;
}

function hasBackground(facts: HeadFacts, scores: HeadOutput, values: number): boolean {
  if (facts.classCount !== undefined) return values === facts.classCount + 1;
  return computedBy(facts.view, scores.name) === 'Softmax';
}

/** Our own models say what they are: the key `edge_detect` in the metadata, and outputs under fixed names. */
export const recogniseOwn: Recogniser = (facts) => {
  const own = ownFormat(facts.metadata);
  if (own?.rows) return [rowsProposal(facts, own.rows)];
  if (!own || own.decoded === false) return [];
  if (own.decoded) return [decodedProposal(facts)];
  const named = (name: string) => facts.outputs.find((output) => output.name === name);
  const boxes = named('boxes');
  const quality = named('quality');
  if (!boxes || !quality) throw lacks(facts, boxes ? 'quality' : 'boxes');
  const probs = named('class_probs');
  const bins = named('quality_bins');
  const optional = (key: keyof EdgeDetectLayout, name: string) => (named(name) ? { [key]: name } : {});
  const layout: EdgeDetectLayout = {
    kind: 'edge-detect',
    classCount: probs?.dims[1] ?? 1,
    anchorCount: boxes.dims[0] ?? 0,
    boxes: boxes.name,
    quality: quality.name,
    ...optional('classProbs', 'class_probs'),
    ...(bins ? { qualityBins: { output: bins.name, bins: bins.dims[1] ?? 0 } } : {}),
    ...optional('qualityMixture', 'quality_mixture'),
    ...optional('boxVar', 'box_var'),
    ...optional('qualityEpistemic', 'quality_epistemic'),
  };
  return [{ layout, evidence: ['the metadata key edge_detect, and outputs boxes and quality'] }];
};

/** What a stock model becomes when its decoding is exported into the graph. */
function decodedProposal(facts: HeadFacts): Proposal {
  const named = (name: string) => facts.outputs.find((output) => output.name === name);
  const boxes = named('boxes');
  const scores = named('scores');
  if (!boxes || !scores) throw lacks(facts, boxes ? 'scores' : 'boxes');
  return {
    layout: {
      kind: 'corners',
      classCount: scores.dims[1] ?? 0,
      boxes: boxes.name,
      scores: scores.name,
      anchorCount: boxes.dims[0] ?? 0,
      normalized: false,
      background: false,
      ...(named('box_var') ? { boxVar: 'box_var' } : {}),
    },
    evidence: ['the metadata key edge_detect says that the graph decodes: outputs boxes and scores'],
  };
}

/** What is exported for DeepStream: its parser knows the same two outputs by name. */
function rowsProposal(facts: HeadFacts, { suppressed, known }: OwnRows): Proposal {
  const named = (name: string) => facts.outputs.find((output) => output.name === name);
  const rows = named('output');
  const uncertainty = named('uncertainty');
  if (!rows || (known.length > 0 && !uncertainty)) throw lacks(facts, rows ? 'uncertainty' : 'output');
  return {
    layout: {
      kind: 'end-to-end',
      classCount: facts.classCount ?? 0,
      output: rows.name,
      rowCount: rows.dims[0] ?? 0,
      stride: rows.dims[1] ?? 0,
      suppressed,
      ...(uncertainty && {
        uncertainty: {
          output: uncertainty.name,
          score: known.includes('score'),
          box: known.includes('box'),
        },
      }),
    },
    evidence: ['the metadata key edge_detect says that these are rows for DeepStream'],
  };
}

function lacks(facts: HeadFacts, name: string): ModelError {
  return new ModelError(
    `the model says it is an edge-detect model, but lacks the output ${name}: its outputs are ${facts.outputs.map(describeOutput).join(', ')}`,
    { hint: 'export it again with edge-detect, or remove the metadata key edge_detect' },
  );
}
