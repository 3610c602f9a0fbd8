// Scalars as TensorBoard reads them: TFRecord frames around Event messages, written by hand because they are tiny.
import { type FileHandle, open } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

export interface TfeventsWriter {
  /** File that is written. */
  readonly path: string;
  /**
   * Appends one event with a summary value for each tag; values that are not finite are left out.
   * @param wallTimeSeconds since 1970
   */
  write(step: number, scalars: Readonly<Record<string, number>>, wallTimeSeconds: number): Promise<void>;
  close(): Promise<void>;
}

/** Makes `events.out.tfevents.…` in a folder that exists. @param startSeconds since 1970, part of the name */
export async function openTfevents(folder: string, startSeconds: number): Promise<TfeventsWriter> {
  const name = `events.out.tfevents.${Math.floor(startSeconds)}.${hostname()}.${process.pid}.0`;
  const path = join(folder, name);
  const file: FileHandle = await open(path, 'wx');
  await file.appendFile(tfRecord(versionEvent(startSeconds)));
  return {
    path,
    async write(step, scalars, wallTimeSeconds) {
      const finite = Object.entries(scalars).filter(([, value]) => Number.isFinite(value));
      if (finite.length > 0) await file.appendFile(tfRecord(scalarEvent(step, finite, wallTimeSeconds)));
    },
    close: () => file.close(),
  };
}

/** Length (uint64), its masked CRC, the data, their masked CRC; little-endian. */
export function tfRecord(data: Uint8Array): Uint8Array {
  const record = new Uint8Array(8 + 4 + data.length + 4);
  const view = new DataView(record.buffer);
  view.setBigUint64(0, BigInt(data.length), true);
  view.setUint32(8, maskedCrc32c(record.subarray(0, 8)), true);
  record.set(data, 12);
  view.setUint32(12 + data.length, maskedCrc32c(data), true);
  return record;
}

/** Rotated by 15 bits plus a constant, so that a CRC over data that hold CRCs stays sound. */
function maskedCrc32c(data: Uint8Array): number {
  const crc = crc32c(data);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

/** CRC-32C (Castagnoli; RFC 3720, appendix B.4), reflected polynomial. */
export function crc32c(data: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of data) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

// Event: 1 wall_time double, 2 step int64, 3 file_version string, 5 summary. Summary: 1 value.
// Summary.Value: 1 tag string, 2 simple_value float.

function versionEvent(wallTimeSeconds: number): Uint8Array {
  return bytesOf([...double(1, wallTimeSeconds), ...text(3, 'brain.Event:2')]);
}

function scalarEvent(
  step: number,
  scalars: readonly (readonly [tag: string, value: number])[],
  wallTimeSeconds: number,
): Uint8Array {
  const summary = scalars.flatMap(([tag, value]) => nested(1, [...text(1, tag), ...float(2, value)]));
  return bytesOf([...double(1, wallTimeSeconds), ...whole(2, step), ...nested(5, summary)]);
}

const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

function key(field: number, wire: number): number {
  return (field << 3) | wire;
}

/** @param value a whole number, 0 or more */
function varint(value: number): readonly number[] {
  const bytes: number[] = [];
  let rest = BigInt(value);
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return [...bytes, Number(rest)];
}

function whole(field: number, value: number): readonly number[] {
  return [key(field, WIRE.varint), ...varint(value)];
}

function nested(field: number, content: readonly number[]): readonly number[] {
  return [key(field, WIRE.bytes), ...varint(content.length), ...content];
}

function text(field: number, content: string): readonly number[] {
  return nested(field, Array.from(new TextEncoder().encode(content)));
}

function double(field: number, value: number): readonly number[] {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value, true);
  return [key(field, WIRE.fixed64), ...bytes];
}

function float(field: number, value: number): readonly number[] {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setFloat32(0, value, true);
  return [key(field, WIRE.fixed32), ...bytes];
}

function bytesOf(content: readonly number[]): Uint8Array {
  return Uint8Array.from(content);
}
