// The sample model and the sample clips: part of the package, beside `dist` or beside the sources.
import { fileURLToPath } from 'node:url';

/** @param name inside `samples/` */
export function samplePath(name: string): string {
  const root = import.meta.url.endsWith('.ts') ? '../../samples/' : '../../../samples/';
  return fileURLToPath(new URL(root + name, import.meta.url));
}

/** One street by day, at dusk and at night. */
export function sampleClips(): readonly string[] {
  return ['day', 'dusk', 'night'].map((light) => samplePath(`clips/${light}.mp4`));
}
