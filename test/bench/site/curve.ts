// How many cameras does one process hold at 5 frames a second, before its frames grow old?
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CameraClips, CameraStand, makeCameraClips, SAMPLES } from './cameras.ts';
import { type SiteSample, WatchedSite } from './watched-site.ts';

const COUNTS = [1, 2, 4, 8, 12, 16, 20, 24];
const SETTLE_SECONDS = 12;

export interface CurvePoint {
  readonly cameras: number;
  /** Per camera and second, least of all cameras; 5 is all. */
  readonly leastFps: number;
  readonly meanFps: number;
  /** From arrival to result, mean over the span and over all frames. */
  readonly frameAgeMs: number;
  readonly droppedPerSecond: number;
  readonly lagP99Ms: number;
  /** 1 is one core. Without the servers. */
  readonly cores: number;
  readonly rssMb: number;
  readonly childrenMb: number;
}

export async function measureCurve(seconds: number, onPoint: (point: CurvePoint) => void): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'edge-detect-curve-'));
  try {
    const clips = makeCameraClips(folder);
    for (const count of COUNTS) onPoint(await measure(folder, clips, count, seconds));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(
  folder: string,
  clips: CameraClips,
  count: number,
  seconds: number,
): Promise<CurvePoint> {
  const stands: CameraStand[] = [];
  let site: WatchedSite | undefined;
  try {
    for (let index = 0; index < count; index++)
      stands.push(await CameraStand.start(`camera${index}`, clips.of(index)));
    const cameras = stands.map(({ name, url }) => `  ${name}: { source: '${url}', fps: 5 }`);
    const model = join(SAMPLES, 'model/edge-n-street.onnx');
    site = await WatchedSite.start(
      folder,
      `model: ${model}\nlight: auto\ncameras:\n${cameras.join('\n')}`,
      1000,
    );
    await site.until(
      ({ states }) => [...states.values()].filter((one) => one === 'live').length === count,
      60,
    );
    await sleep(1000 * SETTLE_SECONDS);
    const first = site.latest;
    await sleep(1000 * seconds);
    const last = site.latest;
    if (first === undefined || last === undefined) throw new Error('the site was not seen');
    return pointOf(count, first, last);
  } finally {
    await site?.stop();
    await Promise.all(stands.map((stand) => stand.close()));
  }
}

function pointOf(cameras: number, first: SiteSample, last: SiteSample): CurvePoint {
  const seconds = (last.atMs - first.atMs) / 1000;
  const rises = (key: 'frames' | 'dropped') =>
    [...last[key]].map(([name, value]) => (value - (first[key].get(name) ?? 0)) / seconds);
  const total = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
  const ages = [...last.ages].map(([name, { count, sum }]) => {
    const before = first.ages.get(name);
    return { count: count - (before?.count ?? 0), sum: sum - (before?.sum ?? 0) };
  });
  const fps = rises('frames');
  return {
    cameras,
    leastFps: Math.min(...fps),
    meanFps: total(fps) / cameras,
    frameAgeMs: (1000 * total(ages.map(({ sum }) => sum))) / total(ages.map(({ count }) => count)),
    droppedPerSecond: total(rises('dropped')),
    lagP99Ms: last.lagP99Ms,
    cores: (last.cpuSeconds - first.cpuSeconds) / seconds,
    rssMb: last.rssMb,
    childrenMb: last.childrenMb,
  };
}
