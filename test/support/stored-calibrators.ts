// Calibrators as a model or a file holds them.
import type { StoredCalibrator } from '#core';

export const PLATT_SHIFT = { kind: 'platt', slope: 1, intercept: -1 } as const;

export function plattCalibrator(classes: StoredCalibrator['classes']): StoredCalibrator {
  return {
    version: 1,
    kind: 'platt',
    target: 'quality',
    minScore: 0.01,
    maxDets: 100,
    suppression: { kind: 'hard', iou: 0.5, agnostic: false },
    data: { description: 'twelve pictures', pictures: 12, objects: 30, detections: 90 },
    classes,
  };
}
