// Tracks against the ground truth of the sample street: 35 objects in 96 frames at 12 a second, many hidden in turn.
// The detections are the truth with seeded faults. Bounds leave room of about a third below what was measured.
import { describe, expect, it } from 'vitest';
import { createTracker, type TrackerOptions } from '../../../runtime/tracker/index.ts';
import { type Faults, faultyStreet, streetTruth } from '../../support/street-truth.ts';
import { measureTracks, type TrackFigures } from '../../support/track-metrics.ts';

const truth = streetTruth();
const NOISE: Faults = { seed: 1, misses: 0.1, jitter: 0.03, alarms: 1 };

/** @param every takes every n-th frame, as a slow consumer of a camera does */
function track(faults: Faults, options: TrackerOptions = {}, every = 1): TrackFigures {
  const tracker = createTracker(options);
  const found = faultyStreet(truth, faults);
  const frames = truth.frames.flatMap((objects, frame) => {
    if (frame % every !== 0) return [];
    const tracked = tracker.update(found[frame]!, frame / truth.framesPerSecond);
    return [{ objects, tracks: tracked.map(({ trackId, box }) => ({ id: trackId!, box })) }];
  });
  return measureTracks(frames);
}

/** Over five seeds. */
function mean(
  faults: Faults,
  figure: 'switches' | 'mota' | 'idf1',
  options: TrackerOptions = {},
  every = 1,
): number {
  const seeds = [1, 2, 3, 4, 5];
  return (
    seeds.reduce((sum, seed) => sum + track({ ...faults, seed }, options, every)[figure], 0) / seeds.length
  );
}

describe('the measure', () => {
  const at = (id: number, x: number) => ({ id, box: { x1: x, y1: 0, x2: x + 10, y2: 10 } });

  it('counts misses, false alarms and switches as worked out by hand', () => {
    const frames = [
      { objects: [at(1, 0), at(2, 50)], tracks: [at(7, 0), at(8, 50)] },
      { objects: [at(1, 0), at(2, 50)], tracks: [at(7, 1), at(9, 50), at(5, 90)] },
      { objects: [at(1, 0), at(2, 50)], tracks: [at(9, 50)] },
    ];
    // 6 objects, 1 missed, 1 alarm, 1 switch; identities: object 1 = 7 in 2 frames, object 2 = 9 in 2: 2 * 4 / (6 + 6).
    expect(measureTracks(frames)).toEqual({
      objects: 6,
      misses: 1,
      falseAlarms: 1,
      switches: 1,
      mota: 1 - 3 / 6,
      idf1: 8 / 12,
      ids: 4,
    });
  });
});

describe('on the sample street', () => {
  it('follows perfect boxes nearly perfectly', () => {
    const figures = track({ seed: 1, misses: 0, jitter: 0, alarms: 0 });
    expect(figures.objects).toBe(2396);
    expect(figures.switches).toBeLessThanOrEqual(3);
    expect(figures.falseAlarms).toBe(0);
    expect(figures.idf1).toBeGreaterThan(0.96);
  });

  it('keeps identities with jitter, a tenth of the boxes missing and a false alarm per frame', () => {
    expect(mean(NOISE, 'idf1')).toBeGreaterThan(0.89);
    expect(mean(NOISE, 'mota')).toBeGreaterThan(0.83);
    expect(mean(NOISE, 'switches')).toBeLessThan(6);
  });

  it('loses little where two of three frames are dropped: time steps come from the stream', () => {
    expect(mean(NOISE, 'idf1', {}, 3)).toBeGreaterThan(0.85);
  });

  it('is better with doubtful boxes than without', () => {
    expect(mean(NOISE, 'mota')).toBeGreaterThan(mean(NOISE, 'mota', { lowThreshold: 0.25 }));
  });

  it('is better where the variance of each edge is stated than with the habitual noise', () => {
    const uneven: Faults = { ...NOISE, jitter: 0.04 };
    const [stated, unstated] = (['stated', 'unstated'] as const).map((unevenEdges) => ({
      idf1: mean({ ...uneven, unevenEdges }, 'idf1'),
      switches: mean({ ...uneven, unevenEdges }, 'switches'),
    }));
    expect(stated!.idf1).toBeGreaterThan(unstated!.idf1 + 0.01);
    expect(stated!.switches).toBeLessThan(unstated!.switches);
  });
});
