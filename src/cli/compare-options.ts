// Options of `compare` alone.
import type { OptionSpec } from './options.ts';

const COMPARE: OptionSpec['commands'] = ['compare'];

export const COMPARE_OPTIONS: readonly OptionSpec[] = [
  {
    key: 'by',
    type: 'string',
    help: 'what parts the pictures: TABLE.csv:COLUMN (its column file names the picture), light (measured in each), compare: also sun (lat= lon= timezone=)',
    commands: [...COMPARE, 'calibrate'],
  },
  {
    key: 'against',
    type: 'string',
    help: 'the other data set (with data=), folder of pictures or video (with source=)',
    commands: COMPARE,
  },
  {
    key: 'pairs',
    type: 'string',
    choices: ['time'],
    defaultText: 'nothing is paired',
    help: 'two videos: pair frames by their time since the first, where both show the same scene at the same time',
    commands: COMPARE,
  },
  {
    key: 'block_seconds',
    type: 'number',
    min: 0.001,
    max: 1_000_000,
    defaultText: 'from the autocorrelation',
    help: 'two videos: how long the blocks of frames are that intervals draw in place of frames',
    commands: COMPARE,
  },
  {
    key: 'simulate',
    type: 'string',
    choices: ['dusk'],
    help: 'compare the pictures with themselves, rendered at dusk as in training',
    commands: COMPARE,
  },
  {
    key: 'strength',
    type: 'number',
    min: 0,
    max: 1,
    defaultText: '0.5',
    help: 'simulate=dusk: how late, from 0 (day) to 1 (last light)',
    commands: COMPARE,
  },
  {
    key: 'timezone',
    type: 'string',
    help: 'by=sun: of the clock in the file names, such as +08:00',
    commands: COMPARE,
  },
  {
    key: 'slices',
    type: 'list',
    defaultText: 'all',
    help: 'only these slices: day,dusk,night',
    commands: COMPARE,
  },
  {
    key: 'reference',
    type: 'string',
    defaultText: 'day, else the first',
    help: 'slice that the others are compared with',
    commands: COMPARE,
  },
  {
    key: 'at',
    type: 'number',
    min: 0,
    max: 1,
    defaultText: 'best F1 over all slices; 0.25 without labels',
    help: 'threshold in use today: recall, retention and false alarms are taken at it',
    commands: COMPARE,
  },
  {
    key: 'resamples',
    type: 'integer',
    min: 100,
    max: 100_000,
    defaultText: '1000',
    help: 'draws behind each interval',
    commands: COMPARE,
  },
];
