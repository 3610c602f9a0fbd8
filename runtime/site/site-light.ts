// How the light of one camera of a site file is told, and what `light: sun` needs beside it.
import { parseZonedTime } from '../sun-light.ts';
import type { SiteCamera } from './site.ts';
import type { SiteFaults } from './site-faults.ts';
import type { SitePath } from './site-placed.ts';
import type { CameraDocument } from './site-schema.ts';

interface LightPlace {
  readonly own: CameraDocument;
  /** Of the camera. */
  readonly base: SitePath;
  /** Of `light`, which may stand at the top. */
  readonly path: SitePath;
  readonly location: CameraDocument['location'];
  /** The source is a clip on this machine. */
  readonly isFile: boolean;
  readonly faults: SiteFaults;
}

/** @returns undefined where nothing is asked for, or it is refused */
export function lightOf(word: CameraDocument['light'], place: LightPlace): SiteCamera['light'] {
  const { own, base, path, location, isFile, faults } = place;
  const startPath = [...base, 'start_time'];
  if (word !== 'sun') {
    if (own.start_time !== undefined)
      faults.addNew(startPath, {
        text: 'this has no effect here: it acts with light: sun',
        hint: 'write light: sun, or remove the key',
        atKey: true,
      });
    return word === 'auto' ? 'auto' : undefined;
  }
  const startMs = startOf(own, startPath, faults);
  if (isFile && own.start_time === undefined)
    faults.addNew(startPath, {
      text: 'this key is missing: a clip does not say when it was taken',
      hint: 'write start_time: 2021-03-20T18:30:00+08:00, or light: auto',
    });
  const isLive = !isFile && !/^https?:/i.test(String(own.source));
  if (isLive && own.start_time !== undefined)
    faults.addNew(startPath, {
      text: 'this has no effect here: the frames of a camera are of now',
      hint: 'remove the key',
      atKey: true,
    });
  if (location === undefined) {
    // One wrong place at the top is one mistake, however many cameras stand there.
    if (!faults.touches(['location']) && !faults.touches([...base, 'location']))
      faults.addNew(path, {
        text: 'found sun, and no location beside it or at the top',
        hint: 'write location: {latitude: 52.52, longitude: 13.4}',
      });
    return undefined;
  }
  return { kind: 'sun', ...location, ...(startMs !== undefined && { startMs }) };
}

function startOf(
  { start_time: text }: CameraDocument,
  path: SitePath,
  faults: SiteFaults,
): number | undefined {
  const startMs = text === undefined ? undefined : parseZonedTime(text);
  if (text !== undefined && startMs === undefined)
    faults.expected(path, 'a time with its zone', 'write start_time: 2021-03-20T18:30:00+08:00');
  return startMs;
}
