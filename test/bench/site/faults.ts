// What a camera does to a site: each fault is begun, ended, and the moment of its return is told.
import { setTimeout as sleep } from 'node:timers/promises';
import type { CameraClips, CameraStand } from './cameras.ts';

export const FAULT_KINDS = [
  'kill',
  'freeze',
  'rst',
  'fin',
  '401',
  'resize',
  'garbage payload',
  'garbage packet',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export interface FaultRequest {
  readonly kind: FaultKind;
  readonly stand: CameraStand;
  readonly clips: CameraClips;
  /** Place of the camera in the row. */
  readonly index: number;
  readonly seconds: number;
}

/** @returns ms since 1970 at which the camera was whole again; those that are cut only are so at once */
export async function inflict({ kind, stand, clips, index, seconds }: FaultRequest): Promise<number> {
  const { server } = stand;
  switch (kind) {
    case 'kill': {
      const comeBack = await stand.leave();
      await sleep(1000 * seconds);
      await comeBack();
      return Date.now();
    }
    case 'freeze':
      server.frozen = true;
      await sleep(1000 * seconds);
      server.frozen = false;
      return Date.now();
    case 'rst':
    case 'fin':
      server.drop(kind);
      return Date.now();
    case '401':
      server.refusal = '401 Unauthorized';
      server.drop('rst');
      await sleep(1000 * seconds);
      server.refusal = undefined;
      return Date.now();
    case 'resize':
      await server.show(clips.resized(index, stand.resized++));
      return Date.now();
    default:
      server.garbage = kind === 'garbage packet' ? 'packet' : 'payload';
      await sleep(1000 * seconds);
      server.garbage = undefined;
      return Date.now();
  }
}
