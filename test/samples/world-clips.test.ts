// The committed clips: what they are, and that the renderer of today still draws them.
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  CLIP_FRAMES,
  CLIP_FRAMES_PER_SECOND,
  CLIP_LIGHTS,
  CLIP_SIZE,
  clipScene,
  TRUTH_FILE,
} from '../../samples/clips/clips.ts';
import { CLASS_NAMES, createScene, renderFrame } from '../../samples/world/index.ts';
import { ffmpegAvailable, ffmpegNote } from '../support/ffmpeg-available.ts';

const folder = fileURLToPath(new URL('../../samples/clips/', import.meta.url));
const clipPath = (name: string) => `${folder}${name}.mp4`;

interface TruthFrame {
  readonly frame: number;
  readonly objects: readonly { readonly class: string; readonly id: number }[];
}

const [head, ...lines] = readFileSync(folder + TRUTH_FILE, 'utf8')
  .trimEnd()
  .split('\n');
const truth = lines.map((line) => JSON.parse(line) as TruthFrame);

/** The frame that is compared, drawn anew at every light. */
const FRAME = 40;
const drawn = new Map(
  CLIP_LIGHTS.map(({ light }) => [
    light,
    renderFrame(createScene(clipScene(light)), FRAME / CLIP_FRAMES_PER_SECOND),
  ]),
);

describe('the truth of the clips', () => {
  it('has a line for every frame, and every class', () => {
    expect(JSON.parse(head!)).toEqual({
      camera: clipScene('sun').camera,
      seed: clipScene('sun').seed,
      ...CLIP_SIZE,
      fps: CLIP_FRAMES_PER_SECOND,
      classes: [...CLASS_NAMES],
    });
    expect(truth.map(({ frame }) => frame)).toEqual([...new Array(CLIP_FRAMES).keys()]);
    const classes = new Set(truth.flatMap(({ objects }) => objects.map((object) => object.class)));
    expect(classes).toEqual(new Set(CLASS_NAMES));
  });

  it.each(CLIP_LIGHTS)('is what the renderer draws now: $name', ({ light }) => {
    const { objects } = drawn.get(light)!;
    const boxes = objects.map(({ className, occludedFraction: occluded, ...rest }) => {
      return { class: className, occluded, ...rest };
    });
    expect(boxes).toEqual(truth[FRAME]!.objects);
  });
});

describe(`the clips${ffmpegNote}`, () => {
  it.each(CLIP_LIGHTS)('$name: at most 1 MB', ({ name }) => {
    expect(statSync(clipPath(name)).size).toBeLessThanOrEqual(1_000_000);
  });

  it.skipIf(!ffmpegAvailable).each(CLIP_LIGHTS)('$name: 8 s of H.264 in yuv420p', ({ name }) => {
    const entries = 'stream=codec_name,width,height,pix_fmt,nb_frames,avg_frame_rate:format=duration';
    const args = ['-v', 'error', '-show_entries', entries, '-of', 'json', clipPath(name)];
    const { stdout } = spawnSync('ffprobe', args, { encoding: 'utf8' });
    const { streams, format } = JSON.parse(stdout) as { streams: unknown[]; format: { duration: string } };
    const rate = `${CLIP_FRAMES_PER_SECOND}/1`;
    expect(streams).toEqual([
      {
        codec_name: 'h264',
        ...CLIP_SIZE,
        pix_fmt: 'yuv420p',
        nb_frames: String(CLIP_FRAMES),
        avg_frame_rate: rate,
      },
    ]);
    expect(Number(format.duration)).toBeCloseTo(CLIP_FRAMES / CLIP_FRAMES_PER_SECOND, 1);
  });

  it.skipIf(!ffmpegAvailable).each(CLIP_LIGHTS)(
    '$name: shows what the renderer draws now',
    ({ name, light }) => {
      const pick = [
        '-vf',
        `select=eq(n\\,${FRAME})`,
        '-frames:v',
        '1',
        '-f',
        'rawvideo',
        '-pix_fmt',
        'rgb24',
      ];
      const args = ['-v', 'error', '-i', clipPath(name), ...pick, 'pipe:1'];
      const { stdout } = spawnSync('ffmpeg', args, { maxBuffer: 1 << 24 });
      const { rgb } = drawn.get(light)!;
      expect(stdout).toHaveLength(rgb.length);
      const error = rgb.reduce((sum, value, index) => sum + Math.abs(value - stdout[index]!), 0) / rgb.length;
      expect(error).toBeLessThan(15);
    },
  );
});
