// The sinks that a command line asks for.
import { join } from 'node:path';
import { ConfigError } from '#core';
import type { FrameSource, Sink } from '#runtime';
import {
  createAnnotatedPictures,
  createAnnotatedVideo,
  createCocoJson,
  createCsv,
  createJsonLines,
  createPainter,
  createYoloTxt,
  linesToFile,
  linesToStream,
  locateFfmpeg,
} from '#runtime';
import type { Config } from './config.ts';
import { defined } from './open.ts';
import { say } from './output.ts';
import { openRunFolder } from './run-folder.ts';
import { guardSources } from './source-guard.ts';

export interface OpenSinks {
  readonly sinks: readonly Sink[];
  /** Whether a sink paints, so that the source must deliver whole frames. */
  readonly needsFull: boolean;
}

export interface SinkDefaults {
  readonly json: boolean;
  readonly save: boolean;
}

export async function openSinks(
  config: Config,
  source: FrameSource,
  defaults: SinkDefaults,
): Promise<OpenSinks> {
  const folder = lazyFolder(config);
  const pictures = source.kind === 'pictures';
  const save = config.flag('save') ?? defaults.save;
  const output = config.text('output');
  const sinks: Sink[] = [];
  if (config.flag('json') ?? defaults.json) {
    sinks.push(
      createJsonLines(linesToStream(process.stdout, 'standard output'), pictures ? 'picture' : 'stream'),
    );
  }
  if (config.flag('save_csv'))
    sinks.push(createCsv(await linesToFile(join(await folder(), 'predictions.csv'))));
  if (config.flag('save_txt')) {
    sinks.push(await createYoloTxt({ folder: await folder(), saveConf: config.flag('save_conf') ?? false }));
  }
  if (config.flag('save_conf') && !config.flag('save_txt')) {
    say('save_conf=True changes nothing without save_txt=True');
  }
  if (config.flag('save_json')) {
    sinks.push(await createCocoJson({ path: join(await folder(), 'predictions.json') }));
  }
  if (save || output !== undefined) sinks.push(await openAnnotated(config, source, folder));
  return { sinks, needsFull: save || output !== undefined };
}

/** A folder may hold pictures and clips: each frame goes to the sink of its kind. */
async function openAnnotated(
  config: Config,
  source: FrameSource,
  folder: () => Promise<string>,
): Promise<Sink> {
  const painter = createPainter({ onNotice: say });
  const output = config.text('output');
  if (source.kind === 'pictures' && output !== undefined) throw noVideo(output, source.name);
  const runFolder = output === undefined ? await folder() : undefined;
  const guard = guardSources({ ...defined('output', output), ...defined('folder', runFolder) });
  const pictures =
    source.kind === 'live' || runFolder === undefined
      ? undefined
      : createAnnotatedPictures({ folder: runFolder, painter });
  if (source.kind === 'pictures' && pictures !== undefined) return guarded(pictures, guard);
  const video = createAnnotatedVideo({
    ffmpeg: await locateFfmpeg(defined('ffmpeg', config.text('ffmpeg'))),
    pathOf: (name) => output ?? join(runFolder ?? '', `${fileStem(name)}.mp4`),
    painter,
    live: source.kind === 'live',
  });
  const both: Sink = {
    get outputs() {
      return pictures === undefined || runFolder === undefined ? video.outputs : [runFolder];
    },
    async write(result) {
      const isPicture = result.frame.full?.format === 'rgb24';
      if (isPicture && output !== undefined) throw noVideo(output, result.frame.source);
      await (isPicture && pictures ? pictures : video).write(result);
    },
    async close() {
      await Promise.all([pictures?.close(), video.close()]);
    },
  };
  return guarded(both, guard);
}

function guarded(sink: Sink, guard: (source: string) => void): Sink {
  return {
    get outputs() {
      return sink.outputs;
    },
    async write(result) {
      guard(result.frame.source);
      await sink.write(result);
    },
    close: () => sink.close(),
  };
}

function noVideo(output: string, source: string): ConfigError {
  return new ConfigError(`output=${output} is a video, and ${source} is of still pictures`, {
    hint: 'use save=True to write annotated pictures to a run folder, or name a clip or camera as source=',
  });
}

/** The run folder is made when the first sink wants it, and once. */
function lazyFolder(config: Config): () => Promise<string> {
  let folder: Promise<string> | undefined;
  return () => {
    folder ??= openRunFolder(config, 'predict');
    return folder;
  };
}

/** `clip` of `/videos/clip.avi`; something harmless of a camera's address. */
function fileStem(name: string): string {
  const last =
    name
      .replace(/[?#].*$/, '')
      .split(/[/\\]/)
      .filter((part) => part !== '')
      .at(-1) ?? 'stream';
  const stem = last.replace(/\.[^.]+$/, '').replace(/[^\p{L}\p{N}._-]+/gu, '_');
  return stem === '' || stem === '-' ? 'stream' : stem;
}
