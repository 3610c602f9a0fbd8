// What one model says about the pictures of the gate: the same frames for every model that is compared.
import { basename } from 'node:path';
import type { Size } from '#core';
import { DataError } from '#core';
import type { SplitName } from '#data/datasets';
import type { ClassMatchingOptions, EvaluationReport, PicturePrediction } from '#evaluate';
import { validateModel } from '#evaluate';
import { setName } from '#onnx';
import { type DetectorOptions, openDetector } from '#runtime';
import { chosenFrames, type FrameChoice } from '../frames.ts';

/** The pictures that an export is judged on. */
export type GatePictures =
  | {
      readonly kind: 'labelled';
      /** data.yaml, COCO JSON, or the folder of a YOLO or VOC set. */
      readonly data: string;
      readonly split?: SplitName;
      readonly matching?: ClassMatchingOptions;
    }
  | ({ readonly kind: 'frames' } & FrameChoice);

/** `street/data.yaml, split val`, or the sources. Folders of this machine do not go into a file that travels. */
export function describePictures(pictures: GatePictures): string {
  if (pictures.kind === 'labelled') {
    const { data, split } = pictures;
    const name = setName(data);
    return split === undefined ? name : `${name}, split ${split}`;
  }
  const [first = '', ...others] = pictures.sources.map((source) => basename(source));
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}

export interface GatePredictions {
  /** Path of a picture, or stream and frame. */
  readonly names: readonly string[];
  readonly pictures: readonly PicturePrediction[];
  readonly classNames: readonly string[];
  /** Size of the network's input in px. */
  readonly input: Size;
  /** With labels alone. */
  readonly report?: EvaluationReport;
}

/** How a model file is read, where the file itself does not say. */
export type GateModelOptions = Pick<
  DetectorOptions,
  'imageSize' | 'layout' | 'preprocess' | 'classNames' | 'threads' | 'sessions' | 'provider'
>;

export interface GateContext {
  readonly signal?: AbortSignal;
  readonly onPicture?: (done: number, total: number | undefined) => void;
}

/** AP needs the tail of the scores. */
const LABELLED_CONF = 0.001;
/** Partners of boxes of .25 are looked for down to half of that. */
const FRAME_CONF = 0.1;

/**
 * @throws DataError where there is no picture or data cannot be read; ModelError, DeviceError as `openDetector`; the
 * reason of the signal
 */
export async function gatePredictions(
  model: string,
  options: GateModelOptions,
  pictures: GatePictures,
  context: GateContext = {},
): Promise<GatePredictions> {
  return pictures.kind === 'labelled'
    ? predictLabelled(model, options, pictures, context)
    : predictFrames(model, options, pictures, context);
}

async function predictLabelled(
  model: string,
  options: GateModelOptions,
  { data, split, matching }: Extract<GatePictures, { kind: 'labelled' }>,
  context: GateContext,
): Promise<GatePredictions> {
  let input: Size = { width: 0, height: 0 };
  const validation = await validateModel(
    {
      model,
      data,
      ...(split && { split }),
      ...(matching && { matching }),
      predict: {
        ...options,
        conf: LABELLED_CONF,
        onOpened: (detector) => {
          input = detector.input;
        },
      },
      evaluation: { resamples: 0 },
    },
    context,
  );
  const { predictions, report } = validation;
  return {
    names: validation.pictures.map(({ path }) => path),
    pictures: predictions.pictures,
    classNames: predictions.classNames,
    input,
    report,
  };
}

async function predictFrames(
  model: string,
  options: GateModelOptions,
  choice: Extract<GatePictures, { kind: 'frames' }>,
  { signal, onPicture }: GateContext,
): Promise<GatePredictions> {
  const detector = await openDetector(model, { ...options, threshold: { kind: 'fixed', base: FRAME_CONF } });
  try {
    const [names, pictures]: [string[], PicturePrediction[]] = [[], []];
    for await (const frame of chosenFrames(choice, detector.fit, signal)) {
      const [answer] = await detector.detect([frame]);
      pictures.push({ detections: answer?.detections ?? [], size: frame.letterbox.frame });
      names.push(frame.ptsSeconds === undefined ? frame.source : `${frame.source} frame ${frame.index}`);
      onPicture?.(pictures.length, undefined);
    }
    if (pictures.length === 0) {
      throw new DataError(`${choice.sources.join(', ')}: no picture to compare the models on`, {
        hint: 'name pictures, a folder or a clip with source=, or a data set with data=',
      });
    }
    return { names, pictures, classNames: detector.classNames, input: detector.input };
  } finally {
    await detector.close();
  }
}
