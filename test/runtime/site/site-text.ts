// Texts of site files for the tests, and what their reader says to them.
import { EdgeDetectError } from '#core';
import { parseSite, type SiteFile, type SiteSurroundings } from '../../../runtime/site/read-site.ts';

/** A site of one camera; `rest` is put behind it, as further keys of the top. */
export function siteText(rest = '', camera = ''): string {
  return `model: m.onnx\ncameras:\n  gate:\n    source: rtsp://h/1\n${camera}${rest}`;
}

export function parsed(text: string, env: Record<string, string> = {}, around?: SiteSurroundings): SiteFile {
  return parseSite(text, 'site.yaml', env, around);
}

/** Message and hint of what is thrown. */
export function refusal(read: () => unknown): { readonly message: string; readonly hint: string } {
  try {
    read();
  } catch (error) {
    if (error instanceof EdgeDetectError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}
