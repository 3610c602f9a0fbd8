// Tracking as a command line asks for it: what the tracker gets to see, and which of its boxes are given.
import { ConfigError } from '#core';
import {
  type FrameSource,
  type OpenDetector,
  TRACKER_DEFAULTS,
  type TrackerOptions,
  type TrackResultsOptions,
} from '#runtime';
import type { Config } from './config.ts';
import { defined } from './open.ts';
import { say } from './output.ts';
import { TRACK_OPTIONS } from './track-options.ts';

/** Frames of `track_buffer` in a second, whatever the rate of the source: the meaning that its default has. */
const BUFFER_RATE = 30;
/** Any of them says which boxes are wanted. */
const CHOOSING_KEYS = ['conf', 'threshold', 'thresholds', 'preset'];

/**
 * @returns undefined without `track=True`
 * @throws ConfigError for options of tracking that would act on nothing or exclude each other
 */
export function readTracking(config: Config): TrackerOptions | undefined {
  if (config.flag('track') !== true) {
    const idle = TRACK_OPTIONS.find(({ key }) => key !== 'track' && config.text(key) !== undefined);
    if (idle === undefined) return undefined;
    throw new ConfigError(`${idle.key}= has no effect here: it needs track=True`, {
      hint: `add track=True, or leave ${idle.key}= away`,
    });
  }
  if (config.text('threshold') === 'tail-mass') {
    throw new ConfigError('threshold=tail-mass cannot choose among the boxes of tracks', {
      hint: 'use threshold=fixed, variance or std with track=True',
    });
  }
  const buffer = config.number('track_buffer');
  const options = {
    ...defined('highThreshold', config.number('track_high_thresh')),
    ...defined('lowThreshold', config.number('track_low_thresh')),
    ...defined('newThreshold', config.number('new_track_thresh')),
    ...defined('bufferSeconds', buffer === undefined ? undefined : buffer / BUFFER_RATE),
    ...defined('matchThreshold', config.number('match_thresh')),
    ...defined('fuseScore', config.flag('fuse_score')),
    ...defined('perClass', config.flag('track_per_class')),
  };
  const { lowThreshold: low, highThreshold: high } = { ...TRACKER_DEFAULTS, ...options };
  if (low > high) {
    throw new ConfigError(`track_low_thresh=${low} is above track_high_thresh=${high}`, {
      hint: 'doubtful boxes lie between the two: give a lower track_low_thresh',
    });
  }
  return options;
}

/**
 * Lets the detector give the doubtful boxes that hold tracks together; what was its threshold then chooses among the
 * boxes of tracks.
 * @throws ConfigError for still pictures
 */
export function startTracking(
  options: TrackerOptions,
  config: Config,
  { source, detector }: { readonly source: FrameSource; readonly detector: OpenDetector },
): TrackResultsOptions {
  if (source.kind === 'pictures') {
    throw new ConfigError(`track=True needs times, and ${source.name} is of still pictures`, {
      hint: 'make a clip of them (ffmpeg -framerate 25 -i %06d.jpg clip.mp4) and name it as source=',
    });
  }
  const low = options.lowThreshold ?? TRACKER_DEFAULTS.lowThreshold;
  const chosen = CHOOSING_KEYS.some((key) => config.text(key) !== undefined) || config.classConf.size > 0;
  detector.useThreshold({ kind: 'fixed', base: low });
  say(
    `tracking: boxes above ${low} hold tracks together; given are ${chosen ? 'boxes of tracks that the threshold accepts' : 'all boxes of tracks'}`,
  );
  return chosen ? { ...options, shown: detector.threshold } : options;
}
