// Opens a model and makes a detector of it: head, preprocessing, thresholds and suppression in one value.
import type { ScoreScale, SuppressionPolicy, SuppressionSetting, ThresholdPolicy } from '#core';
import {
  ConfigError,
  createDecoder,
  createInputWriter,
  createPostprocessor,
  HARD_SUPPRESSION,
  ModelError,
  POSTPROCESS_DEFAULTS,
  parseFittedSuppression,
  suppressionRequirement,
  thresholdRequirement,
  toCalibrator,
  toFittedSuppression,
  whyOtherSuppression,
  whyUnavailable,
} from '#core';
import { createDetector, type Detector } from './detector.ts';
import { describeCapabilities, type ModelOptions, type OpenModel, openModel } from './open-model.ts';

/** How a model is run and which of its boxes are reported. Everything has a default. */
export interface DetectorOptions extends ModelOptions {
  /** Default: fixed at 0.25. */
  readonly threshold?: ThresholdPolicy;
  /**
   * `auto` (default) is the one that the calibrator in effect was fitted after, else `hard`: on seven road cameras
   * ordering by uncertainty gained nothing (see the study `policies`).
   */
  readonly suppression?: SuppressionPolicy | 'auto';
  /** IoU in [0, 1] above which a box suppresses another. Default: the calibrator's, else 0.7. */
  readonly iou?: number;
  /** Boxes of different classes suppress each other too. Default: the calibrator's, else false. */
  readonly agnostic?: boolean;
  /** Most detections per frame. Default 300. */
  readonly maxDet?: number;
  /** Class ids to report. Default: all. */
  readonly classes?: readonly number[];
  /** Detections carry the law of their score, where the head has one. */
  readonly scoreLaws?: boolean;
}

/** A detector with the model behind it and the policies in effect. `close` it when done. */
export interface OpenDetector extends Detector {
  readonly model: OpenModel;
  readonly threshold: ThresholdPolicy;
  readonly suppression: SuppressionPolicy;
  /** IoU above which a box suppresses another. */
  readonly iou: number;
  readonly agnostic: boolean;
}

const DEFAULT_THRESHOLD: ThresholdPolicy = { kind: 'fixed', base: 0.25 };

/**
 * Opens a model for detection: finds its head, chooses preprocessing, checks that the policies get what they need.
 * @param policies options that depend on the opened model, such as class ids by name; they win over `options`
 * @throws ModelError where the file is no detector known here, or a policy needs what it cannot say; ConfigError where
 * the suppression asked for is not the one that the calibrator was fitted after; DeviceError where the provider is not
 * usable
 * @example
 * const detector = await openDetector('yolov8n.onnx', { iou: 0.5, sessions: 2 }, (model) => ({
 *   classes: [model.classNames.indexOf('person')],
 * }));
 */
export async function openDetector(
  path: string,
  options: DetectorOptions = {},
  policies: (model: OpenModel) => Partial<DetectorOptions> | Promise<Partial<DetectorOptions>> = () => ({}),
): Promise<OpenDetector> {
  const model = await openModel(path, options);
  try {
    return assemble(path, model, { ...options, ...(await policies(model)) });
  } catch (error) {
    await Promise.all(model.sessions.map((session) => session.close()));
    throw error;
  }
}

function assemble(path: string, model: OpenModel, options: DetectorOptions): OpenDetector {
  const { capabilities, classNames, input, inputSize } = model;
  const { contract } = model.preprocess;
  const threshold = options.threshold ?? DEFAULT_THRESHOLD;
  const setting = chooseSetting(path, model, options);
  const scale = scaleOf(path, model);
  refuse(path, `threshold=${threshold.kind}`, thresholdRequirement(threshold), model);
  refuse(path, `nms=${setting.suppression.kind}`, suppressionRequirement(setting.suppression), model);
  const decoder = createDecoder(model.finding.layout, {
    input: inputSize,
    boxVariance: capabilities.boxVariance,
  });
  const postprocessor = createPostprocessor({
    classNames,
    threshold,
    ...setting,
    maxDet: options.maxDet ?? POSTPROCESS_DEFAULTS.maxDet,
    maxCandidates: POSTPROCESS_DEFAULTS.maxCandidates,
    scoreLaws: options.scoreLaws ?? POSTPROCESS_DEFAULTS.scoreLaws,
    ...(options.classes === undefined ? {} : { classes: options.classes }),
    ...(scale && { scale }),
  });
  // float16 inputs are float32 here: the graph casts (see withFloatInterface).
  const type = input.dtype === 'uint8' ? 'uint8' : 'float32';
  const writer = createInputWriter(contract, { type, layout: input.order });
  const detector = createDetector({
    sessions: model.sessions,
    inputSpec: model.inputSpec,
    input: inputSize,
    batchSize: model.batchSize,
    contract,
    writer,
    decoder,
    postprocessor,
    classNames,
    capabilities,
  });
  return { ...detector, model, threshold, ...setting };
}

/** What is not asked for follows the calibrator; what is asked for must agree with it. */
function chooseSetting(path: string, model: OpenModel, options: DetectorOptions): SuppressionSetting {
  const { calibrator } = model;
  const { suppression: asked = 'auto', iou, agnostic } = options;
  const fitted = calibrator && parseFittedSuppression(calibrator.suppression, path);
  const setting = {
    suppression: asked !== 'auto' ? asked : (fitted?.suppression ?? HARD_SUPPRESSION),
    iou: iou ?? fitted?.iou ?? POSTPROCESS_DEFAULTS.iou,
    agnostic: agnostic ?? fitted?.agnostic ?? POSTPROCESS_DEFAULTS.agnostic,
  };
  const why =
    calibrator &&
    fitted &&
    whyOtherSuppression(
      { ...calibrator, suppression: toFittedSuppression(fitted) },
      toFittedSuppression(setting),
    );
  if (why === undefined) return setting;
  throw new ConfigError(`${path}: ${why}; its scores would not mean what they say`, {
    hint: 'leave nms=, iou= and agnostic_nms= away to run as it was fitted, or write calibrator=off for raw scores',
  });
}

function scaleOf(path: string, { calibrator, classNames }: OpenModel): ScoreScale | undefined {
  if (calibrator === undefined) return undefined;
  const { classes } = toCalibrator(calibrator, classNames, path);
  return { maps: classes.map(({ map }) => map), minScore: calibrator.minScore };
}

function refuse(
  path: string,
  what: string,
  requirement: Parameters<typeof whyUnavailable>[0],
  { capabilities }: OpenModel,
): void {
  const why = whyUnavailable(requirement, capabilities);
  if (why === undefined) return;
  throw new ModelError(`${path}: ${what} cannot work: ${why}`, {
    hint: `it can say: ${describeCapabilities(capabilities)}; use threshold=fixed and nms=hard, or a model with more`,
  });
}
