// The words of trtexec, by version.
import { describe, expect, it } from 'vitest';
import {
  type EngineCommand,
  engineCommand,
  formatTensorrtVersion,
  parseTensorrtVersion,
  shellLine,
} from '../../../export/formats/engine-command.ts';

const COMMAND: EngineCommand = {
  trtexec: '/usr/src/tensorrt/bin/trtexec',
  version: { major: 10, minor: 3, patch: 0 },
  model: '/data/a street.onnx',
  engine: '/data/a street.engine',
  precision: 'float32',
  shapes: {},
  workspaceMiB: 1024,
  timingCache: '/data/t.timing',
};
const at = (major: number, minor: number) => ({ version: { major, minor, patch: 0 } });
const flags = (changes: Partial<EngineCommand>) => engineCommand({ ...COMMAND, ...changes }).slice(5);

describe('versions', () => {
  it.each([
    ['&&&& RUNNING TensorRT.trtexec [TensorRT v8502] # trtexec', '8.5.2'],
    ['&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec', '8.6.1'],
    ['&&&& RUNNING TensorRT.trtexec [TensorRT v100001] # trtexec', '10.0.1'],
    ['&&&& RUNNING TensorRT.trtexec [TensorRT v101303] [b9] # trtexec', '10.13.3'],
  ])('%s', (banner, version) => {
    expect(formatTensorrtVersion(parseTensorrtVersion(banner) ?? { major: 0, minor: 0, patch: 0 })).toBe(
      version,
    );
  });

  it('are not guessed', () => expect(parseTensorrtVersion('[TensorRT vnext]')).toBeUndefined());
});

describe('flags', () => {
  it('bound the workspace and keep timings', () => {
    expect(engineCommand(COMMAND)).toEqual([
      '/usr/src/tensorrt/bin/trtexec',
      '--onnx=/data/a street.onnx',
      '--saveEngine=/data/a street.engine',
      '--memPoolSize=workspace:1024',
      '--timingCacheFile=/data/t.timing',
      '--skipInference',
    ]);
  });

  it('follow version and precision', () => {
    expect(flags({ ...at(8, 5), precision: 'float16' })).toEqual(['--buildOnly', '--fp16']);
    expect(flags({ ...at(8, 6), precision: 'int8' })).toEqual(['--skipInference', '--int8']);
    expect(flags({ ...at(10, 3), precision: 'int8' })).toEqual(['--skipInference', '--stronglyTyped']);
    expect(flags({ ...at(11, 1), precision: 'float16' })).toEqual(['--skipInference']);
  });

  it('give profiles by name', () => {
    const shapes = { images: { min: [1, 3, 8, 8], opt: [2, 3, 8, 8], max: [4, 3, 8, 8] } };
    expect(flags({ shapes }).slice(1)).toEqual([
      '--minShapes=images:1x3x8x8',
      '--optShapes=images:2x3x8x8',
      '--maxShapes=images:4x3x8x8',
    ]);
  });

  it('are refused before 8.5', () => {
    expect(() => flags(at(8, 2))).toThrow(/TensorRT 8\.2\.0 is too old/);
  });
});

it('a line for a shell quotes what needs it', () => {
  expect(shellLine(COMMAND)).toContain(`'--onnx=a street.onnx' '--saveEngine=a street.engine' --memPool`);
});
