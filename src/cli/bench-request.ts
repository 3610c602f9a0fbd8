// The words of `bench` as a request: which models where, and on which frames.
import { ConfigError, type HeadKind } from '#core';
import { loadDataset, type SplitName } from '#data/datasets';
import { type BenchRequest, chooseSplit } from '#evaluate';
import type { Provider } from '#runtime';
import type { Config } from './config.ts';
import { parseDevice } from './device.ts';
import { readClassMatching } from './evaluate-request.ts';
import { defined } from './open.ts';
import { readRuntimeChoice } from './runtime-choice.ts';
import { sampleClips } from './sample-files.ts';
import { parseValue } from './values.ts';

const MOST_FRAMES = 60;
const ROUNDS = 5;
const MOST_THREADS = 256;

export async function readBenchRequest(config: Config): Promise<BenchRequest> {
  const models = config.list('model') ?? [];
  if (models.length === 0) {
    throw new ConfigError('bench needs model=', { hint: 'write model=a.onnx,b.onnx' });
  }
  const size = config.size('imgsz');
  const labels = readLabels(config);
  const most = config.number('frames') ?? MOST_FRAMES;
  const providers = (config.list('device') ?? ['cpu']).map(readProvider);
  return {
    models,
    providers,
    ...readRuntimeChoice(config, ...providers),
    threads: (config.list('threads') ?? ['1']).map(readThreads),
    rounds: config.number('rounds') ?? ROUNDS,
    frames: {
      sources: await readSources(config, labels, most),
      most,
      ...defined('ffmpeg', config.text('ffmpeg')),
    },
    ...defined('labels', labels),
    ...defined('conf', config.number('conf')),
    ...defined('imageSize', size && { height: size[0], width: size[1] }),
    ...defined('layout', config.text('layout') as HeadKind | undefined),
    ...defined('preprocess', config.text('preprocess')),
  };
}

function readProvider(word: string): Provider {
  const provider = parseDevice(word);
  if (provider !== 'auto') return provider;
  throw new ConfigError('device=auto: figures are measured on devices that are named', {
    hint: 'write device=cpu, device=0 or device=cpu,0',
  });
}

function readThreads(word: string): number {
  const bounds = { min: 1, max: MOST_THREADS, defaultText: '1' };
  return parseValue('threads', word, 'integer', bounds) as number;
}

function readLabels(config: Config): BenchRequest['labels'] {
  const data = config.text('data');
  if (data === undefined) return undefined;
  const split = config.text('split') as SplitName | undefined;
  return { data, matching: readClassMatching(config), ...defined('split', split) };
}

/** Without a source, labelled pictures from the whole split; without either, the clips that come with the program. */
async function readSources(
  config: Config,
  labels: BenchRequest['labels'],
  most: number,
): Promise<readonly string[]> {
  const source = config.text('source');
  if (source !== undefined) return [source];
  if (labels === undefined) return sampleClips();
  const { pictures } = chooseSplit(await loadDataset(labels.data), labels.split);
  const step = Math.max(1, pictures.length / most);
  const places = Array.from({ length: Math.min(most, pictures.length) }, (_, at) => Math.floor(at * step));
  return places.flatMap((place) => pictures[place]?.path ?? []);
}
