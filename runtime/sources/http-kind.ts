// Learns from a server's answer whether a web address is a file with an end or a stream without one.
import { get as getPlain, type IncomingMessage } from 'node:http';
import { get as getSecure } from 'node:https';

const ANSWER_LIMIT_MS = 5000;
const LONGEST_PLAYLIST = 1 << 20;
const MOST_REDIRECTS = 5;

/** `playlist-vod` ends, `playlist-live` does not; `unknown` where the server did not answer as hoped. */
export type HttpKind = 'file' | 'stream' | 'playlist-vod' | 'playlist-live' | 'unknown';

/** Reads the answer's head, and of a playlist the text. Never throws: what does not answer now may answer later. */
export async function httpKind(url: string, signal?: AbortSignal): Promise<HttpKind> {
  const limit = AbortSignal.timeout(ANSWER_LIMIT_MS);
  const either = signal === undefined ? limit : AbortSignal.any([limit, signal]);
  try {
    return await kindOf(new URL(url), either);
  } catch {
    signal?.throwIfAborted();
    return 'unknown';
  }
}

async function kindOf(url: URL, signal: AbortSignal): Promise<HttpKind> {
  const answer = await open(url, signal, MOST_REDIRECTS);
  try {
    const type = answer.message.headers['content-type'] ?? '';
    if ((answer.message.statusCode ?? 0) >= 400) return 'unknown';
    if (/mpegurl/i.test(type) || /\.m3u8$/i.test(answer.url.pathname))
      return await playlistKind(answer, signal);
    if (/^multipart\//i.test(type)) return 'stream';
    return answer.message.headers['content-length'] === undefined ? 'stream' : 'file';
  } finally {
    answer.message.destroy();
  }
}

/** A master playlist only names others: the first of them tells. */
async function playlistKind(answer: Answer, signal: AbortSignal): Promise<HttpKind> {
  let text = await readText(answer.message);
  if (text.includes('#EXT-X-STREAM-INF')) {
    const variant = text.split(/\r?\n/).find((line) => line !== '' && !line.startsWith('#'));
    if (variant === undefined) return 'unknown';
    const inner = await open(new URL(variant, answer.url), signal, MOST_REDIRECTS);
    text = await readText(inner.message).finally(() => inner.message.destroy());
  }
  return text.includes('#EXT-X-ENDLIST') ? 'playlist-vod' : 'playlist-live';
}

interface Answer {
  readonly url: URL;
  readonly message: IncomingMessage;
}

async function open(url: URL, signal: AbortSignal, redirects: number): Promise<Answer> {
  const message = await new Promise<IncomingMessage>((resolve, reject) => {
    const get = url.protocol === 'https:' ? getSecure : getPlain;
    get(url, { signal }, resolve).on('error', reject);
  });
  message.on('error', () => {}); // cut off on purpose, as soon as enough is known
  const { statusCode = 0, headers } = message;
  if (statusCode < 300 || statusCode >= 400 || headers.location === undefined || redirects === 0)
    return { url, message };
  message.destroy();
  return open(new URL(headers.location, url), signal, redirects - 1);
}

async function readText(message: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of message.setEncoding('utf8')) {
    text += chunk;
    if (text.length > LONGEST_PLAYLIST) break;
  }
  return text;
}
