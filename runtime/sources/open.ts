// Turns what a user names as the source into frames: one picture, a folder, a pattern, a list, a clip, a camera.
import type { Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DataError, SourceError, UsageError } from '#core';
import { isPicturePath, isUnreadablePicturePath, looksLikePicture } from '#data/images';
import { redactCredentials } from '../ffmpeg/index.ts';
import { readListFile, resolveList } from './list-file.ts';
import { isListFile, type Listing, listMedia, missingSource, statOf } from './listing.ts';
import { isVideoAddress, isVideoPath, type OpenVideoOptions, openVideoSource } from './open-video.ts';
import { openPictures, type PicturesOptions } from './pictures.ts';
import { openSequence, type SequencePart } from './sequence.ts';
import type { FrameSource, SourceEvent } from './source.ts';

/** What pictures and videos need; each takes its own. */
export interface OpenSourceOptions extends OpenVideoOptions, Pick<PicturesOptions, 'maxPixels'> {}

/**
 * - a picture or a clip, known by its name, else by its content
 * - a folder (not its subfolders), a pattern (`street/*.jpg`, `**` for subfolders), a `.txt` or `.csv` list: pictures
 *   and clips one after another, sorted by code units; lists in their own order
 * - `0`, `/dev/video0`, `rtsp://…`, `http(s)://…`, `-`: see `openVideoSource`
 * - a `.streams` file with one line; with more, open each of `listStreams`
 *
 * @throws SourceError (nothing there), DataError (nothing readable in it), UsageError
 */
export async function openSource(spec: string, options: OpenSourceOptions = {}): Promise<FrameSource> {
  if (isVideoAddress(spec)) return openVideoSource(spec, options);
  if (isStreamsFile(spec)) return openSource(await onlyStream(spec), options);
  const path = /^file:\/\//i.test(spec) ? fileURLToPath(spec) : spec;
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path)) {
    throw new SourceError(`source ${path.replace(/:\/\/.*/, '://…')}: this kind of address is not known`, {
      hint: 'expected rtsp://, rtsps://, rtmp://, http://, https://, srt://, udp://, tcp:// or a path',
    });
  }
  const found = statOf(path);
  const isOne = found !== undefined && !found.isDirectory() && !(found.isFile() && isListFile(path));
  if (isOne) return openOne(path, found, options);
  return openListing(spec, await listMedia(path, isVideoPath), options);
}

/** The sources of a `.streams` file, one per line, in its order; of anything else, that thing alone. */
export async function listStreams(spec: string): Promise<readonly string[]> {
  if (!isStreamsFile(spec)) return [spec];
  const entries = await readListFile(spec);
  if (entries.length === 0) {
    throw new DataError(`${spec}: the list has no entry`, { hint: 'write one source on each line' });
  }
  const addresses = entries.filter(({ text }) => isVideoAddress(text)).map(({ text }) => text);
  if (addresses.length === entries.length) return addresses;
  return entries.flatMap((entry) => (isVideoAddress(entry.text) ? [entry.text] : resolveOne(spec, entry)));
}

function resolveOne(
  listPath: string,
  entry: { readonly line: number; readonly text: string },
): readonly string[] {
  const { specs, missing } = resolveList(listPath, [entry]);
  if (missing[0]) throw new SourceError(missing[0].reason, { hint: 'correct the line, or put # before it' });
  return specs;
}

function isStreamsFile(spec: string): boolean {
  if (extname(spec).toLowerCase() !== '.streams') return false;
  if (!statOf(spec)) throw missingSource(spec);
  return true;
}

async function onlyStream(path: string): Promise<string> {
  const [first, ...others] = await listStreams(path);
  if (first === undefined || others.length > 0) {
    throw new UsageError(
      `${path} names ${others.length + 1} streams, and only one can be opened as one source`,
      {
        hint: 'run one command per stream: each line of the list is a source of its own',
      },
    );
  }
  return first;
}

async function openOne(path: string, found: Stats, options: OpenSourceOptions): Promise<FrameSource> {
  const byName = isPicturePath(path) || isUnreadablePicturePath(path);
  const isPicture = byName || (!isVideoPath(path) && found.isFile() && (await startsAsPicture(path)));
  return isPicture ? openPictures([path], picturesOptions(path, options)) : openVideoSource(path, options);
}

function picturesOptions(name: string, { maxPixels }: OpenSourceOptions): PicturesOptions {
  return { name, ...(maxPixels === undefined ? {} : { maxPixels }) };
}

async function startsAsPicture(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const head = Buffer.alloc(32);
    await file.read(head, 0, head.length, 0);
    return looksLikePicture(head);
  } finally {
    await file.close();
  }
}

function openListing(name: string, listing: Listing, options: OpenSourceOptions): FrameSource {
  const { paths } = listing;
  if (paths.every(isPicturePath))
    return announce(openPictures(paths, picturesOptions(name, options)), listing);
  return announce(openSequence(name, partsOf(name, paths, options)), listing);
}

/** Pictures that follow each other are one part, so that they are read ahead. */
function partsOf(
  name: string,
  paths: readonly string[],
  options: OpenSourceOptions,
): readonly SequencePart[] {
  const parts: SequencePart[] = [];
  for (let i = 0; i < paths.length; ) {
    const pictures: string[] = [];
    for (let path = paths[i]; path !== undefined && isPicturePath(path); path = paths[++i])
      pictures.push(path);
    if (pictures.length > 0) {
      parts.push({ name, open: async () => openPictures(pictures, picturesOptions(name, options)) });
      continue;
    }
    const path = paths[i++];
    if (path !== undefined)
      parts.push({ name: redactCredentials(path), open: () => openPart(path, options) });
  }
  return parts;
}

/** A line of a list: a clip, an address, or a file whose content must tell. Not a list again. */
async function openPart(path: string, options: OpenSourceOptions): Promise<FrameSource> {
  if (isVideoAddress(path)) return openVideoSource(path, options);
  const found = statOf(path);
  if (!found) throw missingSource(path);
  return openOne(path, found, options);
}

/** Tells what the listing met, and counts what it did not find. */
function announce(source: FrameSource, { notices, missing }: Listing): FrameSource {
  if (notices.length === 0 && missing.length === 0) return source;
  return {
    ...source,
    stats: () => ({ ...source.stats(), damaged: source.stats().damaged + missing.length }),
    frames(request) {
      const events: SourceEvent[] = [
        ...notices.map((message) => ({ kind: 'notice', source: source.name, message }) as const),
        ...missing.map((entry) => ({ kind: 'damaged', ...entry }) as const),
      ];
      for (const event of events) request.onEvent?.(event);
      return source.frames(request);
    },
  };
}
