// From an ONNX file to a session whose head is understood.
import type { Capabilities, HeadKind, Size, StoredCalibrator } from '#core';
import { ConfigError, ModelError } from '#core';
import type {
  HeadFinding,
  ModelMetadata,
  ModelProto,
  OnnxModelFile,
  PictureInput,
  PreprocessGuess,
  TapPlan,
} from '#onnx';
import {
  findHead,
  guessPreprocess,
  loadModelFile,
  nameFile,
  normalizeInputs,
  parsePreprocess,
  pictureInput,
  planTaps,
  readMetadata,
  serialize,
  withExtraOutputs,
  withFloatInterface,
  withStaticInput,
} from '#onnx';
import { type CalibratorChoice, chooseCalibrator } from './choose-calibrator.ts';
import { COCO_NAMES } from './coco-names.ts';
import { prepareSessions } from './session/open-session.ts';
import type { PreparedSession, Session, SessionInput, SessionOptions } from './session/session.ts';

/** What must be reported: `auto` takes what the model has; the others fail where it lacks it. */
export type UncertaintyRequest = 'auto' | 'box' | 'score' | 'all' | 'none';

/** How a model file is read and where it runs. */
export interface ModelOptions
  extends Partial<
    Pick<SessionOptions, 'provider' | 'threads' | 'ortLibrary' | 'providerOptions' | 'onNote'>
  > {
  /** Input size where the file leaves it free; rounded up to the stride. */
  readonly imageSize?: Size;
  /** Forces the head's kind where it cannot be told. */
  readonly layout?: HeadKind;
  /** Overrides the preprocessing, in the words of `parsePreprocess`. */
  readonly preprocess?: string;
  /** Overrides the names in the file. */
  readonly classNames?: readonly string[];
  readonly uncertainty?: UncertaintyRequest;
  /** Default: the calibrator that the model carries. */
  readonly calibrator?: CalibratorChoice;
  /** Sessions side by side. */
  readonly sessions?: number;
}

/** A model that was opened and understood: its head, its input, its names. */
export interface OpenModel {
  readonly file: OnnxModelFile;
  readonly metadata: ModelMetadata;
  readonly input: PictureInput;
  readonly inputSize: Size;
  readonly batchSize: number;
  readonly inputSpec: SessionInput;
  readonly taps: TapPlan;
  readonly finding: HeadFinding;
  readonly preprocess: PreprocessGuess;
  readonly classNames: readonly string[];
  readonly capabilities: Capabilities;
  /** In effect; absent where scores are as the network gives them. */
  readonly calibrator?: StoredCalibrator;
  /** What was taken for granted, in sentences: family, preprocessing, names. */
  readonly assumed: readonly string[];
  readonly sessions: readonly Session[];
}

const DEFAULT_SIZE = 640;
const STRIDE = 32;

/** Rows that carry a class number do not tell how many classes there are: room for all that occur in practice. */
const UNKNOWN_CLASS_COUNT = 1000;

/**
 * Loads a detector, runs it once on an empty picture to measure its outputs, and finds its head.
 * @throws ModelError for anything that is not a detector known here or lacks the uncertainty asked for, or whose
 * calibrator is faulty; ConfigError for a calibrator file of another model; DeviceError where the provider is not usable
 */
export async function openModel(path: string, options: ModelOptions = {}): Promise<OpenModel> {
  // The threads load the runtime while the file is read and edited here.
  const sessionOptions: SessionOptions = {
    provider: options.provider ?? { kind: 'cpu' },
    threads: options.threads ?? 1,
    ...(options.ortLibrary !== undefined && { ortLibrary: options.ortLibrary }),
    ...(options.providerOptions !== undefined && { providerOptions: options.providerOptions }),
    ...(options.onNote !== undefined && { onNote: options.onNote }),
  };
  const prepared = prepareSessions(sessionOptions, options.sessions ?? 1);
  try {
    const graph = await prepareGraph(await loadModelFile(path), options);
    const { bytes, file } = graph;
    const { externalDataFolder } = file;
    const fileOptions = {
      ...sessionOptions,
      ...(externalDataFolder !== undefined && { externalDataFolder }),
      taps: graph.taps.outputs,
    };
    const sessions = await openAll(prepared, (session) => session.open(bytes, path, fileOptions));
    return await understand(graph, sessions, options).catch(async (error: unknown) => {
      await Promise.all(sessions.map((session) => session.close()));
      throw error;
    });
  } catch (error) {
    for (const session of prepared) session.discard();
    throw nameFile(path, error);
  }
}

/** A model file made ready for the runtime: every axis a number, float32 at its edge, hidden distributions in sight. */
interface PreparedGraph {
  readonly file: OnnxModelFile;
  readonly metadata: ModelMetadata;
  readonly model: ModelProto;
  readonly input: PictureInput;
  readonly inputSize: Size;
  readonly batchSize: number;
  readonly inputSpec: SessionInput;
  readonly taps: TapPlan;
  readonly bytes: Uint8Array;
  readonly calibrator?: StoredCalibrator;
}

async function prepareGraph(file: OnnxModelFile, options: ModelOptions): Promise<PreparedGraph> {
  const metadata = readMetadata(file.model);
  const calibrator = await chooseCalibrator({ file, metadata }, options.calibrator);
  const model = normalizeInputs(file.model);
  const input = pictureInput(model);
  if (input.channels !== 3) {
    throw new ModelError(`the input ${input.name} takes pictures of ${input.channels} channel, not 3`, {
      hint: 'export the model for colour pictures',
    });
  }
  const inputSize = chooseSize(file.path, input, options.imageSize);
  const batchSize = input.batch ?? 1;
  const taps = options.uncertainty === 'none' ? { outputs: [], notes: [] } : planTaps(model);
  const fixed = withStaticInput(model, { batch: batchSize, ...inputSize });
  return {
    file,
    metadata,
    model,
    input,
    inputSize,
    batchSize,
    inputSpec: { name: input.name, shape: inputShape(input, batchSize, inputSize) },
    taps,
    bytes: serialize(withExtraOutputs(withFloatInterface(fixed), taps.outputs)),
    ...(calibrator && { calibrator }),
  };
}

async function understand(
  graph: PreparedGraph,
  sessions: readonly Session[],
  options: ModelOptions,
): Promise<OpenModel> {
  const { file, metadata, model, input, inputSize, batchSize, inputSpec, calibrator } = graph;
  const session = sessions[0] as Session;
  const taps = tapsOf(session, graph.taps);
  const shapes = await measureOutputs(session, input, inputSpec);
  const finding = findNamedHead(options.classNames, (classCount) =>
    findHead(model, shapes, taps, {
      input: inputSize,
      ...(options.layout === undefined ? {} : { layout: options.layout }),
      ...classCount,
    }),
  );
  const guess = guessPreprocess(model, finding.layout, input);
  const preprocess =
    options.preprocess === undefined
      ? guess
      : { ...guess, contract: parsePreprocess(options.preprocess), assumed: [] };
  const known = options.classNames ?? metadata.names;
  const names = nameClasses(file.path, finding.layout.classCount, known, guess.family);
  const capabilities = capabilitiesOf(finding);
  refuseMissing(file.path, options.uncertainty ?? 'auto', capabilities);
  return {
    file,
    metadata,
    input,
    inputSize,
    batchSize,
    inputSpec,
    taps,
    finding: { ...finding, layout: { ...finding.layout, classCount: names.classNames.length } },
    preprocess,
    classNames: names.classNames,
    capabilities,
    ...(calibrator && { calibrator }),
    assumed: [...preprocess.assumed, ...names.assumed],
    sessions,
  };
}

async function openAll(
  prepared: readonly PreparedSession[],
  open: (session: PreparedSession) => Promise<Session>,
): Promise<readonly Session[]> {
  const openings = await Promise.allSettled(prepared.map(open));
  const opened = openings.flatMap((opening) => (opening.status === 'fulfilled' ? [opening.value] : []));
  const failed = openings.find((opening) => opening.status === 'rejected');
  if (failed === undefined) return opened;
  await Promise.all(opened.map((session) => session.close()));
  throw failed.reason;
}

function chooseSize(path: string, input: PictureInput, asked: Size | undefined): Size {
  const roundUp = (value: number) => Math.ceil(value / STRIDE) * STRIDE;
  const size = {
    width: input.width ?? roundUp(asked?.width ?? DEFAULT_SIZE),
    height: input.height ?? roundUp(asked?.height ?? DEFAULT_SIZE),
  };
  const differs =
    asked !== undefined && (differ(asked.width, input.width) || differ(asked.height, input.height));
  if (differs) {
    throw new ConfigError(
      `imgsz=${asked.height},${asked.width}: ${path} was exported for ${size.height},${size.width} (height,width)`,
      {
        hint: `leave imgsz= away, or export the model again with imgsz=${asked.height},${asked.width} or dynamic=True`,
      },
    );
  }
  return size;
}

function differ(asked: number, fixed: number | undefined): boolean {
  return fixed !== undefined && fixed !== asked;
}

function inputShape({ order }: PictureInput, batch: number, { width, height }: Size): readonly number[] {
  return order === 'nchw' ? [batch, 3, height, width] : [batch, height, width, 3];
}

/** A server runs the file as it was: what was added to the graph here is not there. */
function tapsOf({ outputNames, provider }: Session, taps: TapPlan): TapPlan {
  const lost = taps.outputs.filter((name) => !outputNames.includes(name));
  if (lost.length === 0) return taps;
  return { outputs: [], notes: [`${provider} does not give ${lost.join(', ')}, which the file has inside`] };
}

/** Runs the graph once on zeros: many files leave their output shapes out or wrong. */
async function measureOutputs(
  session: Session,
  input: PictureInput,
  spec: SessionInput,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const length = spec.shape.reduce((product, axis) => product * axis, 1);
  const array = input.dtype === 'uint8' ? new Uint8Array(length) : new Float32Array(length);
  const { outputs } = await session.run(array, spec);
  return new Map([...outputs].map(([name, { shape }]) => [name, shape]));
}

/** Where a head is found only without the names that were given, it is their number that is wrong. */
function findNamedHead(
  names: readonly string[] | undefined,
  find: (known: { readonly classCount?: number }) => HeadFinding,
): HeadFinding {
  if (names === undefined) return find({});
  try {
    return find({ classCount: names.length });
  } catch (error) {
    const { classCount } = foundOrThrow(() => find({}), error).layout;
    if (classCount === names.length) throw error;
    throw new ConfigError(`names= gives ${names.length} names, and the head has ${classCount} classes`, {
      hint: 'give one name for each class, or leave names= away',
      cause: error,
    });
  }
}

function foundOrThrow(find: () => HeadFinding, otherwise: unknown): HeadFinding {
  try {
    return find();
  } catch {
    throw otherwise;
  }
}

function nameClasses(
  path: string,
  classCount: number,
  known: readonly string[] | undefined,
  family: string,
): { readonly classNames: readonly string[]; readonly assumed: readonly string[] } {
  if (known !== undefined && known.length !== classCount && classCount > 0) {
    throw new ModelError(`${path}: the head has ${classCount} classes, and there are ${known.length} names`, {
      hint: 'give the right names with names=, or set layout= if the head was read wrongly',
    });
  }
  if (known !== undefined) return { classNames: known, assumed: [] };
  if (classCount === 0) {
    const classNames = Array.from({ length: UNKNOWN_CLASS_COUNT }, (_, id) => `class ${id}`);
    return {
      classNames,
      assumed: ['class names: their numbers, since neither the file nor its head tells how many there are'],
    };
  }
  if (classCount === COCO_NAMES.length) {
    return { classNames: COCO_NAMES, assumed: ['class names: the 80 of COCO, since the file has none'] };
  }
  const faces = family === 'yunet' || family === 'ultraface';
  const classNames = Array.from({ length: classCount }, (_, id) => (faces ? 'face' : `class ${id}`));
  return {
    classNames,
    assumed: [`class names: ${classNames.slice(0, 2).join(', ')}…, since the file has none`],
  };
}

function capabilitiesOf({ capabilities }: HeadFinding): Capabilities {
  const { boxVariance, scoreDistribution, epistemic, limits } = capabilities;
  return {
    boxVariance,
    epistemic,
    scoreVariance: scoreDistribution !== 'none',
    distribution: scoreDistribution === 'moments' ? 'none' : scoreDistribution,
    limits,
  };
}

function refuseMissing(path: string, asked: UncertaintyRequest, capabilities: Capabilities): void {
  const missing = [
    ...((asked === 'box' || asked === 'all') && !capabilities.boxVariance ? ['variance of its boxes'] : []),
    ...((asked === 'score' || asked === 'all') && !capabilities.scoreVariance
      ? ['variance of its scores']
      : []),
  ];
  if (missing.length === 0) return;
  throw new ModelError(
    `${path} gives no ${missing.join(' and no ')}${capabilities.limits.length > 0 ? `: ${capabilities.limits.join('; ')}` : ''}`,
    { hint: `it can say: ${describeCapabilities(capabilities)}; uncertainty=auto takes what there is` },
  );
}

/** `score, variance of the boxes`: what a model can say, in words. */
export function describeCapabilities(capabilities: Capabilities): string {
  const { scoreVariance, epistemic, boxVariance, distribution } = capabilities;
  return [
    'score',
    ...(scoreVariance ? ['variance of the score'] : []),
    ...(epistemic ? ['its epistemic part'] : []),
    ...(distribution === 'none' ? [] : [`law of the score (${distribution})`]),
    ...(boxVariance ? ['variance of the boxes'] : []),
  ].join(', ');
}
