// Heads that give an output, or several, for every feature level, and fixed sets of outputs.
import type { GflLayout, Level, RawDflLayout } from '#core';
import type { HeadFacts, HeadOutput, Recogniser } from './facts.ts';
import { levelOfCount, levelOfMap } from './facts.ts';
import { computedBy } from './tail.ts';

/** YuNet: cls, obj, bbox (and kps) for every stride. */
export const recogniseYunet: Recogniser = (facts) => {
  const groups = groupBy(facts.rows, ({ dims }) => dims[0] ?? 0);
  const levels = [...groups].flatMap(([cells, outputs]) => {
    const level = levelOfCount(facts, cells);
    const single = outputs.filter(({ dims }) => dims[1] === 1);
    const bbox = outputs.find(({ dims }) => dims[1] === 4);
    const [first, second] = single;
    if (!level || single.length !== 2 || !first || !second || !bbox) return [];
    // Class and objectness are multiplied: where names do not tell them, their order does not matter.
    const [cls, obj] = /obj/i.test(first.name) ? [second, first] : [first, second];
    return [{ ...level, cls: cls.name, obj: obj.name, bbox: bbox.name }];
  });
  if (levels.length < 2 || levels.length !== groups.size) return [];
  return [
    {
      layout: { kind: 'yunet', classCount: 1, levels: byStride(levels) },
      evidence: [`class, objectness and box outputs for strides ${strides(levels)}`],
    },
  ];
};

/** NanoDet, PicoDet: class scores `[1, A, C]` and distributions `[1, A, 4 * bins]` for every level. */
export const recogniseGfl: Recogniser = (facts) => {
  const groups = groupBy(facts.rows, ({ dims }) => dims[0] ?? 0);
  if (facts.rows.length < 4 || [...groups.values()].some((group) => group.length !== 2)) return [];
  const widths = [...new Set(facts.rows.map(({ dims }) => dims[1] ?? 0))];
  const classCount = gflClassCount(facts, widths);
  if (classCount === undefined) return [];
  const bins = ((widths.find((width) => width !== classCount) ?? classCount) as number) / 4;
  if (!Number.isInteger(bins) || bins < 4) return [];
  const levels: GflLayout['levels'][number][] = [];
  for (const [cells, outputs] of groups) {
    const level = levelOfCount(facts, cells);
    const scores = outputs.find((output) => isScores(facts, output, classCount, widths.length === 1));
    const distances = outputs.find((output) => output !== scores);
    if (!level || !scores || !distances) return [];
    levels.push({ ...level, scores: scores.name, distances: distances.name, firstRow: 0 });
  }
  const ordered = byStride(levels);
  const probabilities = computedBy(facts.view, ordered[0]?.scores ?? '') === 'Sigmoid';
  return [
    {
      layout: {
        kind: 'gfl',
        classCount,
        bins,
        levels: ordered,
        cellOffset: 0.5,
        scoresAre: probabilities ? 'probabilities' : 'logits',
      },
      evidence: [
        `a pair of outputs for strides ${strides(levels)}: ${classCount} classes, and 4 sides of ${bins} bins`,
      ],
    },
  ];
};

function gflClassCount(facts: HeadFacts, widths: readonly number[]): number | undefined {
  if (widths.length > 2) return undefined;
  if (facts.classCount !== undefined) return widths.includes(facts.classCount) ? facts.classCount : undefined;
  const scores = facts.rows.find((output) => computedBy(facts.view, output.name) === 'Sigmoid');
  const named = scores ?? facts.rows.find(({ name }) => /cls|score|conf/i.test(name));
  return named?.dims[1];
}

function isScores(facts: HeadFacts, output: HeadOutput, classCount: number, sameWidth: boolean): boolean {
  if (!sameWidth) return output.dims[1] === classCount;
  return computedBy(facts.view, output.name) === 'Sigmoid' || /cls|score|conf/i.test(output.name);
}

/** Maps per level before any decoding: 4 * bins channels and C channels, apart or joined. */
export const recogniseRawDfl: Recogniser = (facts) => {
  const groups = groupBy(facts.maps, ({ dims }) => dims.slice(1).join('x'));
  if (facts.rows.length > 0 || groups.size < 2) return [];
  const found = [...groups.values()].map((maps) => rawDflLevel(facts, maps));
  const levels = found.flatMap((entry) => (entry ? [entry] : []));
  const [first] = levels;
  const uniform = levels.every(
    ({ bins, classCount }) => bins === first?.bins && classCount === first.classCount,
  );
  if (!first || levels.length !== groups.size || !uniform) return [];
  const { bins, classCount } = first;
  const probabilities =
    computedBy(facts.view, first.level.scores) === 'Sigmoid' && first.level.firstScoreChannel === 0;
  return [
    {
      layout: {
        kind: 'raw-dfl',
        classCount,
        bins,
        levels: byStride(levels.map(({ level }) => level)),
        scoresAre: probabilities ? 'probabilities' : 'logits',
      },
      evidence: [
        `maps before decoding for strides ${strides(levels.map(({ level }) => level))}: 4 sides of ${bins} bins, ${classCount} classes`,
      ],
    },
  ];
};

interface RawDflFound {
  readonly level: RawDflLayout['levels'][number];
  readonly bins: number;
  readonly classCount: number;
}

/** Ultralytics' reg_max, which nearly all heads of this kind have. */
const USUAL_BINS = 16;

function rawDflLevel(facts: HeadFacts, maps: readonly HeadOutput[]): RawDflFound | undefined {
  const [map] = maps;
  const [, rows = 0, columns = 0] = map?.dims ?? [];
  const level = levelOfMap(facts, rows, columns);
  if (!map || !level || maps.length > 2) return undefined;
  if (maps.length === 1) return joinedRawDfl(facts, map, level);
  const isDistances = ({ dims: [channels = 0] }: HeadOutput) =>
    facts.classCount === undefined ? channels === 4 * USUAL_BINS : channels !== facts.classCount;
  const distances = maps.find(isDistances);
  const scores = maps.find((output) => output !== distances);
  const bins = (distances?.dims[0] ?? 0) / 4;
  if (!distances || !scores || !Number.isInteger(bins) || bins < 4) return undefined;
  const classCount = scores.dims[0] ?? 0;
  return {
    level: { ...level, distances: distances.name, scores: scores.name, firstScoreChannel: 0 },
    bins,
    classCount,
  };
}

function joinedRawDfl(facts: HeadFacts, map: HeadOutput, level: Level): RawDflFound | undefined {
  const [channels = 0] = map.dims;
  const classCount = facts.classCount ?? channels - 4 * USUAL_BINS;
  const bins = (channels - classCount) / 4;
  // Three anchors of 5 + C values fit as well: that is a YOLOv5 map, unless the class count says otherwise.
  const couldBeAnchors = facts.classCount === undefined && channels === 3 * (5 + 80);
  if (classCount < 1 || !Number.isInteger(bins) || bins < 4 || couldBeAnchors) return undefined;
  return {
    level: { ...level, distances: map.name, scores: map.name, firstScoreChannel: 4 * bins },
    bins,
    classCount,
  };
}

/** FastestDet: one map of objectness, box and class softmax at a single stride. */
export const recogniseFastestDet: Recogniser = (facts) => {
  const [map] = facts.maps;
  if (!map || facts.outputs.length !== 1) return [];
  const [channels = 0, rows = 0, columns = 0] = map.dims;
  const level = levelOfMap(facts, rows, columns);
  const classCount = channels - 5;
  const { operators } = facts.tail(map.name);
  const shown = operators.has('Softmax') && operators.has('Sigmoid');
  if (!level || classCount < 1 || (facts.forced !== 'fastestdet' && !shown)) return [];
  if (facts.classCount !== undefined && facts.classCount !== classCount) return [];
  return [
    {
      layout: { kind: 'fastestdet', output: map.name, classCount, level },
      evidence: [
        `one map at stride ${level.stride}: objectness (Sigmoid), box 4, ${classCount} classes (Softmax)`,
      ],
    },
  ];
};

function groupBy<K>(outputs: readonly HeadOutput[], key: (output: HeadOutput) => K): Map<K, HeadOutput[]> {
  const groups = new Map<K, HeadOutput[]>();
  for (const output of outputs) {
    const group = groups.get(key(output));
    if (group) group.push(output);
    else groups.set(key(output), [output]);
  }
  return groups;
}

function byStride<T extends Level>(levels: readonly T[]): T[] {
  return levels.toSorted((a, b) => a.stride - b.stride);
}

function strides(levels: readonly Level[]): string {
  return byStride(levels)
    .map(({ stride }) => stride)
    .join(', ');
}
