// Options of the commands that judge a model.
import type { OptionSpec } from './options.ts';

const EVALUATE: OptionSpec['commands'] = ['val', 'calibrate', 'compare'];

export const EVALUATE_OPTIONS: readonly OptionSpec[] = [
  {
    key: 'split',
    type: 'string',
    choices: ['val', 'test', 'train'],
    defaultText: 'val, else test',
    help: 'which pictures of the data set',
    commands: [...EVALUATE, 'export', 'bench'],
  },
  {
    key: 'single_cls',
    type: 'boolean',
    defaultText: 'False',
    help: 'treat all classes as one',
    commands: [...EVALUATE, 'train', 'export', 'bench'],
  },
  {
    key: 'class_map',
    type: 'list',
    help: 'classes of the model under names of the data set: truck:lorry,bus:bus; others are left out',
    commands: [...EVALUATE, 'export', 'bench'],
  },
  {
    key: 'plots',
    type: 'boolean',
    defaultText: 'True',
    help: 'draw curves, matrices and reliability diagrams',
    commands: [...EVALUATE, 'bench'],
  },
];
