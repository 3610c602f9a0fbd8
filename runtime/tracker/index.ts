// Tracks of objects over the frames of one stream.
export type { ResultTracker, TrackResultsOptions } from './track-results.ts';
export { trackResults } from './track-results.ts';
export type { Tracker, TrackerOptions } from './tracker.ts';
export { createTracker, TRACKER_DEFAULTS } from './tracker.ts';
