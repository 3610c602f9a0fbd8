// A model and a clip for a first look, where neither is at hand. Nothing in it was trained.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { locateFfmpeg } from 'edge-detect';
import { serialize, standInQualityDetector } from 'edge-detect/onnx';
import { DUSK_CLIP, drawDuskClip } from 'edge-detect/runtime';

export interface StandIn {
  readonly model: string;
  readonly source: string;
  readonly className: string;
}

export async function makeStandIn(folder: string): Promise<StandIn> {
  const standIn = { model: join(folder, 'light.onnx'), source: join(folder, 'dusk.mp4'), className: 'light' };
  await writeFile(standIn.model, serialize(standInQualityDetector(DUSK_CLIP)));
  await drawDuskClip(await locateFfmpeg(), standIn.source);
  return standIn;
}
