// What the compiler must accept and refuse in a program of a user: `tsc` is the judge, the run only shows that the
// names exist.
import { describe, expect, expectTypeOf, it } from 'vitest';
import type { Capabilities } from '#core';
import { iou, type Letterbox, toFrame, toInput } from '#core';
import type { DetectionForm } from '#runtime';
import type {
  Box,
  BoxVariance,
  Detection,
  DetectionResult,
  DetectorOptions,
  FrameSource,
  OpenDetector,
  PictureDetections,
  Sink,
  SuppressionPolicy,
  ThresholdPolicy,
} from '../../src/index.ts';
import * as api from '../../src/index.ts';

declare const inFrame: Box<'frame'>;
declare const inInput: Box<'input'>;
declare const letterbox: Letterbox;
declare const detection: Detection;

/** Compiled, never called. */
export function misuse(): void {
  // @ts-expect-error boxes of two spaces have no overlap to speak of
  iou(inFrame, inInput);
  // @ts-expect-error a box of the frame is in px of the frame already
  toFrame(letterbox, inFrame);
  // @ts-expect-error the network's px are no frame px
  api.toXywh(inInput);
  // @ts-expect-error a value of ours is not changed by others
  detection.score = 1;
  // @ts-expect-error a variance that the model may lack must be checked for
  detection.scoreVariance.toFixed(2);
  // @ts-expect-error a model's answer is awaited
  api.openDetector('model.onnx').close();
  // @ts-expect-error a rule has its parameters
  void ({ kind: 'variance', base: 0.5 } satisfies ThresholdPolicy);
  // @ts-expect-error no rule of this name
  void ({ kind: 'dynamic', base: 0.5 } satisfies ThresholdPolicy);
  // @ts-expect-error no suppression of this name
  void ({ kind: 'softer' } satisfies SuppressionPolicy);
  // @ts-expect-error a size is not a list
  void ({ imageSize: [640, 640] } satisfies DetectorOptions);
  // @ts-expect-error sizes and boxes are different things
  api.toYoloRow(detection, inFrame);
  // @ts-expect-error an error says what to do next
  new api.ModelError('broken');
}

describe('the public types', () => {
  it('keep the spaces of boxes apart, and the letterbox converts', () => {
    expectTypeOf(toFrame).parameter(1).toEqualTypeOf<Box<'input'>>();
    expectTypeOf(toFrame).returns.toEqualTypeOf<Box<'frame'>>();
    expectTypeOf(toInput).returns.toEqualTypeOf<Box<'input'>>();
    expectTypeOf<Box<'input'>>().not.toExtend<Box<'frame'>>();
    expectTypeOf<BoxVariance<'input'>>().not.toExtend<BoxVariance<'frame'>>();
    expectTypeOf<{ x1: number; y1: number; x2: number; y2: number }>().toExtend<Box<'frame'>>();
  });

  it('say what a detection has and what it may lack', () => {
    expectTypeOf<Detection['box']>().toEqualTypeOf<Box<'frame'>>();
    expectTypeOf<Detection['score']>().toEqualTypeOf<number>();
    expectTypeOf<Detection>().toHaveProperty('scoreVariance').toEqualTypeOf<number | undefined>();
    expectTypeOf<Detection>().toHaveProperty('boxVariance').toEqualTypeOf<BoxVariance<'frame'> | undefined>();
    // exactOptionalPropertyTypes: absent, not undefined.
    expectTypeOf<{ scoreVariance: undefined }>().not.toExtend<Pick<Detection, 'scoreVariance'>>();
  });

  it('open, iterate and convert', () => {
    expectTypeOf(api.openDetector).parameter(0).toEqualTypeOf<string>();
    expectTypeOf(api.openDetector).parameter(1).toEqualTypeOf<DetectorOptions | undefined>();
    expectTypeOf(api.openDetector).returns.resolves.toEqualTypeOf<OpenDetector>();
    expectTypeOf(api.openSource).parameter(0).toEqualTypeOf<string>();
    expectTypeOf(api.openSource).returns.resolves.toEqualTypeOf<FrameSource>();
    expectTypeOf(api.detections).returns.toExtend<AsyncIterable<DetectionResult>>();
    expectTypeOf<DetectionResult['detections']>().toEqualTypeOf<readonly Detection[]>();
    expectTypeOf(api.detectPicture).parameter(1).toEqualTypeOf<string | Uint8Array>();
    expectTypeOf(api.detectPicture).returns.resolves.toEqualTypeOf<PictureDetections>();
    expectTypeOf<OpenDetector['capabilities']>().toEqualTypeOf<Capabilities>();
    expectTypeOf(api.toUltralyticsRow).returns.toEqualTypeOf<DetectionForm>();
    expectTypeOf(api.toYoloRow).returns.toEqualTypeOf<string | undefined>();
    expectTypeOf(api.toXywh).returns.toEqualTypeOf<readonly [number, number, number, number]>();
    expectTypeOf(api.toColumns).returns.toHaveProperty('xyxy').toEqualTypeOf<Float32Array>();
    expectTypeOf(api.createJsonLines).returns.toEqualTypeOf<Sink>();
    expectTypeOf(api.createYoloTxt).returns.resolves.toEqualTypeOf<Sink>();
    expectTypeOf<api.SourceError>().toExtend<api.EdgeDetectError>();
    expectTypeOf<api.EdgeDetectError['hint']>().toEqualTypeOf<string>();
  });

  it('keep the root small: 40 names with types, these of them values', () => {
    expect(Object.keys(api).sort()).toMatchInlineSnapshot(`
      [
        "ConfigError",
        "DataError",
        "DeviceError",
        "EdgeDetectError",
        "ModelError",
        "PUBLISHED_THRESHOLD",
        "SourceError",
        "UsageError",
        "createAnnotatedPictures",
        "createAnnotatedVideo",
        "createCocoJson",
        "createCsv",
        "createJsonLines",
        "createPainter",
        "createYoloTxt",
        "detectPicture",
        "detections",
        "linesToFile",
        "linesToStream",
        "locateFfmpeg",
        "openDetector",
        "openSource",
        "runDetections",
        "toCocoRow",
        "toColumns",
        "toUltralyticsRow",
        "toXywh",
        "toYoloRow",
      ]
    `);
  });
});
