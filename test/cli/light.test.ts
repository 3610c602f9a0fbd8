// `stream light=`: the state in every line, thresholds that follow it, the sun by clock and place, and what is refused.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonLines } from '../support/cli.ts';
import { ffmpegAvailable, ffmpegNote } from '../support/ffmpeg-available.ts';
import { faultsOfRefusal, type PictureLine, RunFolder } from '../support/run-folder.ts';

type LightLine = PictureLine & { readonly light?: string };

const file = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const model = file('samples/model/edge-n-street.onnx');
const clip = (name: string) => `source=${file(`samples/clips/${name}.mp4`)}`;

const THRESHOLDS = {
  version: 1,
  modelSha256: createHash('sha256').update(readFileSync(model)).digest('hex'),
  score: 'raw',
  suppression: { kind: 'hard', iou: 0.6 },
  classes: { '*': 0.4 },
  conditions: { day: { '*': 0.5 }, night: { '*': 0.2 } },
};
const SUN = ['light=sun', 'lat=1.35', 'lon=103.82'];

describe.skipIf(!ffmpegAvailable)(`stream light=${ffmpegNote}`, () => {
  const folder = new RunFolder();

  beforeAll(async () => {
    const hysteresis = { states: ['night', 'day'], boundaries: [5], margin: 0, holdSeconds: 0 };
    await folder.write('thresholds.json', JSON.stringify(THRESHOLDS));
    await folder.write('ladder.json', JSON.stringify({ ...THRESHOLDS, hysteresis }));
    await folder.write(
      'sun.json',
      JSON.stringify({ ...THRESHOLDS, hysteresis: { ...hysteresis, measure: 'sun' } }),
    );
    await folder.write('rain.json', JSON.stringify({ ...THRESHOLDS, conditions: { rain: { '*': 0.3 } } }));
  });
  afterAll(() => folder.remove());

  const run = (...words: string[]) => folder.run(['stream', `model=${model}`, 'max_frames=5', ...words]);

  async function stream(...words: string[]) {
    const { code, stdout, stderr } = await run(...words);
    expect(code, stderr).toBe(0);
    const lines = jsonLines<LightLine>(stdout);
    const scores = lines.flatMap(({ detections }) => detections.map(({ confidence }) => confidence));
    return { states: new Set(lines.map(({ light }) => light)), least: Math.min(...scores), stderr };
  }

  it.each([
    ['day', 0.5, 0.8],
    ['night', 0.2, 0.4],
  ])('takes the thresholds of %s by the pictures', async (state, from, to) => {
    const { states, least, stderr } = await stream(clip(state), 'light=auto', 'thresholds=thresholds.json');
    expect(states).toEqual(new Set([state]));
    expect(least).toBeGreaterThanOrEqual(from);
    expect(least).toBeLessThan(to);
    expect(stderr).toMatch(new RegExp(`${state}\\.mp4: light is ${state} \\(measured -?\\d`));
  });

  it("takes the file's ladder before the general one", async () => {
    const { states } = await stream(clip('day'), 'light=auto', 'thresholds=ladder.json');
    expect(states).toEqual(new Set(['night']));
  });

  it('says the state without thresholds, and no state where it is not asked for', async () => {
    const said = await stream(clip('day'), 'light=auto');
    expect(said.states).toEqual(new Set(['day']));
    expect(said.stderr).toContain('thresholds do not follow it');
    const silent = await stream(clip('day'), 'thresholds=ladder.json');
    expect(silent.states).toEqual(new Set([undefined]));
    expect(silent.stderr).toContain('the light is not followed, so its general thresholds hold');
  });

  it('goes by the sun, whatever the picture shows', async () => {
    const sun = (time: string, thresholds: string) =>
      stream(clip('day'), ...SUN, `start_time=2021-03-20T${time}+08:00`, `thresholds=${thresholds}`);
    const dusk = await sun('19:25:00', 'thresholds.json');
    expect(dusk.states).toEqual(new Set(['dusk']));
    expect(dusk.stderr).toMatch(/light is dusk \(measured -3\.\d+\)/);
    const night = await sun('20:00:00', 'thresholds.json');
    expect(night.states).toEqual(new Set(['night']));
    expect(night.least).toBeLessThan(0.4);
    // 18:30 is 10.6 degrees, 19:00 is 3.1: either side of the file's own 5 degrees.
    expect((await sun('18:30:00', 'sun.json')).states).toEqual(new Set(['day']));
    expect((await sun('19:00:00', 'sun.json')).states).toEqual(new Set(['night']));
  });

  it.each([
    [
      ['light=auto', 'condition=day', 'thresholds=thresholds.json'],
      'condition= fixes what light=auto would find out',
    ],
    [['light=auto', 'thresholds=rain.json'], `condition 'rain' is none of the states`],
    [['light=auto', 'lat=1'], 'lat= has no effect here'],
    [['light_every=3'], 'light_every= has no effect here'],
    [['light=sun', 'lat=1.35'], 'light=sun needs lon='],
    [SUN, 'light=sun needs start_time='],
    [[...SUN, 'start_time=2021-03-20T19:25:00'], 'is no time with a zone'],
    [['light=sun', 'lat=103.82', 'lon=1.35'], 'lat'],
    [['light=moon'], 'light=moon: not one of auto, sun'],
  ])('refuses %j', async (words, text) => {
    const result = await run(clip('day'), ...words);
    expect(faultsOfRefusal(result, 3)).toEqual([]);
    expect(result.stderr).toContain(text);
  });
});
