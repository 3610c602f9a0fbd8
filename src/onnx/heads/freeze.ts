// The freeze boundary: what runs once per picture and is cached, and what is differentiated.
import type { Size } from '#core';
import { ModelError } from '#core';
import type { ModelProto } from '../proto/onnx_pb.ts';
import { subgraph } from '../subgraph.ts';
import type { CutTable } from './cuts.ts';
import { untrainableNodes } from './trainable-ops.ts';
import type { FreezeLevel } from './types.ts';

/** A map at the boundary. */
export interface FeatureMap {
  readonly name: string;
  /** `[C, H, W]` */
  readonly shape: readonly number[];
}

export interface FrozenCut {
  readonly features: readonly FeatureMap[];
  /** Picture to boundary, for a batch of one; absent where the boundary is the picture. */
  readonly frozen?: ModelProto;
  /** Boundary to the ends of the towers; without nodes where both are the same. */
  readonly trunk: ModelProto;
}

interface Cuttable {
  readonly cuts: CutTable;
  readonly shapes: ReadonlyMap<string, readonly number[]>;
}

interface PictureSite extends Size {
  readonly name: string;
}

/** From the most that can train to the least. */
const FREEZE_LEVELS: readonly FreezeLevel[] = ['none', 'backbone', 'neck', 'towers'];

/** @throws ModelError where the level is not to be found, or an operator behind it has no gradient */
export function cutAt(
  model: ModelProto,
  picture: PictureSite,
  head: Cuttable,
  freeze: FreezeLevel,
): FrozenCut {
  const boundary = boundaryOf(head.cuts, picture.name, freeze);
  if (!boundary) {
    throw new ModelError(`freeze=${freeze}: the graph does not show where its ${freeze} ends`, {
      hint: `possible here: ${workingLevels(model, picture, head).join(', ')}`,
    });
  }
  const trunk = trunkBehind(model, picture, head, boundary);
  const [objection] = untrainableNodes(trunk);
  if (objection) {
    const deeper = FREEZE_LEVELS.slice(FREEZE_LEVELS.indexOf(freeze) + 1);
    const nearest = deeper.find((level) => workingLevels(model, picture, head).includes(level));
    throw new ModelError(`freeze=${freeze} cannot train: ${objection.reason}`, {
      hint: `the nearest boundary that works is freeze=${nearest ?? 'towers'}`,
    });
  }
  const features = boundary.map((name) => featureMap(head, picture, name));
  const entry = { name: picture.name, shape: [1, 3, picture.height, picture.width] };
  if (freeze === 'none') return { features, trunk };
  const outputs = features.map(({ name, shape }) => ({ name, shape: [1, ...shape] }));
  return { features, frozen: subgraph(model, { inputs: [entry], outputs }), trunk };
}

function boundaryOf(cuts: CutTable, picture: string, freeze: FreezeLevel): readonly string[] | undefined {
  return freeze === 'none' ? [picture] : cuts[freeze];
}

function trunkBehind(
  model: ModelProto,
  picture: PictureSite,
  head: Cuttable,
  boundary: readonly string[],
): ModelProto {
  const inputs = boundary.map((name) => ({ name, shape: ['N', ...featureMap(head, picture, name).shape] }));
  return subgraph(model, { inputs, outputs: head.cuts.towers.map((name) => ({ name })) });
}

function workingLevels(model: ModelProto, picture: PictureSite, head: Cuttable): readonly FreezeLevel[] {
  return FREEZE_LEVELS.filter((level) => {
    const boundary = boundaryOf(head.cuts, picture.name, level);
    return boundary && untrainableNodes(trunkBehind(model, picture, head, boundary)).length === 0;
  });
}

function featureMap({ shapes }: Cuttable, picture: PictureSite, name: string): FeatureMap {
  if (name === picture.name) return { name, shape: [3, picture.height, picture.width] };
  const shape = shapes.get(name);
  if (shape?.length !== 4) {
    throw new ModelError(`the size of the map ${name} at the freeze boundary cannot be worked out`, {
      hint: 'export the model with a fixed input size (dynamic=False simplify=True)',
    });
  }
  return { name, shape: shape.slice(1) };
}
