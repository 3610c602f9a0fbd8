// What tracking costs per frame: boxes that move, cross, vanish and come back, with and without variances.
//   node dist/test/bench/track.js [boxes] [frames]
import { createRandom, type Detection } from '#core';
import { createTracker } from '#runtime';

const WARM_UP = 200;
const FRAMES_PER_SECOND = 25;

interface TrackFigure {
  readonly name: string;
  readonly medianMs: number;
  readonly p99Ms: number;
}

/** A crowd in 1280x720: neighbours overlap, a tenth of the boxes is missed, a quarter is doubtful. */
function drawFrames(boxes: number, frames: number, withVariance: boolean): readonly (readonly Detection[])[] {
  const random = createRandom(7);
  const walkers = Array.from({ length: boxes }, () => ({
    x: random.between(0, 1200),
    y: random.between(0, 600),
    dx: random.between(-4, 4),
    dy: random.between(-2, 2),
    side: random.between(30, 110),
  }));
  return Array.from({ length: frames }, () =>
    walkers
      .flatMap((walker): Detection[] => {
        walker.x = (walker.x + walker.dx + 1200) % 1200;
        walker.y = (walker.y + walker.dy + 600) % 600;
        if (random.next() < 0.1) return [];
        const [x1, y1] = [walker.x + random.normal(), walker.y + random.normal()];
        const score = random.next() < 0.25 ? random.between(0.1, 0.25) : random.between(0.25, 0.95);
        const box = { x1, y1, x2: x1 + walker.side, y2: y1 + 2 * walker.side };
        const boxVariance = { x1: 4, y1: 9, x2: 4, y2: 16 };
        const plain = { box, classId: 0, className: 'person', score, rawScore: score };
        return [withVariance ? { ...plain, boxVariance } : plain];
      })
      .sort((a, b) => b.score - a.score),
  );
}

function measureTracking(boxes: number, frames: number, withVariance: boolean): TrackFigure {
  const drawn = drawFrames(boxes, frames + WARM_UP, withVariance);
  const tracker = createTracker();
  const times = drawn.map((found, frame) => {
    const started = performance.now();
    tracker.update(found, frame / FRAMES_PER_SECOND);
    return performance.now() - started;
  });
  const sorted = times.slice(WARM_UP).sort((a, b) => a - b);
  return {
    name: `track ${boxes} boxes a frame${withVariance ? ' with variances' : ''}`,
    medianMs: Number((sorted[sorted.length >> 1] ?? Number.NaN).toFixed(4)),
    p99Ms: Number((sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN).toFixed(4)),
  };
}

const [boxes = '50', frames = '2000'] = process.argv.slice(2);
for (const withVariance of [false, true]) {
  console.log(JSON.stringify(measureTracking(Number(boxes), Number(frames), withVariance)));
}
