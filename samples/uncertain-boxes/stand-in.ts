// A model and three pictures for a first look. Nothing in it was trained: the graph measures how bright a place is, is
// the less sure the dimmer it is, and here that doubt is handed on to the edges of its boxes.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  ElementType,
  floats,
  ints,
  node,
  serialize,
  standInQualityDetector,
  valueInfo,
} from 'edge-detect/onnx';

const SIZE = { width: 320, height: 192 };
/** Variance of an edge in px² for a score variance of 1: half the side of its boxes, squared. */
const EDGE_PX2 = 64 * 64;

export interface StandIn {
  readonly model: string;
  readonly folder: string;
}

export async function makeStandIn(scratch: string): Promise<StandIn> {
  const standIn = { model: join(scratch, 'light.onnx'), folder: join(scratch, 'pictures') };
  await writeFile(standIn.model, lightWithEdges());
  await mkdir(standIn.folder);
  const brightness = { bright: 250, dim: 190, dark: 140 };
  for (const [name, level] of Object.entries(brightness)) {
    await writeFile(join(standIn.folder, `${name}.bmp`), drawLamp(level));
  }
  return standIn;
}

/** Adds the output `box_var[1, N, 4]`: an ONNX file is a value, and an output is two nodes more. */
function lightWithEdges(): Uint8Array {
  const model = standInQualityDetector(SIZE);
  const { graph } = model;
  if (graph === undefined) throw new Error('the stand-in has a graph');
  const locations = (SIZE.width / 32) * (SIZE.height / 32);
  graph.initializer.push(
    ints('variance_column', [1]),
    floats('edge_px2', [1, 1, 4], Array(4).fill(EDGE_PX2)),
  );
  graph.node.push(
    node('Gather', ['quality', 'variance_column'], ['score_var'], { axis: 2n }), // [1, N, 1]
    node('Mul', ['score_var', 'edge_px2'], ['box_var']), // [1, N, 4]
  );
  graph.output.push(valueInfo('box_var', ElementType.FLOAT, [1, locations, 4]));
  return serialize(model);
}

/** A grey square on black, as an uncompressed 24-bit BMP: a header of 54 bytes, then rows from the bottom. */
function drawLamp(level: number): Uint8Array {
  const { width, height } = SIZE;
  const bytes = Buffer.alloc(54 + width * height * 3);
  bytes.write('BM');
  bytes.writeUInt32LE(bytes.length, 2);
  bytes.writeUInt32LE(54, 10); // where the px begin
  bytes.writeUInt32LE(40, 14); // size of the second header
  bytes.writeInt32LE(width, 18);
  bytes.writeInt32LE(height, 22);
  bytes.writeUInt16LE(1, 26); // planes
  bytes.writeUInt16LE(24, 28); // bits per px
  for (let y = 32; y < 160; y++) {
    const row = 54 + y * width * 3;
    bytes.fill(level, row + 96 * 3, row + 224 * 3);
  }
  return bytes;
}
