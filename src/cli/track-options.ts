// Options of tracking, under the names of Ultralytics' trackers.
import type { OptionSpec } from './options.ts';

const STREAM: OptionSpec['commands'] = ['stream'];

export const TRACK_OPTIONS: readonly OptionSpec[] = [
  {
    key: 'track',
    type: 'boolean',
    defaultText: 'False',
    help: 'follow objects: only boxes of tracks are given, with track_id; without conf= and threshold= all of them',
    commands: STREAM,
  },
  fraction('track_high_thresh', '0.25', 'score from which a box is matched with tracks first'),
  fraction('track_low_thresh', '0.1', 'score above which a doubtful box may hold a track together'),
  fraction('new_track_thresh', '0.25', 'score from which a box may begin a track'),
  {
    key: 'track_buffer',
    type: 'number',
    min: 0,
    max: 1_000_000,
    defaultText: '30',
    help: 'how long a track is remembered unseen, in 30ths of a second whatever the frame rate',
    commands: STREAM,
  },
  fraction('match_thresh', '0.8', 'first matching: most that 1 - IoU (times score) may be'),
  {
    key: 'fuse_score',
    type: 'boolean',
    defaultText: 'True',
    help: 'multiply the IoU with the score in the first matching',
    commands: STREAM,
  },
  {
    key: 'track_per_class',
    aliases: ['per_class'],
    type: 'boolean',
    defaultText: 'False',
    help: 'a track keeps its class',
    commands: STREAM,
  },
];

function fraction(key: string, defaultText: string, help: string): OptionSpec {
  return { key, type: 'number', min: 0, max: 1, defaultText, help, commands: STREAM };
}
