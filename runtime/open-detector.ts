// Opens a model and makes a detector of it: head, preprocessing, thresholds and suppression in one value.
import type { SuppressionPolicy, ThresholdPolicy } from '#core';
import {
  BOX_UNCERTAINTY_SUPPRESSION,
  createDecoder,
  createInputWriter,
  createPostprocessor,
  HARD_SUPPRESSION,
  ModelError,
  POSTPROCESS_DEFAULTS,
  suppressionRequirement,
  thresholdRequirement,
  UNCERTAINTY_SUPPRESSION,
  whyUnavailable,
} from '#core';
import { createDetector, type Detector } from './detector.ts';
import { describeCapabilities, type ModelOptions, type OpenModel, openModel } from './open-model.ts';

/** How a model is run and which of its boxes are reported. Everything has a default. */
export interface DetectorOptions extends ModelOptions {
  /** Default: fixed at 0.25. */
  readonly threshold?: ThresholdPolicy;
  /** `auto` (default) orders by the uncertainty that the model has, else by score alone. */
  readonly suppression?: SuppressionPolicy | 'auto';
  /** IoU in [0, 1] above which a box suppresses another. Default 0.7. */
  readonly iou?: number;
  /** Boxes of different classes suppress each other too. Default false. */
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
}

const DEFAULT_THRESHOLD: ThresholdPolicy = { kind: 'fixed', base: 0.25 };

/**
 * Opens a model for detection: finds its head, chooses preprocessing, checks that the policies get what they need.
 * @param policies options that depend on the opened model, such as class ids by name; they win over `options`
 * @throws ModelError where the file is no detector known here, or a policy needs what it cannot say; DeviceError where
 * the provider is not usable
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
  const suppression = chooseSuppression(options.suppression ?? 'auto', model);
  refuse(path, `threshold=${threshold.kind}`, thresholdRequirement(threshold), model);
  refuse(path, `nms=${suppression.kind}`, suppressionRequirement(suppression), model);
  const decoder = createDecoder(model.finding.layout, {
    input: inputSize,
    boxVariance: capabilities.boxVariance,
  });
  const postprocessor = createPostprocessor({
    classNames,
    threshold,
    suppression,
    iou: options.iou ?? POSTPROCESS_DEFAULTS.iou,
    agnostic: options.agnostic ?? POSTPROCESS_DEFAULTS.agnostic,
    maxDet: options.maxDet ?? POSTPROCESS_DEFAULTS.maxDet,
    maxCandidates: POSTPROCESS_DEFAULTS.maxCandidates,
    scoreLaws: options.scoreLaws ?? POSTPROCESS_DEFAULTS.scoreLaws,
    ...(options.classes === undefined ? {} : { classes: options.classes }),
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
  return { ...detector, model, threshold, suppression };
}

function chooseSuppression(
  asked: SuppressionPolicy | 'auto',
  { capabilities }: OpenModel,
): SuppressionPolicy {
  if (asked !== 'auto') return asked;
  if (capabilities.scoreVariance) return UNCERTAINTY_SUPPRESSION;
  return capabilities.boxVariance ? BOX_UNCERTAINTY_SUPPRESSION : HARD_SUPPRESSION;
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
