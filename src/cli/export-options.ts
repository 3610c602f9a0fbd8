// Options of `export` alone.
import type { OptionSpec } from './options.ts';

const EXPORT: OptionSpec['commands'] = ['export'];

export const EXPORT_OPTIONS: readonly OptionSpec[] = [
  {
    key: 'format',
    type: 'string',
    choices: ['onnx', 'deepstream', 'engine'],
    defaultText: 'onnx',
    help: 'what is written: ONNX; ONNX with the inputs and outputs of DeepStream; a TensorRT engine',
    commands: EXPORT,
  },
  {
    key: 'head',
    type: 'string',
    choices: ['distribution', 'two-gaussian', 'mean-variance', 'plain'],
    defaultText: 'as the model has it',
    help: 'how a model of ours says its score; another head than its own is distilled from it (needs data=)',
    commands: EXPORT,
  },
  {
    key: 'sals',
    type: 'string',
    help: 'models of ours: scale class logits to the ranges that training stored (ceilings), or to those of this file, the model before it was adapted',
    commands: EXPORT,
  },
  {
    key: 'decode',
    type: 'boolean',
    defaultText: 'False (models of ours: always)',
    help: 'decode boxes and scores in the graph',
    commands: EXPORT,
  },
  {
    key: 'uint8',
    type: 'boolean',
    defaultText: 'False',
    help: 'take the bytes of a picture, [1, H, W, 3]; normalisation goes into the graph',
    commands: EXPORT,
  },
  {
    key: 'topk',
    type: 'integer',
    min: 1,
    max: 100000,
    help: 'hand out so many best rows instead of all (decoded models)',
    commands: EXPORT,
  },
  {
    key: 'opset',
    type: 'integer',
    min: 13,
    max: 20,
    defaultText: '17',
    help: 'version of the ONNX operators; 17 is the highest that TensorRT 8.5 reads',
    commands: EXPORT,
  },
  {
    key: 'placement',
    type: 'string',
    choices: ['cpu', 'tensorrt'],
    defaultText: 'cpu; format=engine|deepstream: tensorrt',
    help: 'int8: for whom quantise and dequantise nodes are placed',
    commands: EXPORT,
  },
  {
    key: 'calibration',
    type: 'string',
    defaultText: "with data=: pictures of another split; else source='s own",
    help: 'int8, half: pictures to measure ranges on: a folder, a list, a clip',
    commands: EXPORT,
  },
  {
    key: 'calibration_pictures',
    type: 'integer',
    min: 1,
    max: 100000,
    defaultText: '128',
    help: 'int8, half: most pictures to measure ranges on',
    commands: EXPORT,
  },
  {
    key: 'calibration_method',
    type: 'string',
    choices: ['min-max', 'percentile', 'entropy'],
    defaultText: 'percentile',
    help: 'int8: how the range of a tensor follows from its values',
    commands: EXPORT,
  },
  {
    key: 'weight_bits',
    type: 'integer',
    min: 7,
    max: 8,
    defaultText: '7 for placement=cpu, 8 for tensorrt',
    help: 'int8: 8-bit products saturate on x64 CPUs without VNNI; 8 is finer on those with it and on ARM',
    commands: EXPORT,
  },
  {
    key: 'gate_pictures',
    type: 'integer',
    min: 1,
    max: 100000,
    defaultText: '96',
    help: 'most frames that the export is compared on, without data=',
    commands: EXPORT,
  },
  {
    key: 'force',
    type: 'boolean',
    defaultText: 'False',
    help: 'write the file even where it differs by more than is allowed; its manifest says so',
    commands: EXPORT,
  },
  floor('min_found', 'least share of boxes that both models have', '0.999, half 0.99, int8 0.85'),
  floor('max_box_px', 'most change of box edges, p99, px of the input', '0.05, half 1, int8 16', 10000),
  floor('max_score', 'most change of a score, p99', '0.001, half 0.01, int8 0.2'),
  floor('max_score_std', 'most change of its standard deviation, p99', '0.001, half 0.01, int8 0.1'),
  floor('max_ap_drop', 'most AP to lose (with data=)', '0.002, int8 0.01'),
  floor('max_class_ap_drop', 'most AP50 that one class may lose', '0.01, half 0.02, int8 0.05'),
  floor('max_la_ece_rise', 'most LaECE0 to add', '0.002, half 0.005, int8 0.01'),
];

function floor(key: string, help: string, defaultText: string, max = 1): OptionSpec {
  return { key, type: 'number', min: 0, max, defaultText, help: `gate: ${help}`, commands: EXPORT };
}
