// The sinks that a command line asks for.
import { join } from 'node:path';
import type { FrameSource, Sink } from '#runtime';
import {
  createAnnotatedPictures,
  createAnnotatedVideo,
  createCocoJson,
  createCsv,
  createJsonLines,
  createPainter,
  createRunFolder,
  createYoloTxt,
  linesToFile,
  linesToStream,
  locateFfmpeg,
} from '#runtime';
import type { Config } from './config.ts';
import { defined } from './open.ts';
import { say } from './output.ts';

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
  const pictures =
    source.kind === 'live' || output !== undefined
      ? undefined
      : createAnnotatedPictures({ folder: await folder(), painter });
  if (source.kind === 'pictures' && pictures !== undefined) return pictures;
  const runFolder = output === undefined ? await folder() : '';
  const video = createAnnotatedVideo({
    ffmpeg: await locateFfmpeg(defined('ffmpeg', config.text('ffmpeg'))),
    pathOf: (name) => output ?? join(runFolder, `${fileStem(name)}.mp4`),
    painter,
    live: source.kind === 'live',
  });
  return {
    get outputs() {
      return pictures === undefined ? video.outputs : [runFolder];
    },
    write: (result) => (result.frame.full?.format === 'rgb24' && pictures ? pictures : video).write(result),
    async close() {
      await Promise.all([pictures?.close(), video.close()]);
    },
  };
}

/** The run folder is made when the first sink wants it, and once. */
function lazyFolder(config: Config): () => Promise<string> {
  let folder: Promise<string> | undefined;
  return () => {
    folder ??= createRunFolder({
      project: config.text('project') ?? 'runs/detect',
      name: config.text('name') ?? 'predict',
      existOk: config.flag('exist_ok') ?? false,
    });
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
