// `edge-detect demo`: the main job on clips, and what was found, in words.
import { ConfigError } from '#core';
import { createRunFolder, locateFfmpeg } from '#runtime';
import type { Config } from '../config.ts';
import { runRealDemo } from '../demo/real.ts';
import { runStreetDemo } from '../demo/street.ts';
import { defined } from '../open.ts';
import { sampleClips, samplePath } from '../sample-files.ts';

export async function demo(config: Config, signal: AbortSignal): Promise<void> {
  const [model, source] = [config.text('model'), config.text('source')];
  if ((model === undefined) !== (source === undefined)) {
    throw new ConfigError(
      `the demo takes model= and source= together, and ${model === undefined ? 'model' : 'source'}= is missing`,
      {
        hint: 'give both, or neither: then it runs the sample detector on the sample clips',
      },
    );
  }
  const ffmpeg = await locateFfmpeg(defined('ffmpeg', config.text('ffmpeg')));
  const folder = await createRunFolder({ project: 'runs/demo', name: 'demo', existOk: false });
  if (model !== undefined && source !== undefined)
    await runRealDemo({ model, source, ffmpeg, folder, signal });
  else await runStreetDemo({ files: sampleFiles(), ffmpeg, folder, signal });
}

function sampleFiles() {
  const [day = '', dusk = '', night = ''] = sampleClips();
  return {
    model: samplePath('model/edge-n-street.onnx'),
    clips: { day, dusk, night },
    truth: samplePath('clips/street.truth.jsonl'),
  };
}
