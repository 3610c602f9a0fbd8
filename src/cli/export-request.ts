// The words of `export` as a request: what is written, and on which pictures it is judged.
import { ConfigError, type HeadKind } from '#core';
import { loadDataset, type SplitName } from '#data/datasets';
import { chooseSplit, otherSplit } from '#evaluate';
import type { ExportRequest, ExportSettings, GateFloors, Placement, QuantiseSettings } from '#export';
import { type Ffmpeg, locateFfmpeg, readNames } from '#runtime';
import type { Config } from './config.ts';
import { readClassMatching } from './evaluate-request.ts';
import { defined } from './open.ts';
import { sampleClips } from './sample-files.ts';

/** Scales of int8 want many scenes; float16 only looks for what would overflow. */
const MOST_RANGE_PICTURES = { float32: 0, float16: 24, int8: 128 } as const;
const MOST_GATE_FRAMES = 96;

export async function readExportRequest(config: Config): Promise<ExportRequest> {
  const names = config.text('names');
  const size = config.size('imgsz');
  const settings = readSettings(config);
  return {
    model: config.required('model'),
    settings,
    ...(await readPictures(config, settings)),
    floors: readFloors(config),
    force: config.flag('force') ?? false,
    ...defined('out', config.text('out')),
    ...defined('imageSize', size && { height: size[0], width: size[1] }),
    ...defined('layout', config.text('layout') as HeadKind | undefined),
    ...defined('preprocess', config.text('preprocess')),
    ...defined('classNames', names === undefined ? undefined : await readNames(names)),
    ...defined('threads', config.number('threads')),
    ...defined('trtexec', config.text('trtexec')),
    ...defined('sals', readSals(config.text('sals'))),
  };
}

/** `sals=ceilings`, or the file of the model before it was adapted. */
function readSals(word: string | undefined): ExportRequest['sals'] {
  return word === undefined || word === 'ceilings' ? word : { before: word };
}

function readSettings(config: Config): ExportSettings {
  const [half, int8] = [config.flag('half') ?? false, config.flag('int8') ?? false];
  if (half && int8) {
    throw new ConfigError('half=True and int8=True contradict each other', {
      hint: 'give one of them; what int8 leaves in floats can be float16 on the device (trtexec --fp16)',
    });
  }
  const format = (config.text('format') ?? 'onnx') as ExportSettings['format'];
  const uint8 = config.flag('uint8') ?? false;
  const decode = config.flag('decode') ?? format === 'deepstream';
  if (format === 'deepstream' && (uint8 || !decode)) {
    throw new ConfigError('format=deepstream has a float32 input [N, 3, H, W] and decoded outputs', {
      hint: 'leave uint8= and decode= away',
    });
  }
  const uncertainty = config.text('uncertainty') ?? 'auto';
  const batch = config.number('batch');
  if (batch !== undefined && config.number('topk') !== undefined) {
    throw new ConfigError('batch= and topk= do not go together: the best rows are chosen for one picture', {
      hint: 'leave one of them away',
    });
  }
  return {
    format,
    precision: int8 ? 'int8' : half ? 'float16' : 'float32',
    decode: decode || uncertainty === 'box' || uncertainty === 'all',
    boxVariance: uncertainty === 'none' ? false : uncertainty === 'auto' ? 'auto' : true,
    uint8,
    opset: config.number('opset') ?? 17,
    ...defined('topAnchors', config.number('topk')),
    ...defined('batch', batch === 1 ? undefined : batch),
    ...defined('quantise', int8 ? readQuantise(config, format) : undefined),
  };
}

function readQuantise(config: Config, format: ExportSettings['format']): QuantiseSettings {
  const placement = (config.text('placement') ?? (format === 'onnx' ? 'cpu' : 'tensorrt')) as Placement;
  return {
    placement,
    method: (config.text('calibration_method') ?? 'auto') as QuantiseSettings['method'],
    weightBits: (config.number('weight_bits') ?? (placement === 'cpu' ? 7 : 8)) === 7 ? 7 : 8,
  };
}

/** Labels judge more, so `data` goes first; without either, the clips that come with the program. */
async function readPictures(
  config: Config,
  { precision }: ExportSettings,
): Promise<Pick<ExportRequest, 'pictures' | 'calibration'>> {
  const [data, source, calibration] = [
    config.text('data'),
    config.text('source'),
    config.text('calibration'),
  ];
  if (data !== undefined && source !== undefined) {
    throw new ConfigError('export is judged on data= or on source=, and both are given', {
      hint: 'give data= where there are labels; calibration= names pictures for the ranges of int8',
    });
  }
  const ffmpeg = await ffmpegFor(config, [source, calibration, data === undefined && source === undefined]);
  const most = config.number('calibration_pictures') ?? MOST_RANGE_PICTURES[precision];
  const measured = precision !== 'float32';
  const given = calibration === undefined ? undefined : { sources: [calibration], most, ...ffmpeg };
  if (data !== undefined) {
    const split = config.text('split') as SplitName | undefined;
    const others = given ?? (measured ? await otherPictures(data, split, most) : undefined);
    const pictures = {
      kind: 'labelled' as const,
      data,
      matching: readClassMatching(config),
      ...defined('split', split),
    };
    return { pictures, ...defined('calibration', others) };
  }
  const frames = config.number('gate_pictures') ?? MOST_GATE_FRAMES;
  const sources = source === undefined ? sampleClips() : [source];
  return { pictures: { kind: 'frames', sources, most: frames, ...ffmpeg }, ...defined('calibration', given) };
}

/** Ffmpeg is asked for only where a clip may have to be read. */
async function ffmpegFor(
  config: Config,
  sources: readonly (string | boolean | undefined)[],
): Promise<{ readonly ffmpeg?: Ffmpeg }> {
  if (sources.every((source) => source === undefined || source === false)) return {};
  return { ffmpeg: await locateFfmpeg(defined('ffmpeg', config.text('ffmpeg'))) };
}

/** Pictures of a split that the gate does not judge on: train first. */
async function otherPictures(data: string, split: SplitName | undefined, most: number) {
  const dataset = await loadDataset(data);
  const judged = chooseSplit(dataset, split).split;
  const other = otherSplit(dataset, judged);
  if (other === undefined) {
    throw new ConfigError(`${data} has only the split ${judged}, on which the export is judged`, {
      hint: 'name other pictures for the ranges of activations with calibration=',
    });
  }
  const paths = (dataset.splits[other] ?? []).map(({ path }) => path);
  const step = Math.max(1, Math.floor(paths.length / most));
  return { sources: paths.filter((_, place) => place % step === 0).slice(0, most), most };
}

const FLOORS = {
  min_found: 'minFound',
  max_box_px: 'maxBoxPx',
  max_score: 'maxScore',
  max_score_std: 'maxScoreStd',
  max_ap_drop: 'maxApDrop',
  max_class_ap_drop: 'maxClassApDrop',
  max_la_ece_rise: 'maxLaEceRise',
} as const satisfies Record<string, keyof GateFloors>;

function readFloors(config: Config): Partial<GateFloors> {
  return Object.fromEntries(
    Object.entries(FLOORS).flatMap(([key, floor]) => {
      const value = config.number(key);
      return value === undefined ? [] : [[floor, value]];
    }),
  );
}
