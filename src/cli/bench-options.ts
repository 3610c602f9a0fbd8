// Options of `bench` alone; some bear names of others, and take lists here.
import type { OptionSpec } from './options.ts';

const BENCH: OptionSpec['commands'] = ['bench'];

export const BENCH_OPTIONS: readonly OptionSpec[] = [
  {
    key: 'model',
    aliases: ['weights', 'm'],
    type: 'list',
    help: 'ONNX files of detectors: a.onnx,b.onnx; ratios are against the first',
    commands: BENCH,
  },
  {
    key: 'device',
    type: 'list',
    defaultText: 'cpu',
    help: 'cpu, or the number of a CUDA device; cpu,0 for both',
    commands: BENCH,
  },
  {
    key: 'threads',
    type: 'list',
    defaultText: '1',
    help: 'threads of one inference; 1,2,4 for each of them',
    commands: BENCH,
  },
  {
    key: 'rounds',
    type: 'integer',
    min: 1,
    max: 1000,
    defaultText: '5',
    help: 'how often each model runs, in a fresh process each time',
    commands: BENCH,
  },
  {
    key: 'frames',
    type: 'integer',
    min: 1,
    max: 10000,
    defaultText: '60',
    help: 'most frames of a round, held in memory: the first of source=, spread over the split of data=',
    commands: BENCH,
  },
];
