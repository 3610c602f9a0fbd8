// Pictures and clips of events over HTTP: whole, or the part that a player asks for.
import { createReadStream } from 'node:fs';
import { lstat, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';

const TYPES = { jpg: 'image/jpeg', mp4: 'video/mp4' } as const;

/**
 * Only files of this kind below the folder, by their real place: no `..`, no link that leads out of it.
 * @param path `<camera>/<file>`
 * @returns undefined where there is no such file
 */
export async function sendStored(
  folder: string | undefined,
  kind: keyof typeof TYPES,
  path: string,
  { headers }: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply | undefined> {
  if (folder === undefined || !/^[\w-]+\/[\w-][\w.-]*$/.test(path) || !path.endsWith(`.${kind}`))
    return undefined;
  try {
    const root = await realpath(folder);
    const file = await realpath(join(root, path));
    const found = await lstat(file);
    if (!file.startsWith(root + sep) || !found.isFile()) return undefined;
    reply.type(TYPES[kind]).header('accept-ranges', 'bytes');
    const range = rangeOf(headers.range, found.size);
    if (range === undefined) return reply.header('content-length', found.size).send(createReadStream(file));
    const { start, end } = range;
    if (start > end) return reply.code(416).header('content-range', `bytes */${found.size}`).send();
    return reply
      .code(206)
      .header('content-range', `bytes ${start}-${end}/${found.size}`)
      .header('content-length', end - start + 1)
      .send(createReadStream(file, { start, end }));
  } catch {
    return undefined;
  }
}

/** One part, as players ask for; of several, or of something else, all is sent (RFC 9110, 14.2). */
function rangeOf(header: string | undefined, size: number): { start: number; end: number } | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '') return { start: Math.max(0, size - Number(last)), end: size - 1 };
  return { start: Number(first), end: last === '' ? size - 1 : Math.min(size - 1, Number(last)) };
}
