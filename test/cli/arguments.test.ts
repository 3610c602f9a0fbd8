import { describe, expect, it } from 'vitest';
import { normalizeArguments } from '../../src/cli/arguments.ts';
import { parseDevice } from '../../src/cli/device.ts';
import { parseList, parseValue } from '../../src/cli/values.ts';
import { ConfigError, nearest, UsageError } from '../../src/core/index.ts';

describe('the spellings of a command line', () => {
  it('takes key=value, --key value, --key=value and the older names alike', () => {
    const wanted = ['--source=a.mp4', '--conf=0.5', '--imgsz=640'];
    expect(normalizeArguments(['source=a.mp4', 'conf=0.5', 'imgsz=640'])).toEqual(wanted);
    expect(normalizeArguments(['--source', 'a.mp4', '--conf-thres', '0.5', '--img', '640'])).toEqual(wanted);
    expect(normalizeArguments(['--source=a.mp4', '--conf_thres=0.5', '--img-size=640'])).toEqual(wanted);
  });

  it('keeps the value of an option as it is, whatever it looks like', () => {
    expect(normalizeArguments(['--source', 'conf=1.mp4'])).toEqual(['--source=conf=1.mp4']);
    expect(normalizeArguments(['source=rtsp://u:p@h/s?a=b'])).toEqual(['--source=rtsp://u:p@h/s?a=b']);
    expect(normalizeArguments(['--source', '-'])).toEqual(['--source=-']);
  });

  it('reads switches with and without a value', () => {
    expect(normalizeArguments(['--save', '--json', 'False'])).toEqual(['--save', '--json=False']);
    expect(normalizeArguments(['--save', 'source=x.jpg'])).toEqual(['--save', '--source=x.jpg']);
  });

  it('reads thresholds of single classes', () => {
    expect(normalizeArguments(['conf.traffic light=0.5', '--conf.car=0.3'])).toEqual([
      '--class-conf=traffic light=0.5',
      '--class-conf=car=0.3',
    ]);
  });

  it('names the nearest option on a typo', () => {
    expect(() => normalizeArguments(['souce=a.mp4'])).toThrow(UsageError);
    const hintOf = (word: string) => {
      try {
        normalizeArguments([word]);
      } catch (error) {
        return (error as UsageError).hint;
      }
      return 'no error';
    };
    expect(hintOf('souce=a.mp4')).toBe('did you mean source= ?');
    expect(hintOf('--cnof')).toBe('did you mean conf= ?');
    expect(hintOf('maxdet=3')).toBe('did you mean max_det= ?');
    expect(hintOf('clip.mp4')).toContain('source=');
  });
});

describe('values as Python users write them', () => {
  it('reads True, False and None', () => {
    expect(parseValue('save', 'True', 'boolean', {})).toBe(true);
    expect(parseValue('save', 'false', 'boolean', {})).toBe(false);
    expect(parseValue('conf', 'None', 'number', {})).toBeUndefined();
  });

  it('reads lists with and without brackets', () => {
    expect(parseList('[0, 2]')).toEqual(['0', '2']);
    expect(parseList('0,2')).toEqual(['0', '2']);
    expect(parseList("['person', 'traffic light']")).toEqual(['person', 'traffic light']);
  });

  it('reads sizes as height, width', () => {
    expect(parseValue('imgsz', '640', 'size', {})).toEqual([640, 640]);
    expect(parseValue('imgsz', '[384, 640]', 'size', {})).toEqual([384, 640]);
    expect(parseValue('imgsz', '384x640', 'size', {})).toEqual([384, 640]);
  });

  it('refuses what is out of bounds, naming key, value and bounds', () => {
    expect(() => parseValue('conf', '1.5', 'number', { min: 0, max: 1 })).toThrow(
      /conf=1\.5: expected a number from 0 to 1/,
    );
    expect(() => parseValue('max_det', '2.5', 'integer', { min: 1 })).toThrow(ConfigError);
    expect(() => parseValue('conf', 'high', 'number', {})).toThrow(ConfigError);
    expect(() => parseValue('save', 'maybe', 'boolean', {})).toThrow(/expected True or False/);
    expect(() => parseValue('nms', 'hardd', 'string', { choices: ['hard', 'soft'] })).toThrow(/hard, soft/);
  });

  it('reads devices', () => {
    expect(parseDevice('cpu')).toEqual({ kind: 'cpu' });
    expect(parseDevice('0')).toEqual({ kind: 'cuda', index: 0 });
    expect(parseDevice('cuda:1')).toEqual({ kind: 'cuda', index: 1 });
    expect(parseDevice('auto')).toBe('auto');
    expect(() => parseDevice('gpuu')).toThrow(ConfigError);
    expect(parseDevice('gpu')).toEqual({ kind: 'cuda', index: 0 });
    expect(parseDevice('TensorRT:1')).toEqual({ kind: 'tensorrt', index: 1 });
    expect(parseDevice('trt')).toEqual({ kind: 'tensorrt', index: 0 });
    expect(parseDevice('dla:1')).toEqual({ kind: 'dla', index: 1 });
    expect(parseDevice('webgpu')).toEqual({ kind: 'webgpu' });
    expect(parseDevice('kserve://box:8001/Cars')).toEqual({ kind: 'kserve', url: 'kserve://box:8001/Cars' });
    for (const word of ['', 'cpu:0', 'webgpu:1', 'kserve', 'cuda:', 'tensorrt:x'])
      expect(() => parseDevice(word)).toThrow(ConfigError);
  });

  it('finds the nearest word, swaps included, and none where none is near', () => {
    expect(nearest('pesron', ['person', 'car'])).toBe('person');
    expect(nearest('zebra', ['person', 'car'])).toBeUndefined();
  });
});
