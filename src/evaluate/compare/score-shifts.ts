// What can be said without labels: how the scores of each camera are distributed in two slices, and its tracks flicker.
import {
  type ComparedPictures,
  type DistributionShift,
  distributionShift,
  type Flicker,
  type FlickerThreshold,
  flicker,
  type NoVerdict,
  noVerdict,
  type Resampling,
  type ScoreTrack,
  type ValueGroup,
} from '#core';
import type { JoinedSlices } from './joined-slices.ts';
import { blocksOf, type TimeBlocks, tooFewBlocks } from './time-blocks.ts';

export interface ScoreShifts {
  /** Cameras with both conditions together; pictures are exchanged within their camera only. */
  readonly overCameras: DistributionShift | NoVerdict;
  readonly perCamera: readonly {
    readonly camera: string;
    readonly shift: DistributionShift | NoVerdict;
  }[];
}

/** Scores from `seenScore` on, grouped by picture, or by block of time. */
export function scoreShifts(
  joined: JoinedSlices,
  { first, second }: ComparedPictures,
  { seenScore, ...resampling }: Resampling & { readonly seenScore: number },
): ScoreShifts {
  const { starts, scores } = joined.detections;
  const { blocks } = joined;
  const few = blocks && tooFewBlocks(blocks, { first, second });
  if (few !== undefined) return { overCameras: noVerdict(few), perCamera: [] };
  const scoresOf = (picture: number) =>
    scores.subarray(starts[picture], starts[picture + 1]).filter((score) => score >= seenScore);
  const groupsOf = (camera: string, pictures: readonly number[]): ValueGroup[] =>
    drawnTogether(blocks, pictures).map((own) => ({
      values: own.flatMap((picture) => [...scoresOf(picture)]),
      stratum: camera,
    }));
  const shared = [...first.cameras.keys()].filter((camera) => second.cameras.has(camera));
  const sides = shared.map((camera) => ({
    camera,
    first: groupsOf(camera, first.cameras.get(camera) ?? []),
    second: groupsOf(camera, second.cameras.get(camera) ?? []),
  }));
  if (shared.length === 0) return { overCameras: noVerdict('no camera has both conditions'), perCamera: [] };
  return {
    overCameras: distributionShift(
      sides.flatMap((side) => side.first),
      sides.flatMap((side) => side.second),
      resampling,
    ),
    perCamera: sides.map((side) => ({
      camera: side.camera,
      shift: distributionShift(side.first, side.second, resampling),
    })),
  };
}

function drawnTogether(blocks: TimeBlocks | undefined, pictures: readonly number[]): number[][] {
  if (blocks === undefined) return pictures.map((picture) => [picture]);
  return blocksOf(blocks, pictures).map((block) =>
    pictures.filter((picture) => blocks.ofPicture[picture] === block),
  );
}

/** Flicker of the tracks of a slice; null where the detections carry no tracks. Frames are the pictures in order of time. */
export function flickerOfSlice(
  joined: JoinedSlices,
  { cameras }: ComparedPictures['first'],
  { threshold, ...resampling }: Resampling & { readonly threshold: FlickerThreshold },
): Flicker | null {
  const tracks = [...cameras.values()].flatMap((pictures) => tracksOf(joined, pictures));
  return tracks.length === 0 ? null : flicker(tracks, threshold, resampling);
}

function tracksOf({ pictures, detections, trackIds }: JoinedSlices, own: readonly number[]): ScoreTrack[] {
  const inTime = [...own].sort(
    (a, b) => (pictures[a]?.timeSeconds ?? a) - (pictures[b]?.timeSeconds ?? b) || a - b,
  );
  const tracks = new Map<number, (number | null)[]>();
  const started = new Map<number, number>();
  for (const [frame, picture] of inTime.entries()) {
    for (let row = detections.starts[picture] ?? 0; row < (detections.starts[picture + 1] ?? 0); row++) {
      const id = trackIds[row] ?? -1;
      if (id < 0) continue;
      if (!started.has(id)) started.set(id, frame);
      const track = tracks.get(id) ?? [];
      // Frames in which the track was not found lie between.
      while (track.length < frame - (started.get(id) ?? 0)) track.push(null);
      track.push(detections.scores[row] ?? 0);
      tracks.set(id, track);
    }
  }
  return [...tracks.values()];
}
