// Makes the three committed clips and their ground truth anew.
//   node dist/samples/clips/main.js [folder]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EdgeDetectError, locateFfmpeg, SourceError } from 'edge-detect';
import { CLASS_NAMES, createScene, type Light, renderFrame, type WorldObject } from '../world/index.ts';
import {
  CLIP_FRAMES,
  CLIP_FRAMES_PER_SECOND,
  CLIP_LIGHTS,
  CLIP_SIZE,
  clipScene,
  TRUTH_FILE,
} from './clips.ts';

/** Encodes the frames of one light. Returns the objects of each frame. */
async function makeClip(
  ffmpeg: string,
  path: string,
  light: Light,
): Promise<readonly (readonly WorldObject[])[]> {
  const child = spawn(ffmpeg, encoderArguments(path), { stdio: ['pipe', 'ignore', 'inherit'] });
  const ended = once(child, 'close');
  child.stdin.on('error', () => {}); // the exit code tells why
  const scene = createScene(clipScene(light));
  const truth: (readonly WorldObject[])[] = [];
  for (let index = 0; index < CLIP_FRAMES; index++) {
    const { rgb, objects } = renderFrame(scene, index / CLIP_FRAMES_PER_SECOND);
    truth.push(objects);
    if (!child.stdin.write(rgb)) await Promise.race([once(child.stdin, 'drain'), ended]);
  }
  child.stdin.end();
  const [code] = (await ended) as [number | null];
  if (code !== 0) {
    throw new SourceError(`ffmpeg could not write ${path} (exit code ${code})`, {
      hint: 'its own words stand above; an ffmpeg with libx264 is needed',
    });
  }
  await rename(`${path}.part`, path);
  return truth;
}

function encoderArguments(path: string): readonly string[] {
  const size = `${CLIP_SIZE.width}x${CLIP_SIZE.height}`;
  const input = ['-f', 'rawvideo', '-pix_fmt', 'rgb24', '-s', size, '-r', String(CLIP_FRAMES_PER_SECOND)];
  // 800 kbit/s over 8 s keep the noise of the night below 1 MB.
  const coding = [
    '-c:v',
    'libx264',
    '-preset',
    'medium',
    '-crf',
    '25',
    '-maxrate',
    '800k',
    '-bufsize',
    '1200k',
  ];
  const output = ['-pix_fmt', 'yuv420p', '-movflags', '+faststart', '-f', 'mp4', '-y', `file:${path}.part`];
  // One thread and no stamps: the same frames give the same file.
  const exact = ['-threads', '1', '-fflags', '+bitexact', '-flags:v', '+bitexact', '-map_metadata', '-1'];
  return ['-hide_banner', '-v', 'error', ...input, '-i', 'pipe:0', ...coding, ...exact, ...output];
}

function truthText(frames: readonly (readonly WorldObject[])[]): string {
  const { camera, seed } = clipScene('sun');
  const { width, height } = CLIP_SIZE;
  const head = { camera, seed, width, height, fps: CLIP_FRAMES_PER_SECOND, classes: CLASS_NAMES };
  const lines = frames.map((objects, frame) => {
    const boxes = objects.map(({ className, x1, y1, x2, y2, occludedFraction, id }) => {
      return { class: className, x1, y1, x2, y2, occluded: occludedFraction, id };
    });
    return JSON.stringify({ frame, objects: boxes });
  });
  return `${[JSON.stringify(head), ...lines].join('\n')}\n`;
}

async function main(folder: string): Promise<void> {
  const ffmpeg = await locateFfmpeg();
  for (const { name, light } of CLIP_LIGHTS) {
    const path = join(folder, `${name}.mp4`);
    const truth = await makeClip(ffmpeg.path, path, light);
    console.log(`${path}: ${CLIP_FRAMES} frames, ${truth.flat().length} boxes`);
    if (light === CLIP_LIGHTS[0]?.light) await writeFile(join(folder, TRUTH_FILE), truthText(truth));
  }
}

try {
  await main(process.argv[2] ?? 'samples/clips');
} catch (error) {
  if (!(error instanceof EdgeDetectError)) throw error;
  console.error(`${error.message}\n${error.hint}`);
  process.exitCode = error.exitCode;
}
