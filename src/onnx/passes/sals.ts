// Sample-adaptive logit scaling (Murugesan et al., 2024) inside the graph of a model of ours: the class logits of every
// anchor are brought into the range of a reference before their softmax.
import { FEWEST_SCALED_CLASSES, ModelError, NO_LOGIT_RANGE } from '#core';
import { copyMessage, graphOf, viewGraph, withGraph } from '../graph.ts';
import { type OwnHead, ownFormat } from '../head-finder/own-format.ts';
import { TailBuilder } from '../heads/tail-builder.ts';
import { rangesOfClasses, readLogitRanges, type StoredLogitRanges } from '../logit-ranges.ts';
import { readMetadata } from '../metadata.ts';
import type { ModelProto, NodeProto, TensorProto } from '../proto/onnx_pb.ts';
import { readSals, type SalsRecord, withSalsRecord } from '../sals-record.ts';
import { ElementType, elementCount } from '../tensor.ts';
import { graftReference } from './sals-reference.ts';

/** What the logits are held to. */
export type SalsReference =
  /** The model before its adaptation, as it was read, and the hash of its file: its class layer runs beside the new one. */
  | { readonly kind: 'frozen-layer'; readonly before: ModelProto; readonly sha256: string }
  /** Ranges that training stored; default those of the model itself. A row is held to the range of its first class. */
  | { readonly kind: 'ceilings'; readonly stored?: StoredLogitRanges };

export interface SalsOptions {
  readonly reference: SalsReference;
  /** Rows narrower than their reference stay as they are. Default true. */
  readonly shrinkOnly?: boolean;
}

/** Opset from which ReduceMax and ReduceMin take their axes as an input. */
const AXES_AS_INPUT = 18;

/**
 * The order of boxes changes, so AP may: measure it. A calibrator is fitted afterwards.
 * @returns the model with the scaling in it, and what that costs, which its metadata states as well
 * @throws ModelError for a model that is not ours, has fewer than three classes or sigmoid classes, is quantised or of
 * half precision, is scaled already, carries a calibrator, or has no reference for its classes
 */
export function withSals(
  model: ModelProto,
  { reference, shrinkOnly = true }: SalsOptions,
): { readonly model: ModelProto; readonly record: SalsRecord } {
  const head = expectScalable(model);
  const softmax = classSoftmax(model);
  const logits = softmax.input[0] ?? '';
  const tail = new TailBuilder('sals.');
  const opset = Number(model.opsetImport.find(({ domain }) => domain === '')?.version ?? 0n);
  const rows = new RangeRows(tail, opset);
  const own = rows.ends(logits, 'own');
  const held = referenceRange({ model, head, reference, tail, rows, logits });
  const limit = shrinkOnly ? tail.add('Min', [held.range, own.range], 'limit') : held.range;
  const floor = tail.floats('no_range', [], [NO_LOGIT_RANGE]);
  const divisor = tail.add('Max', [own.range, floor], 'divisor');
  const scale = tail.add('Div', [limit, divisor], 'scale'); // [T, A, 1]
  // The softmax does not see a shift, and nothing overflows below the greatest logit.
  const below = tail.add('Sub', [logits, own.greatest], 'below_greatest');
  const scaled = tail.add('Mul', [below, scale], 'logits'); // [T, A, C]
  const record: SalsRecord = {
    reference: held.record,
    shrinkOnly,
    extraParameters: held.parameters,
    extraMultiplyAdds: held.multiplyAdds,
  };
  return {
    record,
    model: withSalsRecord(
      inserted(model, softmax, scaled, {
        nodes: [...held.nodes, ...tail.nodes],
        initializers: [...held.initializers, ...tail.initializers],
      }),
      record,
    ),
  };
}

interface ReferenceRange {
  /** `[T or 1, A, 1]` */
  readonly range: string;
  readonly record: SalsRecord['reference'];
  /** Copied beside those of the tail. */
  readonly nodes: readonly NodeProto[];
  readonly initializers: readonly TensorProto[];
  readonly parameters: number;
  readonly multiplyAdds: number;
}

function referenceRange(parts: {
  readonly model: ModelProto;
  readonly head: OwnHead;
  readonly reference: SalsReference;
  readonly tail: TailBuilder;
  readonly rows: RangeRows;
  readonly logits: string;
}): ReferenceRange {
  const { model, head, reference, tail, rows, logits } = parts;
  if (reference.kind === 'frozen-layer') {
    const grafted = graftReference(model, head.spec, reference, tail);
    return {
      ...grafted,
      range: rows.ends(grafted.logits, 'reference').range,
      record: { kind: 'frozen-layer', sha256: reference.sha256 },
    };
  }
  const { classNames } = head.spec;
  const stored = reference.stored ?? readLogitRanges(readMetadata(model));
  const { ranges, missing } = rangesOfClasses(stored, classNames);
  if (missing.length > 0) throw noReference(missing, classNames);
  const widths = ranges.map(({ least, greatest }) => greatest - least);
  const table = tail.floats('class_ranges', [classNames.length], widths);
  const first = tail.add('ArgMax', [logits], 'first_class', { axis: -1n, keepdims: 1n });
  return {
    range: tail.add('Gather', [table, first], 'reference.range', { axis: 0n }),
    record: { kind: 'ceilings', ranges: ranges.map(({ least, greatest }) => ({ least, greatest })) },
    nodes: [],
    initializers: [],
    parameters: classNames.length,
    multiplyAdds: 0,
  };
}

/** Writes what least, greatest and range of rows are; their axes are an attribute or an input, as the opset wants it. */
class RangeRows {
  readonly #tail: TailBuilder;
  readonly #axes: string | undefined;

  constructor(tail: TailBuilder, opset: number) {
    this.#tail = tail;
    this.#axes = opset >= AXES_AS_INPUT ? tail.ints('last_axis', [-1]) : undefined;
  }

  ends(logits: string, name: string): { readonly greatest: string; readonly range: string } {
    const reduce = (operator: string, end: string) =>
      this.#axes === undefined
        ? this.#tail.add(operator, [logits], `${name}.${end}`, { axes: [-1n], keepdims: 1n })
        : this.#tail.add(operator, [logits, this.#axes], `${name}.${end}`, { keepdims: 1n });
    const greatest = reduce('ReduceMax', 'greatest');
    const least = reduce('ReduceMin', 'least');
    return { greatest, range: this.#tail.add('Sub', [greatest, least], `${name}.range`) };
  }
}

/** The scaled logits in place of the plain ones; what depends on them comes last, whatever order the file has. */
function inserted(
  model: ModelProto,
  softmax: NodeProto,
  scaled: string,
  added: { readonly nodes: readonly NodeProto[]; readonly initializers: readonly TensorProto[] },
): ModelProto {
  const { node, initializer } = graphOf(model);
  const behind = new Set<string>();
  const [before, after]: [NodeProto[], NodeProto[]] = [[], []];
  for (const made of node) {
    const isBehind = made === softmax || made.input.some((name) => behind.has(name));
    if (isBehind) for (const name of made.output) behind.add(name);
    (isBehind ? after : before).push(
      made === softmax ? copyMessage(made, { input: [scaled, ...made.input.slice(1)] }) : made,
    );
  }
  return withGraph(model, {
    node: [...before, ...added.nodes, ...after],
    initializer: [...initializer, ...added.initializers],
  });
}

function expectScalable(model: ModelProto): OwnHead {
  const metadata = readMetadata(model);
  const own = ownFormat(metadata);
  if (own?.head === undefined) {
    throw new ModelError('sals scales the class logits of models that edge-detect trained: this is none', {
      hint: 'train a head on it first: edge-detect train model=<this file> data=...',
    });
  }
  const { classNames, classLaw } = own.head.spec;
  if (classNames.length < FEWEST_SCALED_CLASSES) {
    throw new ModelError(
      `sals needs at least ${FEWEST_SCALED_CLASSES} classes, the model has ${classNames.length}`,
      {
        hint: 'with one class there is no range, with two a scaled row says only what its reference does: fit a calibrator instead',
      },
    );
  }
  if (classLaw !== 'softmax') {
    throw new ModelError('sals needs class logits with a softmax, those of the model have sigmoids', {
      hint: 'a shift changes what a sigmoid says: fit a calibrator per class instead',
    });
  }
  if (readSals(metadata) !== undefined) {
    throw new ModelError('the class logits of the model are scaled already (sals)', {
      hint: 'start from the file that training wrote',
    });
  }
  if (JSON.parse(metadata.edgeDetect ?? '{}').calibrator !== undefined) {
    throw new ModelError('the model carries a calibrator, which was fitted to scores without sals', {
      hint: 'start from the file that training wrote, and calibrate after this step',
    });
  }
  return own.head;
}

const PASSING = new Set(['Identity', 'Div', 'ReduceSum']);

/** The softmax behind `class_probs`, seen through the mean over passes of MC dropout. */
function classSoftmax(model: ModelProto): NodeProto {
  const view = viewGraph(model);
  let made = view.producer('class_probs');
  while (made !== undefined && PASSING.has(made.opType)) made = view.producer(made.input[0] ?? '');
  const weights = view.graph.initializer.filter((constant) => elementCount(constant) > 1);
  const plain = weights.every(
    ({ dataType }) => dataType === ElementType.FLOAT || dataType === ElementType.INT64,
  );
  if (made?.opType === 'Softmax' && plain) return made;
  throw new ModelError(
    plain
      ? 'the graph has no softmax of class logits any more: it was rewritten after training'
      : 'sals must come before half precision and quantisation: the model has been through one of them',
    { hint: 'start from the file that training wrote' },
  );
}

function noReference(missing: readonly string[], classNames: readonly string[]): ModelError {
  return new ModelError(
    `sals has no reference: no range of class logits is stored for ${missing.length === classNames.length ? 'any class' : missing.join(', ')}`,
    {
      hint: 'new classes have no range to be held to: name the model before adaptation, which must have the same classes, or train again so that ranges are stored',
    },
  );
}
