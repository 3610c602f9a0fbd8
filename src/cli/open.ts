// Opens what a command line names: model, source and sinks.
import { availableParallelism } from 'node:os';
import { DeviceError, type HeadKind, type StoredCalibrator } from '#core';
import { describeSals, readSals } from '#onnx';
import type { DetectorOptions, OpenDetector, Provider, UncertaintyRequest } from '#runtime';
import { describeCapabilities, isEngineWrapper, openDetector, readNames } from '#runtime';
import type { Config } from './config.ts';
import { parseDevice } from './device.ts';
import { say } from './output.ts';
import { readCalibratorChoice, readClasses, readPolicies, readSuppression } from './policies.ts';
import { readRuntimeChoice } from './runtime-choice.ts';

export async function openConfiguredDetector(
  config: Config,
  more: Pick<DetectorOptions, 'scoreLaws'> = {},
): Promise<OpenDetector> {
  const path = config.required('model');
  sayPrecision(config);
  const device = parseDevice(config.text('device') ?? 'cpu');
  if (device !== 'auto') return describe(await openOn(path, { config, more }, device), config);
  return describe(await openOnAny(path, { config, more }), config);
}

interface Opening {
  readonly config: Config;
  readonly more: Pick<DetectorOptions, 'scoreLaws'>;
}

/**
 * CUDA, else the CPU. TensorRT by name only, since it first builds an engine for minutes; where the model stands for an
 * engine that was built, nothing else runs it.
 */
async function openOnAny(path: string, opening: Opening): Promise<OpenDetector> {
  if (await isEngineWrapper(path)) {
    const detector = await openOn(path, opening, { kind: 'tensorrt', index: 0 });
    say(`device=auto: ${detector.provider}, since the model is a built engine`);
    return detector;
  }
  try {
    const detector = await openOn(path, opening, { kind: 'cuda', index: 0 });
    say(`device=auto: ${detector.provider}`);
    return detector;
  } catch (error) {
    if (!(error instanceof DeviceError)) throw error;
    const detector = await openOn(path, opening, { kind: 'cpu' });
    say(`device=auto: cpu (${error.message})`);
    return detector;
  }
}

async function openOn(path: string, { config, more }: Opening, provider: Provider): Promise<OpenDetector> {
  const names = config.text('names');
  const size = config.size('imgsz');
  const sessions = config.number('sessions') ?? 1;
  // One core is left to the decoder and to JSON; more than the cores would only wait for each other.
  const threads =
    config.number('threads') ?? Math.max(1, Math.floor((availableParallelism() - 1) / sessions));
  const options: DetectorOptions = {
    ...more,
    provider,
    ...readRuntimeChoice(config, provider),
    threads,
    sessions,
    uncertainty: (config.text('uncertainty') ?? 'auto') as UncertaintyRequest,
    suppression: readSuppression(config),
    ...defined('iou', config.number('iou')),
    ...defined('maxDet', config.number('max_det')),
    ...defined('agnostic', config.flag('agnostic_nms')),
    ...defined('calibrator', readCalibratorChoice(config)),
    ...defined('layout', config.text('layout') as HeadKind | undefined),
    ...defined('preprocess', config.text('preprocess')),
    ...defined('imageSize', size && { height: size[0], width: size[1] }),
    ...defined('classNames', names === undefined ? undefined : await readNames(names)),
  };
  return openDetector(path, options, async ({ classNames, file, calibrator }) => ({
    ...(await readPolicies(config, {
      classNames,
      sha256: file.sha256,
      calibrated: calibrator !== undefined,
    })),
    ...defined('classes', readClasses(config, classNames)),
  }));
}

/** For optional properties, which must be absent rather than undefined. */
export function defined<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [P in K]?: V });
}

/** ` (ONNX Runtime 1.20.1 (libonnxruntime.so.1), nodes: 57 CUDA)`; empty for what needs no words. */
export function describeRuntime({ runtime, placement }: Pick<OpenDetector, 'runtime' | 'placement'>): string {
  const nodes = Object.entries(placement?.nodes ?? {}).map(
    ([name, count]) => `${count} on ${name.replace(/ExecutionProvider$/, '')}`,
  );
  const words = [
    ...(runtime === undefined ? [] : [runtime]),
    ...(nodes.length > 0 ? [`nodes: ${nodes.join(', ')}`] : []),
    ...(placement?.proof === 'fallback-disabled' ? ['all nodes there'] : []),
  ];
  return words.length === 0 ? '' : ` (${words.join('; ')})`;
}

function sayPrecision(config: Config): void {
  for (const key of ['half', 'int8']) {
    if (config.flag(key)) {
      say(`${key}=True changes nothing here: the precision is that of the ONNX file`);
    }
  }
}

/** Says once what the model is and which policies act on it. */
function describe(detector: OpenDetector, config: Config): OpenDetector {
  const { model, threshold, suppression, capabilities, provider, input } = detector;
  const name = config.required('model').split('/').at(-1);
  say(
    `${name}: ${model.finding.layout.kind} head, ${detector.classNames.length} classes, input ${input.width}x${input.height} on ${provider}${describeRuntime(detector)}; ` +
      `it can say: ${describeCapabilities(capabilities)}`,
  );
  if (config.text('nms') === undefined || config.text('threshold') === undefined) {
    say(`policies: threshold=${threshold.kind}, nms=${suppression.kind}`);
  }
  const sals = readSals(model.metadata);
  if (sals !== undefined) say(describeSals(sals));
  if (model.calibrator !== undefined) sayCalibrator(model.calibrator, config);
  if (config.flag('verbose')) {
    for (const line of [...model.finding.evidence, ...model.assumed, ...capabilities.limits])
      say(`  ${line}`);
  }
  return detector;
}

const MEANING = {
  quality: 'the IoU to expect, 0 for a false alarm',
  correct: 'the probability of IoU >= 0.5',
} as const;

/** A calibrated score means something else than the network's own: said, and for which classes it does not hold. */
function sayCalibrator({ kind, target, data, classes }: StoredCalibrator, config: Config): void {
  say(
    `scores are calibrated (${kind}, calibrator=off for raw ones): ${MEANING[target]}; fitted on ${data.description}, ${data.pictures} pictures`,
  );
  const kept = Object.entries(classes).flatMap(([name, entry]) =>
    'whyKept' in entry ? [[name, entry.whyKept]] : [],
  );
  if (kept.length === 0) return;
  say(`  not for ${kept.length} of ${Object.keys(classes).length} classes, which keep raw scores`);
  if (config.flag('verbose')) for (const [name, why] of kept) say(`    ${name}: ${why}`);
}
