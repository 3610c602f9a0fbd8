// Options of `val predictions=`: how another tool wrote what it found.
import type { TextBox, TextScore } from '#data/datasets';
import type { OptionSpec } from './options.ts';

export const PREDICTIONS_OPTIONS: readonly OptionSpec[] = [
  {
    key: 'predictions',
    type: 'string',
    help: 'instead of model=: saved detections of any tool, a folder of text files or COCO results as JSON',
    commands: ['val'],
  },
  {
    key: 'predictions_box',
    type: 'string',
    choices: ['xyxy', 'ltwh', 'cxcywh', 'xyxyn', 'ltwhn', 'cxcywhn'] satisfies readonly TextBox[],
    help: 'text rows: two corners, left top width height, or centre width height; n: shares of the picture, else px',
    commands: ['val'],
  },
  {
    key: 'predictions_score',
    type: 'string',
    choices: ['first', 'last'] satisfies readonly TextScore[],
    help: 'text rows: where the score stands, class score box or class box score',
    commands: ['val'],
  },
];
