// Everything a run needs to go on as if it had never stopped, in one file that is either whole or not there.
// Layout: 8 bytes magic, uint32 header length, header (JSON), float32 arrays one after the other, sha256 of all before.
import { createHash } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DataError } from '#core';

const MAGIC = 'EDGETRN1';
const HASH_BYTES = 32;

/** Named float32 arrays and whatever JSON can hold. */
export interface Checkpoint {
  readonly header: Readonly<Record<string, unknown>>;
  readonly arrays: ReadonlyMap<string, Float32Array<ArrayBuffer>>;
}

/**
 * Writes under another name, flushes to disk, then renames: a process that is killed at any moment leaves the file
 * before or the file after.
 */
export async function saveCheckpoint(path: string, { header, arrays }: Checkpoint): Promise<void> {
  const index = [...arrays].map(([name, values]) => ({ name, length: values.length }));
  const json = Buffer.from(JSON.stringify({ header, arrays: index }));
  const start = Buffer.alloc(MAGIC.length + 4);
  start.write(MAGIC, 'latin1');
  start.writeUInt32LE(json.length, MAGIC.length);
  const parts = [
    start,
    json,
    ...[...arrays.values()].map((values) => Buffer.from(values.buffer, values.byteOffset, values.byteLength)),
  ];
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  await writeWhole(path, [...parts, hash.digest()]);
}

/** Replaces a file in one stroke. */
export async function writeWhole(path: string, parts: readonly Uint8Array[]): Promise<void> {
  const temporary = `${path}.part`;
  const file = await open(temporary, 'w');
  try {
    for (const part of parts) await file.writeFile(part);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** @throws DataError where the file is missing, of another kind, or damaged */
export async function loadCheckpoint(path: string): Promise<Checkpoint> {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (cause) {
    throw new DataError(`${path}: no checkpoint can be read there`, {
      hint: 'name the folder of a run, or its weights/last.state',
      cause,
    });
  }
  const broken = (what: string) =>
    new DataError(`${path}: ${what}`, {
      hint: 'the file was cut off or is no checkpoint; start the run again without resume=',
    });
  if (bytes.length < MAGIC.length + 4 + HASH_BYTES || bytes.toString('latin1', 0, MAGIC.length) !== MAGIC) {
    throw broken('this is no checkpoint of a training run');
  }
  const body = bytes.subarray(0, bytes.length - HASH_BYTES);
  if (!createHash('sha256').update(body).digest().equals(bytes.subarray(body.length))) {
    throw broken('the checkpoint is damaged: its checksum does not fit');
  }
  const jsonStart = MAGIC.length + 4;
  const jsonEnd = jsonStart + bytes.readUInt32LE(MAGIC.length);
  const { header, arrays: index } = JSON.parse(bytes.toString('utf8', jsonStart, jsonEnd)) as {
    header: Record<string, unknown>;
    arrays: { name: string; length: number }[];
  };
  const arrays = new Map<string, Float32Array<ArrayBuffer>>();
  let offset = jsonEnd;
  for (const { name, length } of index) {
    // Copied, because float32 wants an offset that is a multiple of four.
    const values = new Float32Array(length);
    Buffer.from(values.buffer).set(body.subarray(offset, offset + 4 * length));
    arrays.set(name, values);
    offset += 4 * length;
  }
  return { header, arrays };
}
