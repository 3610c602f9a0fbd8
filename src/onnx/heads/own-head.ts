// A detector with our head, opened again: the cut and the layers are those that its metadata names.
import type { Size } from '#core';
import { ModelError } from '#core';
import type { GraphView } from '../graph.ts';
import { viewGraph } from '../graph.ts';
import type { OwnHead } from '../head-finder/own-format.ts';
import type { ModelProto } from '../proto/onnx_pb.ts';
import { ElementType, tensorValues } from '../tensor.ts';
import type { HostHead } from './host-head.ts';
import { mapShapes } from './map-shapes.ts';
import { layerValues } from './predictions.ts';

/** @throws ModelError where the graph lacks what its metadata names */
export function openOwnHead(
  model: ModelProto,
  picture: string,
  { spec, cuts }: OwnHead,
  input: Size,
): HostHead {
  if (input.width !== spec.input.width || input.height !== spec.input.height) {
    throw new ModelError(
      `the model is built for ${spec.input.width}x${spec.input.height} px; ${input.width}x${input.height} was asked for`,
      { hint: 'leave the input size away: boxes are decoded for one size' },
    );
  }
  const view = viewGraph(model);
  const levels = spec.levels.map(({ stride, columns, rows, box }, index) => {
    const producer = view.producer(box);
    const towers = cuts.levels[index];
    if (producer?.opType !== 'Conv' || !towers) throw lacking(box);
    return { stride, columns, rows, ...towers, box: layerValues(view, producer) };
  });
  for (const name of cuts.towers) if (!view.producer(name)) throw lacking(name);
  return {
    family: 'edge-detect',
    boxCode: spec.boxCode,
    locations: spec.locations,
    levels,
    shapes: mapShapes(model, new Map([[picture, [1, 3, input.height, input.width]]])),
    cuts,
    learnt: {
      bins: spec.bins,
      adapter: spec.adapter,
      dropout: spec.dropout,
      classLaw: spec.classLaw,
      values: headValues(view),
    },
  };
}

function headValues(view: GraphView): ReadonlyMap<string, Float32Array> {
  const values = new Map<string, Float32Array>();
  for (const constant of view.graph.initializer) {
    if (!/^head\.\d+\..*\.(weight|bias)$/.test(constant.name) || constant.dataType !== ElementType.FLOAT)
      continue;
    values.set(constant.name, Float32Array.from(tensorValues(constant) as Float32Array));
  }
  return values;
}

function lacking(name: string): ModelError {
  return new ModelError(`the model lacks ${name}, which its metadata names as part of its head`, {
    hint: 'it was rewritten after training: train from the model as it was saved, or from its host',
  });
}
