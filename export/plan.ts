// The passes of an export, in the order in which they run.
import type { PreprocessContract } from '#core';
import { foldBatchNorm, type ModelProto, pictureInput, prune } from '#onnx';
import { withDeepstreamInput } from './formats/deepstream-input.ts';
import type { ExportSource } from './open-source.ts';
import { decodeInGraph } from './passes/decode-in-graph.ts';
import { type DeepstreamRows, withDeepstreamRows } from './passes/deepstream-rows.ts';
import { foldConstants } from './passes/fold-constants.ts';
import { withFreeBatch } from './passes/free-batch.ts';
import { lowerOpset } from './passes/lower-opset.ts';
import { withPicturePreamble } from './passes/picture-preamble.ts';
import { withStaticShapes } from './passes/static-shapes.ts';
import { keepTopAnchors } from './passes/top-anchors.ts';
import { quantise } from './precision/quantise.ts';
import { raiseOpset } from './precision/raise-opset.ts';
import type { TensorRanges } from './precision/ranges.ts';
import { toHalf } from './precision/to-half.ts';
import type { ExportSettings } from './settings.ts';

/** A model on its way through the passes. */
export interface Draft {
  readonly model: ModelProto;
  /** What its input wants done to a picture. */
  readonly contract: PreprocessContract;
  /** Whether its outputs are boxes and scores, for models that are not ours. */
  readonly decoded: boolean;
  /** Of rows for DeepStream. */
  readonly rows?: Pick<DeepstreamRows, 'endToEnd' | 'known'>;
}

export interface ExportPass {
  readonly name: string;
  /** @returns the next draft, and what was done, where there is something to say */
  readonly run: (draft: Draft) => Promise<Passed> | Passed;
}

type Passed = Draft & { readonly note?: string };

/** Measures the activations of a float32 model that takes normalised pictures, [N, 3, H, W]. */
export type Measure = (draft: Draft) => Promise<TensorRanges>;

const IR_VERSION = 8;

/** @param measure runs the draft over the user's pictures, where a precision needs to know what they do to it */
export function planPasses(
  settings: ExportSettings,
  source: ExportSource,
  measure: Measure,
): readonly ExportPass[] {
  const { decode, uint8, topAnchors, precision } = settings;
  const isDeepstream = settings.format === 'deepstream';
  const { height, width } = source.inputSize;
  return [
    pass('static shapes', (model) => withStaticShapes(model, { batch: source.batch, height, width })),
    pass('fold constants', foldConstants),
    foldingBatchNorm(),
    ...(isDeepstream ? [pass('raise opset', raiseOpset)] : []),
    pass('opset', (model) => lowerOpset(model, { opset: settings.opset, irVersion: IR_VERSION })),
    ...(decode && source.finding.layout.kind !== 'edge-detect' ? [decoding(settings, source)] : []),
    pass('dead nodes', prune),
    ...(precision === 'float16' ? [halving(measure)] : []),
    ...(precision === 'int8' ? [quantising(settings, measure)] : []),
    // Places of the best anchors depend on whether the batch is free, so they are chosen after it.
    ...(isDeepstream ? [freeingBatch()] : []),
    ...keepingTop(topAnchors),
    ...(isDeepstream ? [deepstreamInput(), deepstreamRows(settings)] : []),
    ...(uint8 ? [preamble()] : []),
  ];
}

/** What comes after the gate, which judges picture by picture: several pictures at once, and no other number. */
export function planFinish(
  { format, batch }: ExportSettings,
  { inputSize }: ExportSource,
): readonly ExportPass[] {
  if (format === 'deepstream' || batch === undefined) return [];
  const several = (model: ModelProto) => withStaticShapes(model, { batch, ...inputSize });
  return [freeingBatch(), pass(`batch of ${batch}`, several)];
}

function freeingBatch(): ExportPass {
  return pass('free batch', (model) => withFreeBatch(model, { picture: pictureInput(model) }));
}

function keepingTop(count: number | undefined): readonly ExportPass[] {
  return count === undefined ? [] : [pass('top anchors', (model) => keepTopAnchors(model, { count }))];
}

function pass(name: string, change: (model: ModelProto) => ModelProto): ExportPass {
  return { name, run: (draft) => ({ ...draft, model: change(draft.model) }) };
}

function foldingBatchNorm(): ExportPass {
  return {
    name: 'fold batch normalisation',
    run(draft) {
      const { model, folded: count } = foldBatchNorm(draft.model);
      return { ...draft, model, ...(count > 0 ? { note: `${count} nodes went into convolutions` } : {}) };
    },
  };
}

function decoding(
  { boxVariance }: ExportSettings,
  { finding: { layout, capabilities }, inputSize }: ExportSource,
): ExportPass {
  return {
    name: 'decode in graph',
    run({ model, contract }) {
      const { outputs, notes, ...decoded } = decodeInGraph(model, {
        layout,
        input: inputSize,
        boxVariance: boxVariance === 'auto' ? capabilities.boxVariance : boxVariance,
      });
      return { contract, ...decoded, note: [`outputs ${outputs.join(', ')}`, ...notes].join('; ') };
    },
  };
}

function halving(measure: Measure): ExportPass {
  return {
    name: 'float16',
    async run(draft) {
      const { model, converted, keptFloat } = toHalf(draft.model, { ranges: await measure(draft) });
      return {
        ...draft,
        model,
        note: `${converted} nodes in half precision, ${keptFloat.length} stay float32`,
      };
    },
  };
}

function quantising({ quantise: settings }: ExportSettings, measure: Measure): ExportPass {
  return {
    name: 'int8',
    async run(draft) {
      if (settings === undefined) throw new RangeError('int8 is asked for without its settings');
      const { placement, weightBits } = settings;
      const result = quantise(draft.model, { placement, weightBits, ranges: await measure(draft) });
      return {
        ...draft,
        model: result.model,
        note: [
          `${result.quantised.length} convolutions in 8 bit, ${result.keptFloat.length} stay float32`,
          ...result.notes,
        ].join('; '),
      };
    },
  };
}

function preamble(): ExportPass {
  return {
    name: 'picture preamble',
    run(draft) {
      const { model, contract } = draft;
      const changed = withPicturePreamble(model, { input: pictureInput(model), contract, dtype: 'uint8' });
      return { ...draft, ...changed, note: 'bytes go in; normalisation happens in the graph' };
    },
  };
}

function deepstreamInput(): ExportPass {
  return {
    name: 'input for DeepStream',
    run(draft) {
      const { notes, ...changed } = withDeepstreamInput(draft.model, draft.contract);
      return { ...draft, ...changed, ...(notes.length > 0 ? { note: notes.join('; ') } : {}) };
    },
  };
}

function deepstreamRows({ boxVariance }: ExportSettings): ExportPass {
  return {
    name: 'rows for DeepStream',
    run(draft) {
      const { model, endToEnd, known, notes, rows } = withDeepstreamRows(draft.model, {
        uncertainty: boxVariance,
      });
      const said = [`output of ${rows} rows of six`, ...notes];
      // The outputs are rows now, whatever they were: what reads them must look at the graph.
      return { ...draft, model, decoded: false, rows: { endToEnd, known }, note: said.join('; ') };
    },
  };
}
