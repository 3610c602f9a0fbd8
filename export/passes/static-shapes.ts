// Numbers for every axis that a file leaves open: one engine, no profiles, and shapes that other tools can rely on.
import {
  type Axis,
  elementTypeOf,
  graphOf,
  inferElementTypes,
  inferKnownShapes,
  type ModelProto,
  normalizeInputs,
  pictureInput,
  type Shape,
  type StaticInput,
  shapeOf,
  type ValueInfoProto,
  valueInfo,
  withGraph,
  withStaticInput,
} from '#onnx';

/**
 * The picture input gets these numbers; outputs and the tensors between get the shapes that follow from them. A shape
 * that cannot be told is left out where the input was open; where it was not, the file's own stays. Where file and
 * inference contradict each other, neither is written.
 * @throws ModelError when an axis of the input is fixed to another number
 */
export function withStaticShapes(model: ModelProto, wanted: StaticInput): ModelProto {
  const normal = normalizeInputs(model);
  const { batch, height, width } = pictureInput(normal);
  const wasOpen = batch === undefined || height === undefined || width === undefined;
  const fixed = withStaticInput(normal, wanted);
  const graph = graphOf(fixed);
  const inputs = new Map(graph.input.map((info) => [info.name, (shapeOf(info) ?? []).map(Number)]));
  const shapes = inferKnownShapes(fixed, inputs).shapes;
  const typeOf = inferElementTypes(fixed);
  // Shapes of an open model were written for another size.
  const declared = new Map(
    [...graph.valueInfo, ...graph.output].map((info) => [info.name, wasOpen ? undefined : shapeOf(info)]),
  );
  const shapeFor = (name: string) => agreedShape(shapes.get(name), declared.get(name));
  return withGraph(fixed, {
    output: graph.output.map((info) => outputInfo(info, shapeFor(info.name), typeOf(info.name))),
    valueInfo: betweenInfos(graph, shapeFor, typeOf),
  });
}

/** @returns undefined where nothing is known, or two things that exclude each other */
function agreedShape(
  inferred: Shape | undefined,
  declared: readonly Axis[] | undefined,
): readonly number[] | undefined {
  const numbers = declared?.every((axis) => typeof axis === 'number' && axis > 0)
    ? declared.map(Number)
    : undefined;
  if (inferred === undefined) return numbers;
  const contradicts =
    declared !== undefined &&
    (declared.length !== inferred.length ||
      declared.some((axis, place) => typeof axis === 'number' && axis > 0 && axis !== inferred[place]));
  return contradicts ? undefined : inferred;
}

function outputInfo(
  info: ValueInfoProto,
  shape: readonly number[] | undefined,
  inferredType: number | undefined,
): ValueInfoProto {
  const type = elementTypeOf(info) || inferredType;
  return type ? valueInfo(info.name, type, shape) : info;
}

/** A tensor is only described where both its type and its shape are known. */
function betweenInfos(
  graph: ReturnType<typeof graphOf>,
  shapeFor: (name: string) => readonly number[] | undefined,
  typeOf: (name: string) => number | undefined,
): ValueInfoProto[] {
  const outputs = new Set(graph.output.map(({ name }) => name));
  const made = graph.node.flatMap(({ output }) => output).filter((name) => name !== '' && !outputs.has(name));
  return made.flatMap((name) => {
    const [shape, type] = [shapeFor(name), typeOf(name)];
    return shape && type ? [valueInfo(name, type, shape)] : [];
  });
}
