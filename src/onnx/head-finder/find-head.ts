// Which of the known heads a graph has: from its structure, its measured output shapes and its metadata.
import type { HeadLayout } from '#core';
import type { ModelProto } from '../proto/onnx_pb.ts';
import { pictureInput } from '../shapes.ts';
import type { HeadFacts, Proposal, Recogniser } from './facts.ts';
import { gatherFacts } from './facts.ts';
import { recogniseCorners, recogniseNmsOutputs, recogniseOwn } from './fixed-outputs.ts';
import { recogniseFastestDet, recogniseGfl, recogniseRawDfl, recogniseYunet } from './per-level.ts';
import { nothingFits, refuseOtherTasks, refuseRawAnchorMaps, severalFit } from './refuse.ts';
import {
  recogniseEndToEnd,
  recogniseJoinedGfl,
  recogniseYoloV5,
  recogniseYoloV8,
  recogniseYolox,
} from './rows.ts';
import type { FindHeadOptions, HeadCapabilities, HeadFinding, MeasuredShapes, TapPlan } from './types.ts';

const RECOGNISERS: readonly Recogniser[] = [
  recogniseYoloV8,
  recogniseYoloV5,
  recogniseYolox,
  recogniseJoinedGfl,
  recogniseEndToEnd,
  recogniseNmsOutputs,
  recogniseCorners,
  recogniseGfl,
  recogniseRawDfl,
  recogniseFastestDet,
  recogniseYunet,
];

/**
 * @param model as loaded, before extra outputs were added
 * @param shapes of all outputs and taps, as a dry run at `options.input` measured them
 * @param taps the plan that the session was created with
 * @throws ModelError when nothing fits, when several layouts fit (naming them), and for models that are no detectors
 */
export function findHead(
  model: ModelProto,
  shapes: MeasuredShapes,
  taps: TapPlan,
  options: FindHeadOptions,
): HeadFinding {
  const facts = gatherFacts(model, shapes, taps, options);
  refuseOtherTasks(facts, pictureInput(model).batch ?? 1);
  const { layout, evidence } = choose(facts);
  const forced = options.layout ? [`layout=${options.layout} was given`] : [];
  const tapped = layout.kind === 'yolov8' && layout.boxDistribution ? [layout.boxDistribution.output] : [];
  return {
    layout,
    taps: tapped,
    capabilities: capabilitiesOf(layout, taps),
    evidence: [...forced, ...evidence, ...(layout.kind === 'yolov8' ? taps.notes : [])],
  };
}

function choose(facts: HeadFacts): Proposal {
  const { forced } = facts;
  const own = recogniseOwn(facts);
  const all =
    own.length > 0 && forced === undefined ? own : RECOGNISERS.flatMap((recognise) => recognise(facts));
  const proposals =
    forced === 'edge-detect' ? own : all.filter(({ layout }) => !forced || layout.kind === forced);
  const [only] = proposals;
  if (only && proposals.length === 1) return only;
  if (proposals.length > 1) throw severalFit(facts, proposals);
  refuseRawAnchorMaps(facts);
  throw nothingFits(facts);
}

function capabilitiesOf(layout: HeadLayout, taps: TapPlan): HeadCapabilities {
  const plain = (reason: string): HeadCapabilities => ({
    ...SCORE_ALONE,
    boxVariance: false,
    limits: [reason, NO_SCORE_LAW],
  });
  switch (layout.kind) {
    case 'yolov8':
      if (layout.boxDistribution) return { ...SCORE_ALONE, boxVariance: true, limits: [NO_SCORE_LAW] };
      return plain(
        taps.boxDistribution
          ? 'the distribution over box sides has a shape that does not belong to these boxes: no variance of the boxes'
          : `${taps.notes[0] ?? 'no distribution over box sides was asked for'}: no variance of the boxes`,
      );
    case 'corners':
      if (layout.boxVar) return { ...SCORE_ALONE, boxVariance: true, limits: [NO_SCORE_LAW] };
      return plain(oneNumberPerSide(layout.kind));
    case 'gfl':
    case 'raw-dfl':
      return { ...SCORE_ALONE, boxVariance: true, limits: [NO_SCORE_LAW] };
    case 'end-to-end':
      if (layout.uncertainty) return rowCapabilities(layout.uncertainty);
      return plain(
        taps.boxDistribution
          ? 'the graph chooses its rows itself, and they cannot be traced back to the distribution: no variance of the boxes'
          : 'an end-to-end head with one number per box side (YOLO26: reg_max 1): no distribution, variance of the boxes not available',
      );
    case 'edge-detect':
      return ownCapabilities(layout);
    case 'yolov5':
    case 'yolox':
    case 'nms-outputs':
    case 'fastestdet':
    case 'yunet':
      return plain(oneNumberPerSide(layout.kind));
    default:
      return layout satisfies never;
  }
}

function oneNumberPerSide(kind: HeadLayout['kind']): string {
  return `a ${kind} head gives one number per box side: no distribution, variance of the boxes not available`;
}

const SCORE_ALONE = { scoreDistribution: 'none', epistemic: false } as const;

const NO_SCORE_LAW =
  'the score is a single number, not a distribution: no variance of the score (train an edge-detect head for that)';

const NO_PASSES =
  'one pass without dropout: no epistemic part of the variance (train with dropout=0.1 mc_passes=8 for that)';

function rowCapabilities({
  score,
  box,
}: NonNullable<Extract<HeadLayout, { kind: 'end-to-end' }>['uncertainty']>): HeadCapabilities {
  return {
    scoreDistribution: score ? 'moments' : 'none',
    epistemic: false,
    boxVariance: box,
    limits: [
      ...(score ? [] : [NO_SCORE_LAW]),
      ...(box ? [] : ['exported without box_var: no variance of the boxes']),
    ],
  };
}

function ownCapabilities(layout: Extract<HeadLayout, { kind: 'edge-detect' }>): HeadCapabilities {
  const law = layout.qualityBins ? 'bins' : layout.qualityMixture ? 'mixture' : 'moments';
  return {
    boxVariance: layout.boxVar !== undefined,
    scoreDistribution: law,
    epistemic: layout.qualityEpistemic !== undefined,
    limits: [
      ...(layout.boxVar === undefined ? ['exported without box_var: no variance of the boxes'] : []),
      ...(layout.qualityEpistemic === undefined ? [NO_PASSES] : []),
    ],
  };
}
