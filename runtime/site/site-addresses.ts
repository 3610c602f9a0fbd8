// Sources, brokers and hooks as a site file names them: paths made absolute, addresses checked, secrets taken out.
import { basename, resolve } from 'node:path';
import { nearest } from '#core';
import { cameraDevice, protocolOf } from '../sources/live-input.ts';
import { isVideoAddress } from '../sources/open-video.ts';
import type { SiteFaults } from './site-faults.ts';
import type { SitePath } from './site-placed.ts';

const SCHEMES = [
  'rtsp',
  'rtsps',
  'rtmp',
  'rtmps',
  'http',
  'https',
  'srt',
  'udp',
  'tcp',
  'rtp',
  'file',
  'csi',
];
const KNOWN = `expected ${SCHEMES.slice(0, -1).join('://, ')}:// or csi://, a path or the number of a camera`;

/** A source of a camera; a path is made absolute. @returns also the path where it must be that of a file */
export function toSource(
  source: string | number,
  { folder, path, faults }: { readonly folder: string; readonly path: SitePath; readonly faults: SiteFaults },
): { readonly source: string; readonly file?: string } {
  const spec = String(source).trim();
  const fault = (text: string, hint: string) => faults.add(path, { text, hint });
  if (spec === '-')
    fault("found '-', which is the standard input", 'a site reads addresses, devices and files');
  if (cameraDevice(spec) !== undefined || spec === '-') return { source: spec };
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(spec)?.[1]?.toLowerCase();
  if (scheme === undefined && /^[^/\\]*:[^/\\]*@/.test(spec)) {
    // Not told back: what stands before the @ is a secret, and nothing marks it as one.
    fault('found a user and a host without scheme', 'write rtsp:// in front');
    return { source: spec };
  }
  if (scheme === undefined && !(isVideoAddress(spec) || protocolOf(spec) === 'file')) {
    const file = resolve(folder, spec);
    return /[*?[\]]/.test(basename(spec)) ? { source: file } : { source: file, file };
  }
  if (!SCHEMES.includes(scheme ?? protocolOf(spec))) {
    const near = nearest(scheme ?? '', SCHEMES);
    const suggestion = near === undefined ? '' : `; did you mean ${near}://?`;
    fault(`found ${faults.found(path)}: ${scheme}:// is not known${suggestion}`, KNOWN);
  } else if (scheme !== undefined && scheme !== 'file' && scheme !== 'csi' && !hasHost(spec)) {
    fault(
      `found ${faults.found(path)}, which names no host`,
      `write ${scheme}://user:password@host:port/path, special characters of a password as %40 (@), %2F (/)`,
    );
  }
  return { source: spec };
}

function hasHost(spec: string): boolean {
  // `udp://@:1234` and `srt://:1234` listen; the host may be left out there.
  if (/^(?:udp|rtp|srt|tcp):\/\/@?:\d+/i.test(spec)) return true;
  if (!URL.canParse(spec)) return false;
  return new URL(spec).hostname !== '';
}

/** @returns undefined where it is no address of one of the schemes, which `faults` then says */
export function toUrl(
  text: string,
  schemes: readonly [string, ...string[]],
  { path, faults }: { readonly path: SitePath; readonly faults: SiteFaults },
): URL | undefined {
  const expected = schemes.map((scheme) => `${scheme}://host`).join(' or ');
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && schemes.includes(url.protocol.slice(0, -1)) && url.hostname !== '') return url;
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase() ?? '';
  const near = schemes.includes(scheme) ? undefined : nearest(scheme, schemes);
  const hint =
    near === undefined ? `write ${schemes[0]}://host:port` : `did you mean ${near}:// with what follows it?`;
  faults.expected(path, expected, hint);
  return undefined;
}

/** Addresses that only this machine reaches. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
}
