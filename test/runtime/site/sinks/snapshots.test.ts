// The best picture of every object, on a real disk: better ones, old ones, and a disk that takes none.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { readPicture } from '#data/images';
import { createSnapshots } from '../../../../runtime/site/sinks/snapshots.ts';
import { RunFolder } from '../../../support/run-folder.ts';
import { SeenCamera } from './seen-frames.ts';
import { eventually } from './site-objects.ts';

const folder = new RunFolder();
afterAll(() => folder.remove());

function open(name: string) {
  const notices: string[] = [];
  const path = folder.join(name);
  const snapshots = createSnapshots({ folder: path, days: 3, onNotice: (message) => notices.push(message) });
  return { snapshots, path, notices };
}

const fileOf = (camera: SeenCamera, trackId: number) =>
  `${camera.objects.objects.find(({ id }) => id.endsWith(`-${trackId}`))?.id}.jpg`;

describe('snapshots', () => {
  it('show an object as soon as it is one, and are said with its next event', async () => {
    const { snapshots, path } = open('new');
    const camera = new SeenCamera('gate');
    const result = camera.see([{ trackId: 1, score: 0.5 }]);
    snapshots.observe('gate', result, camera.objects);
    // The bytes may be overwritten as soon as the call is over.
    result.frame.content.fill(0);
    const file = fileOf(camera, 1);
    await eventually(() => existsSync(`${path}/gate/${file}`));
    const picture = await readPicture(`${path}/gate/${file}`);
    expect(picture.size).toEqual({ width: 320, height: 180 });
    expect(picture.rgb[0]).toBe(100);
    await eventually(() => {
      camera.see([{ trackId: 1, score: 0.5 }]);
      return camera.objects.objects[0]?.snapshot === `gate/${file}`;
    });
    await snapshots.close();
    await snapshots.close();
    expect(readdirSync(`${path}/gate`)).toEqual([file]);
  });

  it('are taken again only where the score has risen', async () => {
    const { snapshots, path } = open('better');
    const camera = new SeenCamera('gate');
    const look = async (score: number, gray: number) => {
      const result = camera.see([{ trackId: 1, score }]);
      result.frame.content.fill(gray);
      snapshots.observe('gate', result, camera.objects);
      await snapshots.close();
      const picture = await readPicture(`${path}/gate/${fileOf(camera, 1)}`);
      return picture.rgb[0];
    };
    expect(await look(0.5, 10)).toBe(10);
    expect(await look(0.54, 20)).toBe(10);
    expect(await look(0.56, 30)).toBe(30);
    expect(await look(0.4, 40)).toBe(30);
    expect(await look(0.62, 50)).toBe(50);
  });

  it('never hold more than two frames, and those left out come with a later one', async () => {
    const { snapshots, path } = open('many');
    const cameras = ['a', 'b', 'c', 'd'].map((name) => new SeenCamera(name));
    for (const camera of cameras)
      snapshots.observe(camera.name, camera.see([{ trackId: 1, score: 0.5 }]), camera.objects);
    await snapshots.close();
    expect(readdirSync(path).sort()).toEqual(['a', 'b']);
    for (const camera of cameras)
      snapshots.observe(camera.name, camera.see([{ trackId: 1, score: 0.5 }]), camera.objects);
    await snapshots.close();
    expect(readdirSync(path).sort()).toEqual(['a', 'b', 'c', 'd']);
    // One frame with two objects is encoded once, and lies there for both.
    const camera = new SeenCamera('both');
    const boxes = [
      { trackId: 1, score: 0.5 },
      { trackId: 2, score: 0.5 },
    ];
    snapshots.observe('both', camera.see(boxes), camera.objects);
    await snapshots.close();
    expect(readdirSync(`${path}/both`)).toHaveLength(2);
  });

  it('are removed when they are old, and nothing else is', async () => {
    const path = folder.join('old');
    mkdirSync(`${path}/gate`, { recursive: true });
    const hoursAgo = (name: string, hours: number) => {
      writeFileSync(`${path}/${name}`, 'x');
      const time = Date.now() / 1000 - 3600 * hours;
      utimesSync(`${path}/${name}`, time, time);
    };
    hoursAgo('gate/old.jpg', 73);
    hoursAgo('gate/young.jpg', 71);
    hoursAgo('gate/notes.txt', 1000);
    hoursAgo('gate/.partial-1', 2);
    hoursAgo('gate/.partial-2', 0);
    hoursAgo('top.jpg', 1000);
    const { snapshots, notices } = open('old');
    await snapshots.close();
    expect(readdirSync(`${path}/gate`).sort()).toEqual(['.partial-2', 'notes.txt', 'young.jpg']);
    expect(readdirSync(path).sort()).toEqual(['gate', 'top.jpg']);
    expect(notices).toEqual([]);
  });

  it('survive a place that takes none: said once, tried again later', { timeout: 30_000 }, async () => {
    const { snapshots, path, notices } = open('full');
    // A folder that nothing can be made in, whoever runs this.
    symlinkSync('/proc/self/fdinfo', `${path}/gate`);
    const camera = new SeenCamera('gate');
    for (let frame = 0; frame < 10; frame++) {
      snapshots.observe('gate', camera.see([{ trackId: 1, score: 0.5 }]), camera.objects);
      await snapshots.close();
    }
    expect(notices).toEqual([expect.stringMatching(/cannot write .*gate-\d+-1\.jpg: /)]);
    rmSync(`${path}/gate`);
    await eventually(() => {
      snapshots.observe('gate', camera.see([{ trackId: 1, score: 0.5 }]), camera.objects);
      return existsSync(`${path}/gate/${fileOf(camera, 1)}`);
    });
    await snapshots.close();
    expect(notices).toHaveLength(2);
    expect(notices[1]).toBe('snapshots are written again');
    expect(readFileSync(`${path}/gate/${fileOf(camera, 1)}`).subarray(0, 2)).toEqual(
      Buffer.from([0xff, 0xd8]),
    );
  });

  it('need a folder', () => {
    writeFileSync(folder.join('file'), '');
    expect(() => open('file')).toThrow(/cannot write .*file/);
  });
});
