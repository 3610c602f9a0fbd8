// Tests that need a real GStreamer skip, and say so, where its programs or elements are not installed.
import { spawnSync } from 'node:child_process';

const NEEDED = [
  'gdppay',
  'rtspsrc',
  'qtdemux',
  'h264parse',
  'avdec_h264',
  'videoscale',
  'videoflip',
  'decodebin',
];

export const gstreamerAvailable = NEEDED.every(
  (element) => spawnSync('gst-inspect-1.0', ['--exists', element]).status === 0,
);

/** Ends the title of a group of tests that skips. */
export const gstreamerNote = gstreamerAvailable
  ? ''
  : ' (skipped: GStreamer with its base, good, bad and libav plugins is not installed)';
