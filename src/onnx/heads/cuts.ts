// Where a host can be cut: at the ends of its towers, where its neck hands over to the head, where the backbone hands
// over to the neck.
import type { GraphView } from '../graph.ts';
import type { NodeProto } from '../proto/onnx_pb.ts';

/** Names of the tensors that a freeze level is cut at; a level that the graph does not show is absent. */
export interface CutTable {
  readonly towers: readonly string[];
  readonly neck?: readonly string[];
  readonly backbone?: readonly string[];
}

interface Towers {
  readonly classTower: string;
  readonly boxTower: string;
}

/** @param levels towers of every level, the finest first */
export function findCuts(view: GraphView, levels: readonly Towers[]): CutTable {
  const towers = unique(levels.flatMap(({ classTower, boxTower }) => [classTower, boxTower]));
  const neck = neckTensors(view, levels);
  const backbone = neck && backboneTensors(view, towers, neck);
  return { towers, ...(neck ? { neck } : {}), ...(backbone ? { backbone } : {}) };
}

/**
 * Walking back from a tower, the neck begins with the first map that other levels use as well. The last level of a
 * path-aggregation neck has no such map: it is walked back by as many steps of the same operators as the others.
 */
function neckTensors(view: GraphView, levels: readonly Towers[]): readonly string[] | undefined {
  const feeds = levelsFed(view, levels);
  const paths = (towerOf: (towers: Towers) => string) =>
    levels.map((level, index) => exclusivePath(view, feeds, towerOf(level), index));
  const shortest = (all: readonly (readonly NodeProto[])[]) =>
    all.reduce((best, path) => (path.length < best.length ? path : best));
  const classPath = shortest(paths(({ classTower }) => classTower));
  const boxPath = shortest(paths(({ boxTower }) => boxTower));
  const found = levels.map(({ classTower, boxTower }) => {
    const fromClass = replay(view, classTower, classPath);
    return fromClass === replay(view, boxTower, boxPath) ? fromClass : undefined;
  });
  return found.every((name) => name !== undefined) ? unique(found) : undefined;
}

/** For every tensor the levels whose towers depend on it, as bits. */
function levelsFed(view: GraphView, levels: readonly Towers[]): ReadonlyMap<string, number> {
  const feeds = new Map<string, number>();
  const add = (name: string, bits: number) => feeds.set(name, (feeds.get(name) ?? 0) | bits);
  levels.forEach(({ classTower, boxTower }, index) => {
    add(classTower, 1 << index);
    add(boxTower, 1 << index);
  });
  for (const node of view.graph.node.toReversed()) {
    const bits = node.output.reduce((all, name) => all | (feeds.get(name) ?? 0), 0);
    if (bits !== 0) for (const input of node.input) add(input, bits);
  }
  return feeds;
}

/** Nodes from a tower back to the first tensor that more than this level uses. */
function exclusivePath(
  view: GraphView,
  feeds: ReadonlyMap<string, number>,
  tower: string,
  level: number,
): readonly NodeProto[] {
  const path: NodeProto[] = [];
  let name = tower;
  while (feeds.get(name) === 1 << level) {
    const node = view.producer(name);
    if (!node) break;
    path.push(node);
    name = node.input[0] ?? '';
  }
  return path;
}

function replay(view: GraphView, tower: string, path: readonly NodeProto[]): string | undefined {
  let name = tower;
  for (const { opType } of path) {
    const node = view.producer(name);
    if (node?.opType !== opType) return undefined;
    name = node.input[0] ?? '';
  }
  return name;
}

const ENLARGING = new Set(['Resize', 'Upsample', 'ConvTranspose']);

/** The neck is what comes after the first enlargement; the maps that enter it from elsewhere are the backbone's. */
function backboneTensors(
  view: GraphView,
  towers: readonly string[],
  neck: readonly string[],
): readonly string[] | undefined {
  const needed = ancestors(view, towers);
  const enlarged = new Set<string>();
  const entering: string[] = [];
  for (const node of view.graph.node) {
    const behind = ENLARGING.has(node.opType) || node.input.some((name) => enlarged.has(name));
    if (!behind || !needed.has(node)) continue;
    for (const output of node.output) enlarged.add(output);
    entering.push(...node.input.filter((name) => !enlarged.has(name) && isComputed(view, name)));
  }
  if (enlarged.size === 0) return undefined;
  return unique([...entering, ...neck.filter((name) => !enlarged.has(name))]);
}

function isComputed(view: GraphView, name: string): boolean {
  const producer = view.producer(name);
  return producer !== undefined && producer.opType !== 'Constant';
}

function ancestors(view: GraphView, names: readonly string[]): ReadonlySet<NodeProto> {
  const found = new Set<NodeProto>();
  const open = [...names];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const node = view.producer(name);
    if (!node || found.has(node)) continue;
    found.add(node);
    open.push(...node.input);
  }
  return found;
}

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}
