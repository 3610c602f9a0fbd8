// Every shared detector through static shapes, decoding in the graph, preamble, folding and opset 17, on a real picture,
// against the decoders of src/core on what its source gives.
import { describe, expect, it } from 'vitest';
import type { CornersLayout, HeadLayout } from '#core';
import {
  deserialize,
  loadModelFile,
  type ModelProto,
  opsetVersion,
  pictureInput,
  serialize,
  withGraph,
} from '#onnx';
import { decodeInGraph } from '../../../export/passes/decode-in-graph.ts';
import { foldConstants } from '../../../export/passes/fold-constants.ts';
import { lowerOpset } from '../../../export/passes/lower-opset.ts';
import { withPicturePreamble } from '../../../export/passes/picture-preamble.ts';
import { testData } from '../../support/test-data.ts';
import { candidatesOn, distance, openSource, type Source } from './compare.ts';

const MODELS = [
  'yolox_nano',
  'yolox_person_192',
  'fastestdet',
  'nanodet_m_320',
  'yunet_n_640',
  'yunet_n_dynamic',
  'ultraface_rfb_320',
  'yolov5n_fp16',
  'yolov8n_640_int8dyn',
  'yolov8n-seg_320_int8dyn',
  'yolo11n_320_int8dyn',
  'yolo26n_640_int8dyn_end2end',
];

/** Candidates within this distance of the floor may be on one side alone. */
const FLOOR = 0.02;

describe('shared models (skipped: models or pictures absent)', () => {
  const picture = testData('images/bus.jpg');
  for (const name of MODELS) {
    const path = testData(`models/${name}.onnx`);
    const absent = path === undefined || picture === undefined;

    it.skipIf(absent)(`${name} is the same after reading and writing`, async () => {
      const { model, bytes } = await loadModelFile(path ?? '');
      const asStored = deserialize(bytes);
      expect(Buffer.compare(serialize(asStored), bytes)).toBe(0);
      // Old files list weights among the inputs too; nothing else differs.
      const withoutInputs = (made: ModelProto) => serialize(withGraph(made, { input: [] }));
      expect(Buffer.compare(withoutInputs(model), withoutInputs(asStored))).toBe(0);
    });

    it.skipIf(absent)(
      `${name} says the same with preamble and decoding in the graph, in opset 17`,
      async () => {
        const source = await openSource(path ?? '');
        const measured = await exportedAgainst(source, picture ?? '', 'uint8');
        report(name, measured);
        expect(measured.compared).toBeGreaterThan(2);
        expect(measured.lost).toBeLessThan(FLOOR + 1e-3);
        expect(measured.box).toBeLessThanOrEqual(0.05);
        expect(measured.score).toBeLessThanOrEqual(1e-4);
        expect(measured.variance).toBeLessThanOrEqual(0.01);
      },
    );
  }

  const yolox = testData('models/yolox_nano.onnx');
  it.skipIf(!yolox || !picture)('yolox_nano says the same with a float32 preamble', async () => {
    const measured = await exportedAgainst(await openSource(yolox ?? ''), picture ?? '', 'float32');
    expect(measured.compared).toBeGreaterThan(2);
    expect(measured.box).toBeLessThanOrEqual(0.05);
    expect(measured.score).toBeLessThanOrEqual(1e-4);
  });

  const quantised = testData('models/yolo11n_320_int8dyn.onnx');
  it.skipIf(!quantised || !picture)('yolo11n decodes in a graph that stays quantised', async () => {
    const { model, input, size, finding, contract } = await openSource(quantised ?? '', { asFloat: false });
    const how = { size, contract, boxVariance: true, floor: FLOOR };
    const before = await candidatesOn(model, picture ?? '', { ...how, layout: finding.layout });
    const decoded = decodeInGraph(model, { layout: finding.layout, input: size, boxVariance: true });
    expect(decoded.outputs).toEqual(['boxes', 'scores', 'box_var']);
    const layout = decodedLayout(decoded.model, finding.layout);
    const measured = distance(before, await candidatesOn(decoded.model, picture ?? '', { ...how, layout }));
    expect(measured.compared).toBeGreaterThan(2);
    expect(measured.box).toBeLessThanOrEqual(1e-3);
    expect(measured.score).toBeLessThanOrEqual(1e-5);
    expect(measured.variance).toBeLessThanOrEqual(1e-3);
    expect(input.dtype).toBe('float32');
  });
});

async function exportedAgainst(source: Source, picture: string, dtype: 'uint8' | 'float32') {
  const { model, input, size, finding, contract } = source;
  const boxVariance = finding.capabilities.boxVariance;
  const how = { size, boxVariance, floor: FLOOR };
  const before = await candidatesOn(model, picture, { ...how, layout: finding.layout, contract });
  const decoded = decodeInGraph(model, { layout: finding.layout, input: size, boxVariance });
  const preamble = withPicturePreamble(decoded.model, { input, contract, dtype });
  const lowered = lowerOpset(foldConstants(preamble.model), { opset: 17, irVersion: 8 });
  const written = deserialize(serialize(lowered));
  expect([opsetVersion(written) <= 17, written.irVersion <= 8n]).toEqual([true, true]);
  expect(pictureInput(written)).toMatchObject({ dtype, order: 'nhwc', name: input.name, ...size, batch: 1 });
  const layout = decoded.decoded ? decodedLayout(written, finding.layout) : finding.layout;
  const after = await candidatesOn(written, picture, { ...how, layout, contract: preamble.contract });
  return distance(before, after);
}

function decodedLayout(model: ModelProto, { classCount }: HeadLayout): CornersLayout {
  const outputs = (model.graph?.output ?? []).map(({ name }) => name);
  const boxes = model.graph?.output.find(({ name }) => name === 'boxes');
  const shape = boxes?.type?.value.case === 'tensorType' ? boxes.type.value.value.shape : undefined;
  return {
    kind: 'corners',
    classCount,
    boxes: 'boxes',
    scores: 'scores',
    anchorCount: Number(shape?.dim[1]?.value.value ?? 0),
    normalized: false,
    background: false,
    ...(outputs.includes('box_var') ? { boxVar: 'box_var' } : {}),
  };
}

function report(name: string, measured: Awaited<ReturnType<typeof exportedAgainst>>): void {
  if (process.env['EDGE_DETECT_SHOW'] !== undefined) console.log(name, JSON.stringify(measured));
}
