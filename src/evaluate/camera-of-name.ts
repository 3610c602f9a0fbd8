// Which camera took a picture, where its file name begins with it.
import { basename } from 'node:path';

/**
 * `2703-20210320_183000.jpg` and `camera7_sun_12.jpg` begin with their camera. Undefined where a name has no parts, and
 * for `20210320_183000.jpg`: digits before an underscore are a date or a number.
 */
export function cameraOfName(path: string): string | undefined {
  const parts = /^(?:([^-_]+)-|([^-_]*\p{Letter}[^-_]*)_)/u.exec(basename(path));
  return parts?.[1] ?? parts?.[2];
}
