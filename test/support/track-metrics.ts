// How well tracks follow objects: identity switches and MOTA after Bernardin and Stiefelhagen, "Evaluating multiple
// object tracking performance: the CLEAR MOT metrics", EURASIP JIVP 2008; IDF1 after Ristani et al., "Performance
// measures and a data set for multi-target, multi-camera tracking", ECCV Workshops 2016.
import { type Box, iou } from '#core';
import { createAssigner } from '../../runtime/tracker/assignment.ts';

export interface Identified {
  readonly id: number;
  readonly box: Box<'frame'>;
}

export interface TrackFigures {
  readonly objects: number;
  readonly misses: number;
  readonly falseAlarms: number;
  readonly switches: number;
  readonly mota: number;
  readonly idf1: number;
  readonly ids: number;
}

const IOU = 0.5;

/** @param frames objects and tracks of each frame */
export function measureTracks(
  frames: readonly { readonly objects: readonly Identified[]; readonly tracks: readonly Identified[] }[],
): TrackFigures {
  const assigner = createAssigner();
  const lastTrack = new Map<number, number>();
  const together = new Map<number, Map<number, number>>(); // object, track: frames with enough overlap
  const ids = new Set<number>();
  let [objectCount, trackCount, matches, switches] = [0, 0, 0, 0];
  for (const { objects, tracks } of frames) {
    objectCount += objects.length;
    trackCount += tracks.length;
    for (const { id } of tracks) ids.add(id);
    const values = new Float64Array(objects.length * tracks.length).fill(1);
    for (const [row, object] of objects.entries()) {
      for (const [column, track] of tracks.entries()) {
        const overlap = iou(object.box, track.box);
        if (overlap < IOU) continue;
        const row_ = together.get(object.id) ?? new Map<number, number>();
        together.set(object.id, row_.set(track.id, (row_.get(track.id) ?? 0) + 1));
        // What went on from the frame before goes first.
        values[row * tracks.length + column] = -overlap - (lastTrack.get(object.id) === track.id ? 10 : 0);
      }
    }
    const columns = assigner.solve({ rows: objects.length, columns: tracks.length, values }, 1);
    for (const [row, { id }] of objects.entries()) {
      const track = tracks[columns[row]!];
      if (track === undefined) continue;
      matches++;
      if (lastTrack.has(id) && lastTrack.get(id) !== track.id) switches++;
      lastTrack.set(id, track.id);
    }
  }
  const [misses, falseAlarms] = [objectCount - matches, trackCount - matches];
  return {
    objects: objectCount,
    misses,
    falseAlarms,
    switches,
    mota: 1 - (misses + falseAlarms + switches) / objectCount,
    idf1: (2 * identityMatches(together, [...ids])) / (objectCount + trackCount),
    ids: ids.size,
  };
}

/** Most frames in which objects and tracks agree, each object with at most one track over the whole time. */
function identityMatches(
  together: ReadonlyMap<number, ReadonlyMap<number, number>>,
  ids: readonly number[],
): number {
  const rows = [...together.values()];
  const values = new Float64Array(rows.length * ids.length);
  for (const [row, counts] of rows.entries()) {
    for (const [column, id] of ids.entries()) values[row * ids.length + column] = -(counts.get(id) ?? 0);
  }
  const columns = createAssigner().solve({ rows: rows.length, columns: ids.length, values }, 0);
  return rows.reduce((sum, counts, row) => sum + (counts.get(ids[columns[row]!] ?? -1) ?? 0), 0);
}
