// Every option of the command line in one table: names and defaults as users of the Python tools know them.
import { HEAD_KINDS } from '#core/basics';
import { BENCH_OPTIONS } from './bench-options.ts';
import { CALIBRATE_OPTIONS } from './calibrate-options.ts';
import { COMPARE_OPTIONS } from './compare-options.ts';
import { EVALUATE_OPTIONS } from './evaluate-options.ts';
import { EXPORT_OPTIONS } from './export-options.ts';
import { LIGHT_OPTIONS } from './light-options.ts';
import { PREDICTIONS_OPTIONS } from './predictions-options.ts';
import { TRACK_OPTIONS } from './track-options.ts';
import { TRAIN_OPTIONS } from './train-options.ts';
import type { Bounds, OptionType } from './values.ts';

export type CommandName =
  | 'predict'
  | 'stream'
  | 'train'
  | 'val'
  | 'calibrate'
  | 'compare'
  | 'export'
  | 'bench'
  | 'inspect'
  | 'devices'
  | 'demo';

export interface OptionSpec extends Bounds {
  readonly key: string;
  /** Other spellings, dashes and underscores alike. */
  readonly aliases?: readonly string[];
  readonly type: OptionType;
  readonly help: string;
  readonly commands: readonly CommandName[];
}

const RUN: readonly CommandName[] = ['predict', 'stream'];
const MODEL: readonly CommandName[] = ['predict', 'stream', 'inspect', 'export'];
const JUDGE: readonly CommandName[] = ['val', 'calibrate', 'compare'];

export const OPTIONS: readonly OptionSpec[] = [
  {
    key: 'model',
    aliases: ['weights', 'm'],
    type: 'string',
    help: 'ONNX file of the detector',
    commands: [...MODEL, 'train', ...JUDGE, 'demo'],
  },
  {
    key: 'config',
    type: 'string',
    help: 'site file: many cameras in one process, with zones, events, MQTT and a page',
    commands: ['stream'],
  },
  {
    key: 'source',
    aliases: ['s', 'input'],
    type: 'string',
    help: 'picture, video, folder, glob, list file, camera number, csi://0, rtsp:// or http:// address, - for a pipe; compare: a folder or video',
    commands: [...RUN, 'compare', 'export', 'bench', 'demo'],
  },
  {
    key: 'data',
    aliases: ['dataset'],
    type: 'string',
    help: 'data set: a data.yaml (YOLO), COCO or labelme .json, OpenImages .csv, CVAT .xml, or a folder',
    commands: ['inspect', 'train', ...JUDGE, 'export', 'bench'],
  },
  {
    key: 'pictures',
    type: 'string',
    choices: ['headers', 'decode', 'skip'],
    defaultText: 'headers',
    help: 'with data=: check headers and duplicates, decode every picture, or skip them',
    commands: ['inspect'],
  },
  {
    key: 'faults',
    type: 'string',
    defaultText: '5',
    help: 'with data=: how many faults of each kind are listed; all for every one',
    commands: ['inspect'],
  },
  {
    key: 'imgsz',
    aliases: ['img', 'img_size', 'imgsize'],
    type: 'size',
    min: 32,
    max: 8192,
    defaultText: "the model's own, else 640",
    help: 'input size where the model leaves it free: one number, or height,width',
    commands: [...MODEL, 'train', ...JUDGE, 'bench'],
  },
  {
    key: 'conf',
    aliases: ['conf_thres', 'confidence', 'threshold_base'],
    type: 'number',
    min: 0,
    max: 1,
    defaultText: '0.25; val, compare: 0.001',
    help: 'least score; conf.person=0.5 for one class',
    commands: [...RUN, 'val', 'compare', 'bench'],
  },
  {
    key: 'iou',
    aliases: ['iou_thres'],
    type: 'number',
    min: 0,
    max: 1,
    defaultText: '0.7',
    help: 'overlap above which a box suppresses another',
    commands: [...RUN, ...JUDGE],
  },
  {
    key: 'max_det',
    type: 'integer',
    min: 1,
    max: 30000,
    defaultText: '300',
    help: 'most boxes per frame',
    commands: [...RUN, ...JUDGE],
  },
  {
    key: 'classes',
    aliases: ['filter'],
    type: 'list',
    help: 'only these classes: numbers or names',
    commands: RUN,
  },
  {
    key: 'agnostic_nms',
    aliases: ['agnostic'],
    type: 'boolean',
    defaultText: 'False',
    help: 'suppress across classes',
    commands: [...RUN, ...JUDGE],
  },
  {
    key: 'threshold',
    type: 'string',
    choices: ['fixed', 'variance', 'std', 'tail-mass', 'conformal'],
    defaultText: 'fixed',
    help: 'rule that keeps a box; conformal needs thresholds=',
    commands: RUN,
  },
  {
    key: 'k',
    type: 'number',
    min: -10,
    max: 10,
    defaultText: '0.3 (variance), 0.1 (std)',
    help: 'strength of threshold=variance|std: keep above conf - k * variance|std',
    commands: RUN,
  },
  {
    key: 'tail',
    type: 'number',
    min: 0,
    max: 1,
    defaultText: '0.5',
    help: 'threshold=tail-mass: least probability that the score is above conf',
    commands: RUN,
  },
  { key: 'thresholds', type: 'string', help: 'thresholds file, as written by a comparison', commands: RUN },
  {
    key: 'condition',
    type: 'string',
    help: 'light condition whose thresholds to use (with thresholds=)',
    commands: RUN,
  },
  {
    key: 'camera',
    type: 'string',
    help: 'camera whose thresholds to use (with thresholds=)',
    commands: RUN,
  },
  {
    key: 'nms',
    type: 'string',
    choices: ['hard', 'soft', 'uncertainty', 'box-uncertainty', 'vote', 'wbf'],
    defaultText: 'hard',
    help: 'how overlapping boxes compete',
    commands: [...RUN, 'val', 'calibrate', 'compare'],
  },
  {
    key: 'calibrator',
    type: 'string',
    defaultText: 'the one that the model carries',
    help: 'off for raw scores, or the file of a calibrator for a model that carries none',
    commands: [...RUN, 'val'],
  },
  {
    key: 'preset',
    type: 'string',
    choices: ['published'],
    help: 'the published recipe: threshold=variance conf=0.5 k=0.3 nms=uncertainty; for train its losses and labels',
    commands: [...RUN, 'train'],
  },
  {
    key: 'uncertainty',
    type: 'string',
    choices: ['auto', 'box', 'score', 'all', 'none'],
    defaultText: 'auto',
    help: 'what must be reported; auto takes what the model has',
    commands: [...RUN, 'export'],
  },
  {
    key: 'layout',
    type: 'string',
    choices: HEAD_KINDS,
    help: 'shape of the head, where it cannot be told from the graph',
    commands: [...MODEL, 'bench'],
  },
  {
    key: 'preprocess',
    type: 'string',
    help: "override: 'rgb,0-1,letterbox', 'bgr,0-255,stretch,mean=1:2:3,std=1:2:3'",
    commands: [...MODEL, 'bench'],
  },
  {
    key: 'names',
    type: 'string',
    help: 'file with class names (one per line, or a data.yaml), or a list; val: those of predictions=',
    commands: [...MODEL, 'val'],
  },
  {
    key: 'device',
    type: 'string',
    defaultText: 'cpu',
    help: 'cpu, auto, 0 for the first CUDA device, tensorrt:0, dla:0, webgpu, kserve://host:port/model',
    commands: [...RUN, 'train', ...JUDGE],
  },
  {
    key: 'ort_library',
    type: 'string',
    defaultText: 'ORT_DYLIB_PATH, else that of onnxruntime-node',
    help: 'the libonnxruntime.so to use: that of a Jetson, for example',
    commands: [...RUN, 'train', ...JUDGE, 'bench', 'devices'],
  },
  {
    key: 'provider_options',
    type: 'list',
    help: 'options of the device in the words of ONNX Runtime: trt_fp16_enable:1,trt_timing_cache_enable:1',
    commands: [...RUN, ...JUDGE, 'bench'],
  },
  {
    key: 'threads',
    type: 'integer',
    min: 1,
    max: 256,
    defaultText: 'cores - 1; train: measured',
    help: 'threads of one inference, or of one step of training',
    commands: [...RUN, 'train', ...JUDGE, 'export'],
  },
  {
    key: 'sessions',
    aliases: ['workers'],
    type: 'integer',
    min: 1,
    max: 64,
    defaultText: '1',
    help: 'inferences side by side; train: workers that share a batch',
    commands: [...RUN, 'train', ...JUDGE],
  },
  {
    key: 'half',
    type: 'boolean',
    help: 'export: write float16; else accepted and without effect: the precision is that of the file',
    commands: [...RUN, 'export'],
  },
  {
    key: 'int8',
    type: 'boolean',
    help: 'export: write 8-bit integers; else accepted and without effect: the precision is that of the file',
    commands: [...RUN, 'export'],
  },
  {
    key: 'vid_stride',
    aliases: ['vid-stride'],
    type: 'integer',
    min: 1,
    max: 100000,
    defaultText: '1; compare: 5,000 frames at most',
    help: 'take every n-th frame of a video',
    commands: [...RUN, 'compare'],
  },
  {
    key: 'buffer',
    type: 'string',
    choices: ['newest', 'all'],
    defaultText: 'newest for live sources',
    help: 'live sources: newest frame or every frame',
    commands: ['stream'],
  },
  { key: 'stream_buffer', type: 'boolean', help: 'True is buffer=all', commands: ['stream'] },
  {
    key: 'stall',
    type: 'number',
    min: 0.5,
    max: 600,
    defaultText: '4',
    help: 'live sources: seconds without a frame before reconnecting',
    commands: ['stream'],
  },
  {
    key: 'retries',
    type: 'integer',
    min: 0,
    max: 1000000,
    defaultText: 'without end',
    help: 'live sources: connection attempts in a row before giving up',
    commands: ['stream'],
  },
  {
    key: 'rtsp_transport',
    type: 'string',
    choices: ['tcp', 'udp'],
    defaultText: 'tcp',
    help: 'transport of RTSP',
    commands: ['stream'],
  },
  {
    key: 'hwaccel',
    type: 'string',
    help: 'hardware decoding: a preset name, or arguments for ffmpeg',
    commands: RUN,
  },
  {
    key: 'decoder',
    type: 'string',
    choices: ['ffmpeg', 'gstreamer'],
    defaultText: 'ffmpeg; gstreamer for csi://',
    help: "who decodes; gstreamer takes a Jetson's decoder where it is installed (files, rtsp://)",
    commands: RUN,
  },
  { key: 'raw', type: 'string', help: 'with source=-: raw frames, rgb24:640x480@25', commands: ['stream'] },
  {
    key: 'deinterlace',
    type: 'boolean',
    defaultText: 'False',
    help: 'deinterlace marked frames',
    commands: RUN,
  },
  {
    key: 'square_pixels',
    type: 'boolean',
    defaultText: 'False',
    help: 'correct anamorphic video',
    commands: RUN,
  },
  {
    key: 'max_pixels',
    type: 'integer',
    min: 1,
    max: 4000000000,
    defaultText: '268402689',
    help: 'largest picture that is read',
    commands: RUN,
  },
  {
    key: 'max_frames',
    type: 'integer',
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    help: 'stop after so many frames',
    commands: RUN,
  },
  {
    key: 'save',
    type: 'boolean',
    defaultText: 'False',
    help: 'write annotated pictures or video to the run folder',
    commands: RUN,
  },
  {
    key: 'output',
    aliases: ['o'],
    type: 'string',
    help: 'write annotated video to this .mp4, .mkv or .m3u8',
    commands: RUN,
  },
  { key: 'save_txt', type: 'boolean', defaultText: 'False', help: 'write YOLO label files', commands: RUN },
  {
    key: 'save_conf',
    type: 'boolean',
    defaultText: 'False',
    help: 'with the score as last column',
    commands: RUN,
  },
  {
    key: 'save_json',
    type: 'boolean',
    defaultText: 'False',
    help: 'write COCO results (predictions.json)',
    commands: [...RUN, 'val'],
  },
  {
    key: 'save_csv',
    aliases: ['csv'],
    type: 'boolean',
    defaultText: 'False',
    help: 'write predictions.csv',
    commands: RUN,
  },
  {
    key: 'project',
    type: 'string',
    defaultText: 'runs/detect',
    help: 'folder of run folders',
    commands: [...RUN, 'train', ...JUDGE, 'bench'],
  },
  {
    key: 'name',
    type: 'string',
    defaultText: 'the name of the command',
    help: 'name of the run folder',
    commands: [...RUN, 'train', ...JUDGE, 'bench'],
  },
  {
    key: 'exist_ok',
    type: 'boolean',
    defaultText: 'False',
    help: 'write into an existing run folder',
    commands: [...RUN, 'train', ...JUDGE, 'bench'],
  },
  {
    key: 'json',
    type: 'boolean',
    defaultText: 'True for stream, False for predict',
    help: 'print results as JSON lines',
    commands: ['predict', 'stream', ...JUDGE, 'export', 'bench', 'inspect', 'devices'],
  },
  {
    key: 'profile',
    type: 'string',
    help: 'how to set up a board that is not at hand: orin-nano, xavier-nx, thor, ampere, ...',
    commands: ['devices'],
  },
  {
    key: 'ffmpeg',
    type: 'string',
    defaultText: 'from PATH',
    help: 'path of the ffmpeg program',
    commands: ['predict', 'stream', 'export', 'bench', 'devices', 'demo'],
  },
  {
    key: 'verbose',
    aliases: ['v'],
    type: 'boolean',
    defaultText: 'False',
    help: 'say what was recognised and assumed',
    commands: ['predict', 'stream', 'train', ...JUDGE, 'export', 'inspect', 'devices', 'demo'],
  },
  ...EVALUATE_OPTIONS,
  ...PREDICTIONS_OPTIONS,
  ...CALIBRATE_OPTIONS,
  ...COMPARE_OPTIONS,
  ...EXPORT_OPTIONS,
  ...BENCH_OPTIONS,
  ...TRACK_OPTIONS,
  ...LIGHT_OPTIONS,
  ...TRAIN_OPTIONS,
];

/** Finds an option by any spelling of its name. */
export function findOption(word: string): OptionSpec | undefined {
  const wanted = canonical(word);
  return OPTIONS.find(
    ({ key, aliases = [] }) => key === wanted || aliases.some((alias) => canonical(alias) === wanted),
  );
}

export function canonical(word: string): string {
  return word.replaceAll('-', '_').toLowerCase();
}
