// What lies beside a model for DeepStream: the names of its classes, and a configuration of nvinfer that says honestly
// what it cannot be told.
import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ConfigError, DataError, type PreprocessContract } from '#core';
import { writeWholeFile } from '#runtime';
import type { Precision } from '../gate/floors.ts';

/** The community parser for rows of six: github.com/marcoslucianops/DeepStream-Yolo, built on the device. */
const PARSER = {
  function: 'NvDsInferParseYolo',
  library: 'nvdsinfer_custom_impl_Yolo/libnvdsinfer_custom_impl_Yolo.so',
} as const;

/** As nvinfer numbers them. */
const NETWORK_MODES: Readonly<Record<Precision, number>> = { float32: 0, int8: 1, float16: 2 };
const MODE_WORDS: Readonly<Record<Precision, string>> = { float32: 'fp32', int8: 'int8', float16: 'fp16' };

export interface DeepstreamFacts {
  /** Path of the exported ONNX file: the other files go beside it. */
  readonly model: string;
  /** As `withDeepstreamInput` left it. */
  readonly contract: PreprocessContract;
  readonly classNames: readonly string[];
  readonly precision: Precision;
  /** As `withDeepstreamRows` found it. */
  readonly endToEnd: boolean;
  readonly known: readonly ('score' | 'box')[];
  /** Streams that are inferred at once. Default 1. */
  readonly batch?: number;
  /** Default 0.25. */
  readonly threshold?: number;
  /** Overlap above which the lower score is suppressed. Default 0.45. */
  readonly overlap?: number;
}

export interface DeepstreamTexts {
  readonly labels: string;
  readonly config: string;
  /** What nvinfer does otherwise than this program, in sentences. */
  readonly notes: readonly string[];
}

export interface DeepstreamPaths {
  readonly labels: string;
  readonly config: string;
}

export function deepstreamPaths(model: string): DeepstreamPaths {
  const folder = dirname(model);
  return { labels: join(folder, 'labels.txt'), config: join(folder, 'config_infer_primary.txt') };
}

/**
 * To be asked before the work is done: both files have names that DeepStream's users know, so a folder holds one model.
 * @throws ConfigError where the folder holds the configuration of another model
 */
export async function expectDeepstreamFolder(model: string): Promise<void> {
  const { config } = deepstreamPaths(model);
  const text = await readFile(config, 'utf8').catch(() => undefined);
  const other = /^onnx-file=(.*)$/m.exec(text ?? '')?.[1]?.trim();
  if (text === undefined || other === basename(model)) return;
  throw new ConfigError(`${config} belongs to ${other ?? 'another model'}`, {
    hint: 'name a folder of its own for each model with out=',
  });
}

/** @throws DataError where a file cannot be written */
export async function writeDeepstreamFiles(facts: DeepstreamFacts): Promise<DeepstreamPaths> {
  const paths = deepstreamPaths(facts.model);
  const { labels, config } = deepstreamTexts(facts);
  await writeWholeFile(paths.labels, labels);
  await writeWholeFile(paths.config, config);
  return paths;
}

/** @throws DataError for the name of a class that is no line of text */
export function deepstreamTexts(facts: DeepstreamFacts): DeepstreamTexts {
  const broken = facts.classNames.find((name) => /[\r\n]/.test(name));
  if (broken !== undefined) {
    throw new DataError(
      `the class name ${JSON.stringify(broken)} has a line break, labels.txt a line for each`,
      {
        hint: 'rename the class with names=',
      },
    );
  }
  const notes = notesOf(facts);
  return {
    labels: facts.classNames.map((name) => `${name}\n`).join(''),
    config: configOf(facts, notes),
    notes,
  };
}

function notesOf({ contract, precision, endToEnd, known }: DeepstreamFacts): readonly string[] {
  const { fit, pad } = contract;
  return [
    ...(fit.mode === 'letterbox' && pad !== 0
      ? [`nvinfer pads with black, the model was trained with a padding of ${pad}: boxes near it may differ`]
      : []),
    ...(fit.enlarge ? [] : ['nvinfer enlarges pictures smaller than the input, training did not']),
    ...(known.length > 0 && !endToEnd
      ? ['clustering does not carry rows of `uncertainty` along: a probe matches them by box and score']
      : []),
    ...(precision === 'int8'
      ? [
          'nvinfer wants a calibration table for int8, this graph carries its own scales: build the engine with trtexec and name it in model-engine-file',
        ]
      : []),
    'scores are as the network gives them: nvinfer applies no calibrator and no threshold of its own file',
  ];
}

function configOf(facts: DeepstreamFacts, notes: readonly string[]): string {
  const {
    model,
    precision,
    classNames,
    endToEnd,
    known,
    batch = 1,
    threshold = 0.25,
    overlap = 0.45,
  } = facts;
  const file = basename(model);
  const lines = [
    `# nvinfer of DeepStream 6.0 or newer for ${file}, written by edge-detect.`,
    `# It needs ${basename(PARSER.library)}, which is not part of DeepStream: build it on the device from`,
    '# github.com/marcoslucianops/DeepStream-Yolo, a version whose models have one output [B, N, 6] (2025 or newer),',
    '# and correct custom-lib-path.',
    ...notes.map((note) => `# Note: ${note}.`),
    '[property]',
    'gpu-id=0',
    ...inputLines(facts.contract),
    `onnx-file=${file}`,
    `model-engine-file=${file}_b${batch}_gpu0_${MODE_WORDS[precision]}.engine`,
    'labelfile-path=labels.txt',
    `batch-size=${batch}`,
    `network-mode=${NETWORK_MODES[precision]}`,
    `num-detected-classes=${classNames.length}`,
    'interval=0',
    'gie-unique-id=1',
    'process-mode=1',
    'network-type=0',
    // 2 suppresses by overlap, 4 keeps what the network chose.
    `cluster-mode=${endToEnd ? 4 : 2}`,
    ...(known.length > 0
      ? ['# Hands the output `uncertainty` to probes, as NvDsInferTensorMeta.', 'output-tensor-meta=1']
      : []),
    `parse-bbox-func-name=${PARSER.function}`,
    `custom-lib-path=${PARSER.library}`,
    '',
    '[class-attrs-all]',
    ...(endToEnd ? [] : [`nms-iou-threshold=${overlap}`]),
    `pre-cluster-threshold=${threshold}`,
    'topk=300',
  ];
  return `${lines.join('\n')}\n`;
}

function inputLines({ mean, std, channels, fit }: PreprocessContract): readonly string[] {
  const isLetterbox = fit.mode === 'letterbox';
  return [
    `net-scale-factor=${1 / std[0]}`,
    ...(mean.some((value) => value !== 0) ? [`offsets=${mean.join(';')}`] : []),
    `model-color-format=${channels === 'rgb' ? 0 : 1}`,
    `maintain-aspect-ratio=${isLetterbox ? 1 : 0}`,
    ...(isLetterbox ? [`symmetric-padding=${fit.align === 'center' ? 1 : 0}`] : []),
    '# Bilinear.',
    'scaling-filter=1',
  ];
}
