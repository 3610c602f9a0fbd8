// Everything that can be said about a model, as plain data, for `inspect` and for the manifest of a run.
import type { PreprocessContract } from '#core';
import { describeContract } from './contracts.ts';
import type { PreprocessGuess } from './family.ts';
import type { Axis } from './graph.ts';
import { elementTypeOf, graphOf, normalizeInputs, shapeOf } from './graph.ts';
import type { HeadFinding, TapPlan } from './head-finder/types.ts';
import { readLogitRanges, type StoredLogitRanges } from './logit-ranges.ts';
import { readMetadata } from './metadata.ts';
import type { ModelProto, ValueInfoProto } from './proto/onnx_pb.ts';
import { describeSals, readSals, type SalsRecord } from './sals-record.ts';
import { ElementType, elementCount, elementTypeName } from './tensor.ts';

export interface TensorDescription {
  readonly name: string;
  readonly dtype: string;
  /** Undefined where the file leaves even the rank open. */
  readonly shape?: readonly Axis[];
}

export interface ModelDescription {
  readonly irVersion: number;
  /** Version by domain; `ai.onnx` is the standard one. */
  readonly opsets: Readonly<Record<string, number>>;
  readonly producer: string;
  readonly inputs: readonly TensorDescription[];
  readonly outputs: readonly TensorDescription[];
  readonly nodeCount: number;
  /** Number of weights. */
  readonly parameterCount: number;
  readonly quantisation: 'none' | 'float16' | 'dynamic int8' | 'static int8' | 'QDQ int8';
  readonly description?: string;
  readonly author?: string;
  readonly task?: string;
  /** Of the host model, as its metadata states it. */
  readonly license?: string;
  readonly classNames?: readonly string[];
  readonly head?: HeadDescription;
  /** Of class logits in training, where the model states them. */
  readonly logitRanges?: StoredLogitRanges;
  /** Present where class logits are scaled in the graph. */
  readonly sals?: SalsRecord & { readonly text: string };
  readonly preprocess?: {
    readonly family: string;
    readonly contract: PreprocessContract;
    readonly text: string;
  };
  /** What was taken for granted. */
  readonly assumed: readonly string[];
  /** Whether the distribution over box sides was found, and why or why not. */
  readonly boxDistribution: readonly string[];
}

export interface HeadDescription {
  readonly kind: string;
  readonly classCount: number;
  readonly evidence: readonly string[];
  /** What the model can say besides boxes and scores. */
  readonly can: readonly string[];
  readonly limits: readonly string[];
}

export interface DescribeParts {
  readonly taps: TapPlan;
  /** Absent where the head could not be recognised: the file is described all the same. */
  readonly finding?: HeadFinding;
  readonly preprocess?: PreprocessGuess;
}

export function describeModel(
  model: ModelProto,
  { taps, finding, preprocess }: DescribeParts,
): ModelDescription {
  const graph = graphOf(normalizeInputs(model));
  const metadata = readMetadata(model);
  const { names, description, author, task, license } = metadata;
  const [sals, logitRanges] = [readSals(metadata), readLogitRanges(metadata)];
  return {
    irVersion: Number(model.irVersion),
    opsets: Object.fromEntries(
      model.opsetImport.map(({ domain, version }) => [domain || 'ai.onnx', Number(version)]),
    ),
    producer: `${model.producerName} ${model.producerVersion}`.trim(),
    inputs: graph.input.map(describeTensor),
    outputs: graph.output.map(describeTensor),
    nodeCount: graph.node.length,
    parameterCount: graph.initializer.reduce((sum, tensor) => sum + elementCount(tensor), 0),
    quantisation: quantisationOf(model),
    ...(description ? { description } : {}),
    ...(author ? { author } : {}),
    ...(task ? { task } : {}),
    ...(license ? { license } : {}),
    ...(names ? { classNames: names } : {}),
    ...(finding ? { head: describeHead(finding) } : {}),
    ...(logitRanges ? { logitRanges } : {}),
    ...(sals ? { sals: { ...sals, text: describeSals(sals) } } : {}),
    ...(preprocess
      ? {
          preprocess: {
            family: preprocess.family,
            contract: preprocess.contract,
            text: describeContract(preprocess.contract),
          },
        }
      : {}),
    assumed: preprocess?.assumed ?? [],
    boxDistribution: taps.notes,
  };
}

function describeTensor(info: ValueInfoProto): TensorDescription {
  const shape = shapeOf(info);
  return { name: info.name, dtype: elementTypeName(elementTypeOf(info) ?? 0), ...(shape ? { shape } : {}) };
}

function describeHead({ layout, evidence, capabilities }: HeadFinding): HeadDescription {
  const { boxVariance, scoreDistribution, epistemic, limits } = capabilities;
  return {
    kind: layout.kind,
    classCount: layout.classCount,
    evidence,
    can: [
      ...(boxVariance ? ['variance of each box side (px²)'] : []),
      ...(scoreDistribution === 'none' ? [] : [`variance of the score (${scoreDistribution})`]),
      ...(epistemic ? ['epistemic part of that variance (MC dropout)'] : []),
    ],
    limits,
  };
}

function quantisationOf(model: ModelProto): ModelDescription['quantisation'] {
  const graph = graphOf(model);
  const operators = new Set(graph.node.map((node) => node.opType));
  if (operators.has('ConvInteger') || operators.has('MatMulInteger')) return 'dynamic int8';
  if (operators.has('QLinearConv')) return 'static int8';
  if (operators.has('QuantizeLinear')) return 'QDQ int8';
  const halves = graph.initializer.filter((tensor) => tensor.dataType === ElementType.FLOAT16);
  const floats = graph.initializer.filter((tensor) => tensor.dataType === ElementType.FLOAT);
  const size = (tensors: typeof halves) => tensors.reduce((sum, tensor) => sum + elementCount(tensor), 0);
  return size(halves) > size(floats) ? 'float16' : 'none';
}
