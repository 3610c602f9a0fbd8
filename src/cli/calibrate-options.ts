// Options of `calibrate` alone.
import type { OptionSpec } from './options.ts';

const CALIBRATE: OptionSpec['commands'] = ['calibrate'];

export const CALIBRATE_OPTIONS: readonly OptionSpec[] = [
  {
    key: 'method',
    type: 'string',
    choices: ['beta', 'platt', 'isotonic', 'temperature'],
    defaultText: 'beta',
    help: 'form of the map from a raw score to one that means what it says, one per class',
    commands: CALIBRATE,
  },
  {
    key: 'target',
    type: 'string',
    choices: ['quality', 'correct'],
    defaultText: 'quality',
    help: 'what a score shall mean: the IoU to expect (0 for a false alarm), or the chance of IoU >= 0.5',
    commands: CALIBRATE,
  },
  {
    key: 'groups',
    type: 'string',
    choices: ['camera', 'none'],
    defaultText: 'camera where file names begin with one (CAMERA-... or CAMERA_...)',
    help: 'what is held out together when the maps are judged',
    commands: CALIBRATE,
  },
  {
    key: 'folds',
    type: 'integer',
    min: 2,
    max: 1000,
    defaultText: 'one per camera, else 5',
    help: 'parts that are held out in turn',
    commands: CALIBRATE,
  },
  {
    key: 'conformal',
    type: 'string',
    help: 'thresholds that promise a share of pictures to come: recall:0.8 (objects found), picture-recall:0.8 (mean over pictures), precision:0.9; written as thresholds.json',
    commands: CALIBRATE,
  },
  {
    key: 'delta',
    type: 'number',
    min: 0.001,
    max: 0.5,
    defaultText: '0.1',
    help: 'chance that a promise of conformal=precision:... fails',
    commands: CALIBRATE,
  },
  {
    key: 'out',
    type: 'string',
    defaultText:
      '<model>-calibrated.onnx, or <model>-calibrator.json; export: <model>-int8.onnx and the like',
    help: 'where the calibrator, or the exported model, goes',
    commands: [...CALIBRATE, 'export'],
  },
];
