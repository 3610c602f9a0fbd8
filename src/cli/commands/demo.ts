// `edge-detect demo`: the main job on a clip, and what it found, in words.
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRunFolder, locateFfmpeg } from '#runtime';
import type { Config } from '../config.ts';
import { runRealDemo } from '../demo/real.ts';
import { runStandInDemo } from '../demo/stand-in.ts';
import { defined } from '../open.ts';
import { print } from '../output.ts';

export async function demo(config: Config, signal: AbortSignal): Promise<void> {
  const ffmpeg = await locateFfmpeg(defined('ffmpeg', config.text('ffmpeg')));
  const data = testDataFolder();
  const model = config.text('model') ?? existing(data, 'models/nanodet_m_320.onnx');
  const source = config.text('source') ?? existing(data, 'video/ozlu_street.mp4');
  if (model === undefined || source === undefined) {
    print('\n1. No detector and clip at hand: give your own with model=… source=… to see this part');
  } else {
    const folder = await createRunFolder({ project: 'runs/demo', name: 'demo', existOk: false });
    await runRealDemo({ model, source, ffmpeg, folder, signal });
  }
  const scratch = await mkdtemp(join(tmpdir(), 'edge-detect-demo-'));
  try {
    await runStandInDemo({ ffmpeg, folder: scratch, signal });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Real models and clips that are never part of the project; they lie beside its checkout where they are at hand. */
function testDataFolder(): string {
  const depth = import.meta.url.endsWith('.ts') ? '../../../..' : '../../../../..';
  return (
    process.env['EDGE_DETECT_TEST_DATA'] ??
    join(fileURLToPath(new URL(depth, import.meta.url)), 'shared', 'data')
  );
}

function existing(folder: string, path: string): string | undefined {
  const full = join(folder, path);
  return existsSync(full) ? full : undefined;
}
