// Runs of half a minute and more, which would take a check of every change too long.

/** Asked for by EDGE_DETECT_LONG_TESTS=1. */
export const longRuns = process.env['EDGE_DETECT_LONG_TESTS'] === '1';

/** Ends the title of a test that skips. */
export const longNote = longRuns ? '' : ' (skipped: EDGE_DETECT_LONG_TESTS=1 runs it)';
