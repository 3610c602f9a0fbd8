import { describe, expect, it } from 'vitest';
import { detectionChanges } from '../../../export/gate/detection-changes.ts';
import type { Box, Detection } from '../../../src/core/index.ts';

const SIZE = { width: 200, height: 100 };
const INPUT = { width: 100, height: 50 };

function detection(x: number, score: number, more: Partial<Detection> = {}): Detection {
  const box = { x1: x, y1: 10, x2: x + 40, y2: 50 } as Box<'frame'>;
  return { box, classId: 0, className: 'car', score, rawScore: score, ...more };
}

const picture = (...detections: Detection[]) => ({ detections, size: SIZE });

describe('detectionChanges', () => {
  it('says nothing changed where nothing did', () => {
    const pictures = [picture(detection(0, 0.9), detection(100, 0.3))];
    const changes = detectionChanges(pictures, pictures, 1, INPUT);
    expect(changes).toMatchObject({ sourceBoxes: 2, artefactBoxes: 2, found: 1, known: 1 });
    expect(changes.boxPx).toEqual({ p50: 0, p99: 0, largest: 0, mean: 0 });
    expect(changes.scoreStd).toBeNull();
  });

  it('measures boxes in px of the input and keeps the sign of score changes in the mean', () => {
    const before = [picture(detection(0, 0.9), detection(100, 0.8))];
    const after = [picture(detection(4, 0.8), detection(100, 0.9))];
    const { boxPx, score } = detectionChanges(before, after, 1, INPUT);
    expect(boxPx?.largest).toBeCloseTo(2, 12);
    expect(score?.largest).toBeCloseTo(0.1, 12);
    expect(score?.mean).toBeCloseTo(0, 12);
  });

  it('takes a box that only crosses the threshold for a changed score, and one that is gone for a lost one', () => {
    const before = [picture(detection(0, 0.26)), picture(detection(0, 0.9))];
    const crossed = detectionChanges(
      before,
      [picture(detection(0, 0.2)), picture(detection(0, 0.9))],
      1,
      INPUT,
    );
    expect(crossed).toMatchObject({ found: 1, known: 1, artefactBoxes: 1 });
    const lost = detectionChanges(before, [picture(), picture(detection(0, 0.9))], 1, INPUT);
    expect(lost).toMatchObject({ found: 0.5, known: 1 });
    expect(lost.worst[0]).toMatchObject({ picture: 0, lost: 1, added: 0 });
  });

  it('counts boxes that are new, and those of another class as lost and new', () => {
    const before = [picture(detection(0, 0.9))];
    const after = [picture(detection(0, 0.9, { classId: 1, className: 'bus' }))];
    const changes = detectionChanges(before, after, 2, INPUT);
    expect(changes).toMatchObject({ found: 0, known: 0, boxPx: null });
    expect(changes.worst[0]).toMatchObject({ lost: 1, added: 1 });
  });

  it('compares standard deviations, where both can say', () => {
    const before = [picture(detection(0, 0.9, { scoreVariance: 0.04 }))];
    const after = [picture(detection(0, 0.9, { scoreVariance: 0.09 }))];
    expect(detectionChanges(before, after, 1, INPUT).scoreStd?.largest).toBeCloseTo(0.1, 12);
    expect(detectionChanges(before, [picture(detection(0, 0.9))], 1, INPUT).scoreStd).toBeNull();
  });

  it('takes the change that 99 of 100 do not exceed, and lets one pair of twenty differ', () => {
    const p99 = (count: number, far: number) => {
      const before = Array.from({ length: count }, () => picture(detection(0, 0.5)));
      const after = before.map((_, place) => picture(detection(0, place < far ? 0.7 : 0.51)));
      return detectionChanges(before, after, 1, INPUT).score?.p99;
    };
    expect(p99(200, 2)).toBeCloseTo(0.01, 12);
    expect(p99(200, 3)).toBeCloseTo(0.2, 12);
    expect(p99(20, 1)).toBeCloseTo(0.01, 12);
    expect(p99(20, 2)).toBeCloseTo(0.2, 12);
    expect(p99(19, 1)).toBeCloseTo(0.2, 12);
  });

  it('has nothing to compare in empty pictures', () => {
    const changes = detectionChanges([picture()], [picture()], 1, INPUT);
    expect(changes).toMatchObject({ found: null, known: null, boxPx: null, score: null, scoreStd: null });
  });
});
