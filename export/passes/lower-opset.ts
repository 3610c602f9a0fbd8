// Writes a graph in an older operator set, for engines that know no newer one: TensorRT 8.5 takes opset 17.
import { ConfigError, ModelError } from '#core';
import {
  copyMessage,
  elementTypeName,
  FreeNames,
  graphOf,
  inferKnownShapes,
  ints,
  type ModelProto,
  type NodeProto,
  nodeLabel,
  opsetVersion,
  prune,
  shapeOf,
  type TensorProto,
  tensorNumbers,
  viewGraph,
  withGraph,
} from '#onnx';
import { LOWERINGS, type LoweringContext, UNCHANGED } from './lowering-rules.ts';

/** The one opset that is written down to. */
const LOWERED = 17;
/** The newest whose changes are known here. */
const NEWEST = 22;

export interface LowerOptions {
  /** Highest opset that is wanted: 17 or more. */
  readonly opset: number;
  /** Highest IR version that is wanted: 8 or more. */
  readonly irVersion: number;
}

/**
 * The model at the wanted opset and IR version, or at its own where those are lower.
 * @throws ConfigError for a wanted opset below 17 (where the model is above it) or an IR version below 8; ModelError
 * naming node and operator where something cannot be written in opset 17
 */
export function lowerOpset(model: ModelProto, { opset, irVersion }: LowerOptions): ModelProto {
  const found = opsetVersion(model);
  if (irVersion < 8 && model.irVersion > BigInt(irVersion)) throw tooLow('IR version', irVersion, 8);
  const lowered = copyMessage(model, {
    irVersion: model.irVersion > BigInt(irVersion) ? BigInt(irVersion) : model.irVersion,
  });
  if (irVersion < 9) expectOldTypes(model);
  if (found <= opset) return lowered;
  if (opset < LOWERED) throw tooLow('opset', opset, LOWERED);
  if (found > NEWEST) {
    throw new ModelError(`the model is written in opset ${found}; up to ${NEWEST} can be lowered here`, {
      hint: `export it again with opset=${LOWERED}`,
    });
  }
  return copyMessage(withGraph(lowered, loweredGraph(lowered)), {
    opsetImport: model.opsetImport.map((entry) =>
      entry.domain === '' || entry.domain === 'ai.onnx'
        ? copyMessage(entry, { version: BigInt(LOWERED) })
        : entry,
    ),
  });
}

function tooLow(what: string, wanted: number, least: number): ConfigError {
  return new ConfigError(`a model cannot be written down to ${what} ${wanted} here`, {
    hint: `the lowest is ${least}, which TensorRT 8.5 takes`,
  });
}

function loweredGraph(model: ModelProto) {
  const graph = graphOf(model);
  const added: TensorProto[] = [];
  const contextOf = createContexts(model, added);
  const node = graph.node.flatMap((original) => loweredNode(original, contextOf(original)));
  const initializer = [...graph.initializer, ...added];
  return graphOf(prune(withGraph(model, { node, initializer })));
}

function loweredNode(node: NodeProto, context: LoweringContext): readonly NodeProto[] {
  // Other domains have versions of their own.
  if (node.domain !== '' && node.domain !== 'ai.onnx') return [node];
  if (node.attribute.some(({ g, graphs }) => g !== undefined || graphs.length > 0)) {
    throw context.refuse('it holds a graph of its own');
  }
  const rule = LOWERINGS[node.opType];
  if (rule) return rule(node, context);
  if (UNCHANGED.has(node.opType)) return [node];
  throw context.refuse('this operator is not known to be the same there');
}

function createContexts(model: ModelProto, added: TensorProto[]): (node: NodeProto) => LoweringContext {
  const view = viewGraph(model);
  const names = new FreeNames(graphOf(model));
  const inputs = new Map(
    graphOf(model).input.flatMap((info) => {
      const shape = shapeOf(info);
      return shape?.every((axis) => typeof axis === 'number' && axis > 0)
        ? [[info.name, shape.map(Number)]]
        : [];
    }),
  );
  const inferred = inferKnownShapes(model, inputs);
  return (node) => ({
    integers(name) {
      const constant = view.constant(name);
      return constant ? tensorNumbers(constant) : inferred.integers(name);
    },
    shape: (name) => inferred.shapes.get(name),
    addIntegers(label, values) {
      const name = names.take(label);
      added.push(ints(name, values));
      return name;
    },
    freeName: (label) => names.take(label),
    refuse: (why) =>
      new ModelError(`node ${nodeLabel(node)} cannot be written in opset ${LOWERED}: ${why}`, {
        hint: `export the model again with opset=${LOWERED}, or keep its opset (TensorRT 10 takes up to 20)`,
      }),
  });
}

/** Element types that came with IR 9 and later. */
const NEW_TYPES = /^(float8|float4|uint4|int4|int2|uint2)/;

function expectOldTypes(model: ModelProto): void {
  const graph = graphOf(model);
  const newer = graph.initializer.find(({ dataType }) => NEW_TYPES.test(elementTypeName(dataType)));
  const casts = graph.node.find(({ opType, attribute }) =>
    attribute.some(
      ({ name, i }) => opType === 'Cast' && name === 'to' && NEW_TYPES.test(elementTypeName(Number(i))),
    ),
  );
  if (!newer && !casts) return;
  const what = newer ? `tensor ${newer.name} holds ${elementTypeName(newer.dataType)}` : '';
  throw new ModelError(
    `${casts ? `node ${nodeLabel(casts)} makes a type` : `${what}, a type`} that IR version 8 does not have`,
    { hint: 'export the model again in float32 or int8' },
  );
}
