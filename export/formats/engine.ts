// A TensorRT engine from an ONNX file that has passed its gate, built on the device that will run it.
import { createHash, randomUUID } from 'node:crypto';
import { readFile, rename, rm, stat } from 'node:fs/promises';
import { freemem } from 'node:os';
import { basename, dirname, join, parse } from 'node:path';
import { ConfigError, DeviceError, EdgeDetectError } from '#core';
import { graphOf, loadModelFile, normalizeInputs, type OnnxModelFile, serialize, shapeOf } from '#onnx';
import {
  builderWorkspaceMiB,
  type EngineKey,
  type EngineRecord,
  type EngineShapes,
  formatEngineRecord,
  keyDifferences,
  parseEngineRecord,
  writeWholeFile,
} from '#runtime';
import type { Precision } from '../gate/floors.ts';
import { engineCommand, formatTensorrtVersion, shellLine, type TensorrtVersion } from './engine-command.ts';
import { engineWrapper } from './engine-wrapper.ts';
import { askTrtexec, locateTrtexec, runTrtexec, TRTEXEC_PLACES, type TrtexecLog } from './trtexec.ts';

export interface EngineRequest {
  /** The ONNX file, as it passed the gate. It stays where it is. */
  readonly model: string;
  /** Of its graph. */
  readonly precision: Precision;
  /** For every input with open axes. Default: none. */
  readonly shapes?: EngineShapes;
  /** Default: PATH, then where JetPack puts it. */
  readonly trtexec?: string;
  /** Most memory that the builder may try layers in. Default: a quarter of what is free, 2048 at most. */
  readonly workspaceMiB?: number;
  /** Build again even where an engine of this key is there. */
  readonly rebuild?: boolean;
}

export interface EngineContext {
  readonly signal?: AbortSignal;
  readonly onLine?: (line: string) => void;
  /** Folders to look for trtexec in, as in PATH. Default: the environment's. */
  readonly path?: string;
  /** Free memory. Default: what the system says. */
  readonly freeMiB?: number;
}

export interface EnginePaths {
  readonly engine: string;
  /** What the engine is of. */
  readonly record: string;
  /** The ONNX file that ONNX Runtime 1.17 or newer loads the engine by. */
  readonly wrapper: string;
}

export interface EngineFiles extends EnginePaths {
  readonly key: EngineKey;
  /** Whether an engine of the same key lay there already. */
  readonly reused: boolean;
  readonly command: readonly string[];
  /** What the user should know, in sentences. */
  readonly notes: readonly string[];
}

/** For messages about a device that is not here: what JetPack 6 and 5 bring. */
const SAMPLE_VERSIONS: readonly TensorrtVersion[] = [
  { major: 10, minor: 3, patch: 0 },
  { major: 8, minor: 5, patch: 2 },
];

const SAMPLE_WORKSPACE_MIB = 1024;

const MIB = 2 ** 20;

/** `street.onnx` → `street.engine`, `street.engine.json`, `street.ctx.onnx`, in the same folder. */
export function enginePaths(model: string): EnginePaths {
  const stem = join(dirname(model), parse(model).name);
  return { engine: `${stem}.engine`, record: `${stem}.engine.json`, wrapper: `${stem}.ctx.onnx` };
}

/**
 * Builds under a temporary name and renames; a build that fails or is stopped leaves no engine. An engine of the same
 * key is taken as it is.
 * @throws DeviceError where TensorRT is not here (the hint has the command for the device), too old, or short of memory,
 * and where the build fails; ConfigError for open axes without shapes; the reason of the signal
 */
export async function buildEngine(request: EngineRequest, context: EngineContext = {}): Promise<EngineFiles> {
  const paths = enginePaths(request.model);
  const file = await loadModelFile(request.model);
  const shapes = request.shapes ?? {};
  expectShapes(file, shapes);
  const trtexec = await locateTrtexec(request.trtexec, context.path);
  if (trtexec === undefined) throw notHere(request, file, paths, shapes);
  const missing = join(dirname(request.model), `.asks-for-the-device-${randomUUID()}.onnx`);
  const { version, gpu, computeCapability } = await askTrtexec(trtexec, missing, context);
  const tensorrt = formatTensorrtVersion(version);
  const key = {
    modelSha256: file.sha256,
    tensorrt,
    gpu,
    computeCapability,
    precision: request.precision,
    shapes,
  };
  const timingCache = join(dirname(request.model), `tensorrt-${tensorrt}-${computeCapability}.timing`);
  const workspaceMiB = workspace(request, file, context.freeMiB ?? Math.floor(freemem() / MIB));
  const command = (engine: string) =>
    engineCommand({
      trtexec,
      version,
      model: request.model,
      engine,
      precision: request.precision,
      shapes,
      workspaceMiB,
      timingCache,
    });
  const result = { ...paths, key, command: command(paths.engine) };
  const old = request.rebuild === true ? ['built again, as asked'] : await whyNotReuse(paths, key);
  if (old.length === 0) return { ...result, reused: true, notes: [] };
  const log = await build(command, paths.engine, context);
  const record: EngineRecord = { version: 1, key, engine: await engineFacts(paths.engine) };
  await writeWholeFile(
    paths.wrapper,
    serialize(engineWrapper(file.model, { engine: paths.engine, onnx: request.model, key })),
  );
  // Last: what it is about is whole by then.
  await writeWholeFile(paths.record, formatEngineRecord(record));
  return { ...result, reused: false, notes: [...old.filter((note) => note !== FIRST), ...notesOf(log, key)] };
}

/** @throws ConfigError naming the input, before minutes are spent on a build that must fail */
function expectShapes({ model }: OnnxModelFile, shapes: EngineShapes): void {
  const inputs = graphOf(normalizeInputs(model)).input;
  for (const info of inputs) {
    const axes = shapeOf(info) ?? [];
    const isOpen = axes.some((axis) => typeof axis !== 'number' || axis <= 0);
    const given = shapes[info.name];
    if (isOpen && given === undefined) {
      throw new ConfigError(
        `input ${info.name} [${axes.join(', ')}] has open axes, and no shapes are given for them`,
        {
          hint: 'export with a fixed batch and size, or give the least, usual and largest shape',
        },
      );
    }
    const misfit = [given?.min, given?.opt, given?.max].find(
      (shape) =>
        shape &&
        (shape.length !== axes.length ||
          axes.some((axis, at) => typeof axis === 'number' && axis !== shape[at])),
    );
    if (misfit) {
      throw new ConfigError(
        `the shape [${misfit.join(', ')}] does not fit input ${info.name} [${axes.join(', ')}]`,
        {
          hint: 'only open axes can be chosen',
        },
      );
    }
  }
  const unknown = Object.keys(shapes).find((name) => inputs.every((info) => info.name !== name));
  if (unknown !== undefined) {
    throw new ConfigError(`shapes are given for ${unknown}, which is no input of the model`, {
      hint: `its inputs: ${inputs.map(({ name }) => name).join(', ')}`,
    });
  }
}

function notHere(
  { precision, workspaceMiB = SAMPLE_WORKSPACE_MIB }: EngineRequest,
  { path, sha256 }: OnnxModelFile,
  { engine }: EnginePaths,
  shapes: EngineShapes,
): DeviceError {
  const lines = SAMPLE_VERSIONS.map((version) => {
    const line = shellLine({
      trtexec: 'trtexec',
      version,
      model: path,
      engine,
      precision,
      shapes,
      workspaceMiB,
      timingCache: 'tensorrt.timing',
    });
    return `with TensorRT ${version.major}: ${line}`;
  });
  const key = JSON.stringify({ modelSha256: sha256, precision, shapes });
  return new DeviceError(`TensorRT is not here: looked for ${TRTEXEC_PLACES}`, {
    hint: [
      `copy ${basename(path)} to the device and export there, or build by hand:`,
      ...lines,
      'or leave it to the runtime: device=tensorrt:0 with ort_library= builds an engine from the .onnx file once, and keeps it',
      `cache key: ${key} and TensorRT's version, GPU and compute capability of that device`,
    ].join('\n  '),
  });
}

/** @throws DeviceError where the build would be killed half-way */
function workspace({ workspaceMiB }: EngineRequest, { bytes }: OnnxModelFile, freeMiB: number): number {
  return builderWorkspaceMiB({
    freeMiB,
    modelBytes: bytes.length,
    ...(workspaceMiB !== undefined && { askedMiB: workspaceMiB }),
    hint: 'close the desktop and other programs, add swap, or lower workspace= (in MiB)',
  });
}

/** The only answer of `whyNotReuse` that nobody needs to read. */
const FIRST = 'no engine is there';

async function whyNotReuse({ engine, record }: EnginePaths, key: EngineKey): Promise<readonly string[]> {
  const text = await readFile(record, 'utf8').catch(() => undefined);
  if (text === undefined) return [FIRST];
  let found: EngineRecord;
  try {
    found = parseEngineRecord(text, basename(record));
  } catch (error) {
    if (!(error instanceof EdgeDetectError)) throw error;
    return [`the engine was built again: ${error.message}`];
  }
  const differences = keyDifferences(found.key, key);
  if (differences.length > 0)
    return [`the engine that lay there was for ${differences.join('; ')}: it was built again`];
  const facts = await engineFacts(engine).catch(() => undefined);
  if (facts?.sha256 === found.engine.sha256) return [];
  return [
    `${basename(engine)} ${facts ? 'is not the file that its record is about' : 'was gone'}: it was built again`,
  ];
}

async function engineFacts(path: string): Promise<EngineRecord['engine']> {
  const bytes = await readFile(path);
  return {
    name: basename(path),
    sha256: createHash('sha256').update(bytes).digest('hex'),
    bytes: bytes.length,
  };
}

async function build(
  command: (engine: string) => readonly string[],
  engine: string,
  context: EngineContext,
): Promise<TrtexecLog> {
  const temporary = join(dirname(engine), `.partial-${randomUUID()}`);
  try {
    const log = await runTrtexec(command(temporary), context);
    if (log.code !== 0) throw failed(log);
    const { size } = await stat(temporary).catch(() => ({ size: 0 }));
    if (size === 0) {
      throw new DeviceError('trtexec reported success and wrote no engine', {
        hint: `is there room in ${dirname(engine)}? Run its command by hand`,
      });
    }
    await rename(temporary, engine);
    return log;
  } finally {
    await rm(temporary, { force: true });
  }
}

function failed({ code, endedBy, errors }: TrtexecLog): DeviceError {
  if (endedBy === 'SIGKILL') {
    return new DeviceError('the system killed trtexec, as it does where memory runs out', {
      hint: 'close the desktop and other programs, add swap, or lower workspace= (in MiB)',
    });
  }
  const why = errors.length > 0 ? `: ${errors.slice(-3).join(' / ')}` : '';
  const how = endedBy === null ? `with code ${code}` : `by ${endedBy}`;
  return new DeviceError(`trtexec could not build the engine; it ended ${how}${why}`, {
    hint: 'the ONNX file stays: it can be run by ONNX Runtime meanwhile',
  });
}

function notesOf({ warnings }: TrtexecLog, { precision, tensorrt }: EngineKey): readonly string[] {
  const isWeak = tensorrt.startsWith('8.') && precision !== 'float32';
  return [
    ...(warnings.int64 > 0
      ? [`${warnings.int64} lines about INT64 values are harmless: they hold shapes`]
      : []),
    ...(warnings.other > 0 ? [`trtexec gave ${warnings.other} other warnings`] : []),
    ...(isWeak
      ? [
          'TensorRT 8 may compute more in low precision than the graph says: compare its boxes with the ONNX file',
        ]
      : []),
    ...(tensorrt.startsWith('8.5')
      ? ["ONNX Runtime loads engines by their wrapper since 1.17; JetPack 5's is 1.16"]
      : []),
  ];
}
