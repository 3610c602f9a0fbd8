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
    key: 'out',
    type: 'string',
    defaultText: '<model>-calibrated.onnx, or <model>-calibrator.json where the model cannot carry it',
    help: 'where the calibrator goes',
    commands: CALIBRATE,
  },
];
