// What `export` does with models and pictures that are not as they should be: it says which, and leaves nothing behind.
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ElementType, floats, graph, loadModelFile, type ModelProto, node, valueInfo } from '#onnx';
import { AttributeProto_AttributeType, AttributeProtoSchema } from '../../src/onnx/proto/onnx_pb.ts';
import { faultsOfRefusal, RunFolder, solidPng } from '../support/run-folder.ts';
import { writeStreetSet } from '../support/street-set.ts';
import { cellCount, constantDetector, externalData } from '../support/tiny-models.ts';

const MODEL = fileURLToPath(new URL('../../samples/model/edge-n-street.onnx', import.meta.url));
const folder = new RunFolder();

beforeAll(async () => {
  await folder.write('grey/1.png', await solidPng({ width: 96, height: 96 }, [90, 90, 90]));
  await writeStreetSet(folder.join('street'), { hours: ['day'], cameras: 1, pictures: 3 });
});
afterAll(() => folder.remove());

const run = (...words: string[]) => folder.run(['export', ...words]);
const written = (start: string) => readdirSync(folder.path).filter((name) => name.startsWith(start));

/** A YOLOv8 whose scores take one of two ways, which the picture chooses. */
function branching(): ModelProto {
  const made = constantDetector({ kind: 'yolov8' });
  const inside = made.graph;
  if (inside === undefined) throw new Error('the constant detector has no graph');
  const last = inside.node.at(-1);
  const name = inside.output[0]?.name ?? '';
  if (last?.output[0] !== name) throw new Error('the last node does not write the output');
  last.output[0] = 'straight';
  const shape = [1, 6, cellCount({ width: 96, height: 96 })];
  const way = (label: string) =>
    graph({
      name: label,
      nodes: [node('Identity', ['straight'], [label])],
      inputs: [],
      outputs: [valueInfo(label, ElementType.FLOAT, shape)],
    });
  const choice = { ...node('If', ['is_dark'], [name]), name: 'choice' };
  for (const [key, label] of Object.entries({ then_branch: 'dark', else_branch: 'bright' })) {
    const branch = create(AttributeProtoSchema, { name: key, g: way(label) });
    branch.type = AttributeProto_AttributeType.GRAPH;
    choice.attribute.push(branch);
  }
  inside.initializer.push(floats('zero', [], [0]));
  inside.node.push(
    node('ReduceMax', ['images'], ['brightest'], { keepdims: 0n }),
    node('Less', ['brightest', 'zero'], ['is_dark']),
    choice,
  );
  return made;
}

describe('export', () => {
  it('refuses a newer opset than the runtime knows', { timeout: 30_000 }, async () => {
    const { model } = await loadModelFile(MODEL);
    for (const entry of model.opsetImport) entry.version = 99n;
    await folder.writeModel('new.onnx', model);
    const refused = await run('model=new.onnx', 'source=grey', 'out=new-out.onnx');
    expect(faultsOfRefusal(refused, 5)).toEqual([]);
    expect(refused.stderr).toMatch(/new\.onnx.*opset 99.*up to 26/);
    expect(written('new-out')).toEqual([]);
  });

  it('names the file whose weights are missing, and takes them in where they are', {
    timeout: 60_000,
  }, async () => {
    const { model, weights } = externalData('apart.bin');
    await folder.writeModel('apart.onnx', model);
    const refused = await run('model=apart.onnx', 'source=grey', 'out=whole.onnx');
    expect(faultsOfRefusal(refused, 5)).toEqual([]);
    expect(refused.stderr).toContain('apart.bin');
    expect(written('whole')).toEqual([]);
    await folder.write('apart.bin', weights);
    expect((await run('model=apart.onnx', 'source=grey', 'out=whole.onnx')).code).toBe(0);
    const { lines } = await folder.predict('model=whole.onnx', 'source=grey');
    expect(lines[0]?.detections.map(({ name }) => name)).toEqual(['car', 'person']);
  });

  it('writes numbers in the place of free axes: imgsz= or 640', { timeout: 60_000 }, async () => {
    const free = constantDetector({ kind: 'yolov8', inputShape: ['batch', 3, 'height', 'width'] });
    await folder.writeModel('free.onnx', free);
    const { code, stdout } = await run(
      'model=free.onnx',
      'source=grey',
      'imgsz=96',
      'out=fixed.onnx',
      'json=True',
    );
    expect(code).toBe(0);
    expect(JSON.parse(stdout).input.shape).toEqual([1, 3, 96, 96]);
    const other = await run('model=fixed.onnx', 'source=grey', 'imgsz=128', 'out=other.onnx');
    expect(faultsOfRefusal(other, 3)).toEqual([]);
    expect(other.stderr).toMatch(/fixed\.onnx was exported for 96,96/);
  });

  it('warns of three pictures to measure ranges on', { timeout: 90_000 }, async () => {
    const words = [`model=${MODEL}`, 'int8=True', 'source=street/images', 'calibration=street/images'];
    const { stdout, stderr } = await run(...words, 'force=True', 'out=few.onnx');
    expect(stderr).toBe('');
    expect(stdout).toMatch(/calibrated on 3 pictures: .*100 or more/);
  });

  it('names the node that has no form in half precision, and the network without a convolution for 8 bit', {
    timeout: 60_000,
  }, async () => {
    await folder.writeModel('branching.onnx', branching());
    const half = await run('model=branching.onnx', 'source=grey', 'half=True', 'out=half.onnx');
    expect(faultsOfRefusal(half, 5)).toEqual([]);
    expect(half.stderr).toMatch(/choice.*holds a graph of its own/);
    const bytes = await run(
      'model=branching.onnx',
      'source=grey',
      'calibration=grey',
      'int8=True',
      'out=bytes.onnx',
    );
    expect(faultsOfRefusal(bytes, 5)).toEqual([]);
    expect(bytes.stderr).toMatch(/no convolution of this network can work in 8 bits/);
    expect([...written('half'), ...written('bytes')]).toEqual([]);
  });
});
