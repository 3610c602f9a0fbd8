// A site file that is changed while the site runs: what can be taken over is, and a mistake in it changes nothing.
import { unwatchFile, watchFile } from 'node:fs';
import { EdgeDetectError } from '#core';
import type { OpenDetector } from '#runtime';
import {
  checkClasses,
  checkReview,
  diffSite,
  readSite,
  type Site,
  type SiteChange,
  type SiteControl,
} from '#runtime/site';
import { say, sayError } from './output.ts';

const LOOK_EVERY_MS = 1000;

/** @returns a function that ends the watching */
export function watchSite(
  path: string,
  started: Site,
  {
    control,
    classNames,
    capabilities,
  }: { readonly control: SiteControl } & Pick<OpenDetector, 'classNames' | 'capabilities'>,
): () => void {
  let site = started;
  let turn = Promise.resolve();
  const take = async () => {
    try {
      const file = await readSite(path);
      checkClasses(file, classNames);
      checkReview(file, capabilities);
      const changes = diffSite(site, file.site);
      for (const change of changes) say(`${path}: ${describeChange(change)}`);
      await control.apply(changes);
      // What needs a new process is said again at the next change: it still does not hold.
      site = { ...site, cameras: file.site.cameras };
    } catch (error) {
      if (!(error instanceof EdgeDetectError)) throw error;
      say(`${path} was changed and cannot be read: the site goes on as before`);
      sayError(error);
    }
  };
  // Looked at by its time: editors replace a file, and a watch on the old one would hear nothing.
  const onChange = () => {
    turn = turn.then(take);
  };
  watchFile(path, { interval: LOOK_EVERY_MS, persistent: false }, onChange);
  return () => unwatchFile(path, onChange);
}

function describeChange(change: SiteChange): string {
  switch (change.kind) {
    case 'camera-added':
      return `camera ${change.camera.name} is new`;
    case 'camera-removed':
      return `camera ${change.name} is gone`;
    case 'camera-live':
      return `camera ${change.camera.name}: ${change.keys.join(', ')} changed`;
    case 'camera-restart':
      return `camera ${change.camera.name}: ${change.keys.join(', ')} changed, it is connected again`;
    case 'process-restart':
      return `${change.keys.join(', ')} changed: start edge-detect again to take that over`;
    default:
      return change satisfies never;
  }
}
