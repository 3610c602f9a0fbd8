// A detector with our head, opened again: the cut and the layers are those that its metadata names.
import type { Size } from '#core';
import { ModelError } from '#core';
import type { GraphView } from '../graph.ts';
import { viewGraph } from '../graph.ts';
import type { OwnHead } from '../head-finder/own-format.ts';
import type { ModelProto } from '../proto/onnx_pb.ts';
import { ElementType, tensorValues } from '../tensor.ts';
import { featureShapes } from './feature-shapes.ts';
import type { HostHead } from './host-head.ts';
import { layerValues } from './predictions.ts';

/**
 * @param classNames wanted from now on; with other names than before the class layers start anew
 * @throws ModelError where the graph lacks what its metadata names, or another input size is asked for
 */
export function openOwnHead(
  model: ModelProto,
  picture: string,
  { spec, cuts }: OwnHead,
  { input, classNames }: { readonly input: Size; readonly classNames: readonly string[] },
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
    shapes: featureShapes(
      model,
      { name: picture, ...input },
      spec.levels.flatMap(({ box }) => box).concat(cuts.towers),
    ),
    cuts,
    learnt: {
      bins: spec.bins,
      adapter: spec.adapter,
      dropout: spec.dropout,
      classLaw: spec.classLaw,
      values: headValues(view, sameNames(spec.classNames, classNames)),
    },
  };
}

function sameNames(before: readonly string[], now: readonly string[]): boolean {
  return before.length === now.length && before.every((name, id) => name === now[id]);
}

function headValues(view: GraphView, withClasses: boolean): ReadonlyMap<string, Float32Array> {
  const values = new Map<string, Float32Array>();
  for (const constant of view.graph.initializer) {
    const layer = /^head\.\d+\.(\w+)\.(?:weight|bias)$/.exec(constant.name)?.[1];
    if (layer === undefined || constant.dataType !== ElementType.FLOAT) continue;
    if (layer === 'classes' && !withClasses) continue;
    values.set(constant.name, Float32Array.from(tensorValues(constant) as Float32Array));
  }
  return values;
}

function lacking(name: string): ModelError {
  return new ModelError(`the model lacks ${name}, which its metadata names as part of its head`, {
    hint: 'it was rewritten after training: train from the model as it was saved, or from its host',
  });
}
