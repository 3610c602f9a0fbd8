// Tests that need a real ffmpeg skip, and say so, where there is none.
import { spawnSync } from 'node:child_process';

export const ffmpegAvailable =
  spawnSync('ffmpeg', ['-version']).status === 0 && spawnSync('ffprobe', ['-version']).status === 0;

/** Ends the title of a group of tests that skips. */
export const ffmpegNote = ffmpegAvailable ? '' : ' (skipped: ffmpeg is not installed)';
