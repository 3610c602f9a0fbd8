// How trtexec is asked to build an engine: its words differ by version, and a graph says its own precision.
import { basename } from 'node:path';
import { DeviceError } from '#core';
import type { EngineShapes } from '#runtime';
import type { Precision } from '../gate/floors.ts';

export interface TensorrtVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

export interface EngineCommand {
  /** The program, as a path or a name. */
  readonly trtexec: string;
  readonly version: TensorrtVersion;
  readonly model: string;
  readonly engine: string;
  /** Of the graph: it was converted and judged before. */
  readonly precision: Precision;
  readonly shapes: EngineShapes;
  readonly workspaceMiB: number;
  readonly timingCache: string;
}

/** `[TensorRT v8502]` is 8.5.2, `[TensorRT v101303]` is 10.13.3: since 10.0 two digits each. */
export function parseTensorrtVersion(log: string): TensorrtVersion | undefined {
  const digits = /\[TensorRT v(\d{4}|\d{6})\]/.exec(log)?.[1];
  if (digits === undefined) return undefined;
  const number = Number(digits);
  const [major, rest] =
    number < 10_000
      ? [Math.floor(number / 1000), number % 1000]
      : [Math.floor(number / 10_000), number % 10_000];
  return { major, minor: Math.floor(rest / 100), patch: rest % 100 };
}

export function formatTensorrtVersion({ major, minor, patch }: TensorrtVersion): string {
  return `${major}.${minor}.${patch}`;
}

/**
 * Program and arguments. The workspace is bounded, so that a small board does not kill the build.
 * @throws DeviceError for TensorRT before 8.5, which reads no opset 17
 */
export function engineCommand(command: EngineCommand): readonly string[] {
  const { trtexec, version, model, engine, precision, shapes, workspaceMiB, timingCache } = command;
  const isBefore = (major: number, minor: number) =>
    version.major < major || (version.major === major && version.minor < minor);
  if (isBefore(8, 5)) {
    throw new DeviceError(`TensorRT ${formatTensorrtVersion(version)} is too old: 8.5 or newer is needed`, {
      hint: 'JetPack 5 brings 8.5; on JetPack 4 run the ONNX file itself (format=onnx)',
    });
  }
  return [
    trtexec,
    `--onnx=${model}`,
    `--saveEngine=${engine}`,
    `--memPoolSize=workspace:${workspaceMiB}`,
    `--timingCacheFile=${timingCache}`,
    isBefore(8, 6) ? '--buildOnly' : '--skipInference',
    ...precisionFlags(version, precision),
    ...shapeFlags(shapes),
  ];
}

/**
 * From 10 on the graph's own types are obeyed where that is asked for, in 11 always. TensorRT 8 only takes permission:
 * int8 without `--fp16` keeps the arithmetic behind the last convolutions in float32.
 */
function precisionFlags({ major }: TensorrtVersion, precision: Precision): readonly string[] {
  if (precision === 'float32' || major >= 11) return [];
  if (major >= 10) return ['--stronglyTyped'];
  return precision === 'float16' ? ['--fp16'] : ['--int8'];
}

function shapeFlags(shapes: EngineShapes): readonly string[] {
  const names = Object.keys(shapes).sort();
  if (names.length === 0) return [];
  return (['min', 'opt', 'max'] as const).map(
    (which) =>
      `--${which}Shapes=${names.map((name) => `${name}:${shapes[name]?.[which].join('x')}`).join(',')}`,
  );
}

/** As a shell takes it; paths are cut to names, since it is to be typed on another machine. */
export function shellLine(command: EngineCommand): string {
  const here = { ...command, model: basename(command.model), engine: basename(command.engine) };
  const words = engineCommand({ ...here, timingCache: basename(command.timingCache) });
  return words
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ');
}
