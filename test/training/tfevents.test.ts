// Bytes of event files against published check values and frames decoded by hand.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import { crc32c, openTfevents, tfRecord } from '../../training/tfevents.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

it.each([
  // RFC 3720, appendix B.4, and the check value of the CRC catalogue.
  [new TextEncoder().encode('123456789'), 0xe3069283],
  [new Uint8Array(32), 0x8a9136aa],
  [new Uint8Array(32).fill(0xff), 0x62a8ab43],
  [Uint8Array.from({ length: 32 }, (_, index) => index), 0x46dd794e],
])('the checksum of %s is the published one', (data, expected) => {
  expect(crc32c(data)).toBe(expected);
});

it('frames a record as length, checksum, data, checksum', () => {
  const record = tfRecord(Uint8Array.of(0x61));
  const masked = (bytes: Uint8Array) => {
    const crc = crc32c(bytes);
    return Number((BigInt((crc >>> 15) | (crc << 17)) + 0xa282ead8n) & 0xffffffffn);
  };
  const view = new DataView(record.buffer);
  expect(record).toHaveLength(8 + 4 + 1 + 4);
  expect(view.getBigUint64(0, true)).toBe(1n);
  expect(view.getUint32(8, true)).toBe(masked(record.subarray(0, 8)));
  expect(record[12]).toBe(0x61);
  expect(view.getUint32(13, true)).toBe(masked(Uint8Array.of(0x61)));
});

it('writes version and scalars as Event messages, and leaves out what is not finite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'edge-detect-tfevents-'));
  const writer = await openTfevents(folder, 2);
  await writer.write(300, { 'train/box': 0.5, broken: Number.NaN }, 2.5);
  await writer.write(301, { broken: Infinity }, 2.5);
  await writer.close();
  expect(basename(writer.path)).toMatch(/^events\.out\.tfevents\.2\./);
  const bytes = await readFile(writer.path);
  const messages: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = Number(bytes.readBigUInt64LE(at));
    messages.push(bytes.subarray(at + 12, at + 12 + length));
    at += 16 + length;
  }
  expect(messages.map(hex)).toEqual([
    // 1: 2.0 as double; 3: 'brain.Event:2'
    `090000000000000040${'1a0d'}${hex(Buffer.from('brain.Event:2'))}`,
    // 1: 2.5; 2: 300 as varint; 5: { 1: { 1: 'train/box', 2: 0.5 as float } }
    `090000000000000440${'10ac02'}2a120a100a09${hex(Buffer.from('train/box'))}150000003f`,
  ]);
  await rm(folder, { recursive: true });
});
