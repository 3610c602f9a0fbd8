// The wire format worked out in float64 from raw maps, as the contract of the head states it: an independent reading of
// what the decode tail does as a graph.
import type { HeadSpec } from '#onnx';

type Maps = ReadonlyMap<string, { readonly data: Float32Array; readonly shape: readonly number[] }>;

function softmax(logits: readonly number[]): number[] {
  const peak = Math.max(...logits);
  const weights = logits.map((logit) => Math.exp(logit - peak));
  const total = weights.reduce((a, b) => a + b, 0);
  return weights.map((weight) => weight / total);
}

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
const dot = (a: readonly number[], b: readonly number[]) =>
  a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);

function moments(law: readonly number[], places: readonly number[]): [number, number] {
  const mean = dot(law, places);
  return [
    mean,
    dot(
      law,
      places.map((place) => (place - mean) ** 2),
    ),
  ];
}

/** Maps of one picture; anchors go level by level, inside a level location by location, row by row. */
export function wireFromRaw(spec: HeadSpec, raw: Maps): Map<string, number[]> {
  const wire = new Map<string, number[]>(
    ['boxes', 'quality', 'quality_bins'].map((name): [string, number[]] => [name, []]),
  );
  if (spec.classNames.length > 1) wire.set('class_probs', []);
  if (spec.boxCode.kind === 'dfl') wire.set('box_var', []);
  const places = Array.from({ length: spec.bins }, (_, bin) => bin / (spec.bins - 1));
  spec.levels.forEach((level, levelIndex) => {
    const cells = level.columns * level.rows;
    for (let location = 0; location < spec.locations; location++) {
      for (let cell = 0; cell < cells; cell++) {
        const at = (name: string, channels: number) =>
          Array.from(
            { length: channels },
            (_, channel) => raw.get(name)!.data[(location * channels + channel) * cells + cell]!,
          );
        const law = softmax(at(level.quality, spec.bins));
        wire.get('quality')!.push(...moments(law, places));
        wire.get('quality_bins')!.push(...law);
        if (level.classes) {
          const logits = at(level.classes, spec.classNames.length);
          wire
            .get('class_probs')!
            .push(...(spec.classLaw === 'softmax' ? softmax(logits) : logits.map(sigmoid)));
        }
        const x = cell % level.columns;
        const y = Math.floor(cell / level.columns);
        readBox(
          spec,
          { x, y, s: level.stride, level: levelIndex, location },
          (channels) => at(level.box, channels),
          wire,
        );
      }
    }
  });
  return wire;
}

function readBox(
  { boxCode }: HeadSpec,
  { x, y, s, level, location }: { x: number; y: number; s: number; level: number; location: number },
  values: (channels: number) => number[],
  wire: Map<string, number[]>,
): void {
  const boxes = wire.get('boxes')!;
  const corners = (cx: number, cy: number, w: number, h: number) =>
    boxes.push(cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2);
  const sides = ([l = 0, t = 0, r = 0, b = 0]: readonly number[]) =>
    boxes.push((x + 0.5 - l) * s, (y + 0.5 - t) * s, (x + 0.5 + r) * s, (y + 0.5 + b) * s);
  switch (boxCode.kind) {
    case 'dfl': {
      const { bins } = boxCode;
      const logits = values(4 * bins);
      const places = Array.from({ length: bins }, (_, bin) => bin);
      const laws = [0, 1, 2, 3].map((side) =>
        moments(softmax(logits.slice(side * bins, (side + 1) * bins)), places),
      );
      sides(laws.map(([mean]) => mean));
      wire.get('box_var')!.push(...laws.map(([, variance]) => variance * s * s));
      return;
    }
    case 'distance':
      sides(values(4));
      return;
    case 'yolox': {
      const [dx = 0, dy = 0, w = 0, h = 0] = values(4);
      corners((x + dx) * s, (y + dy) * s, Math.exp(w) * s, Math.exp(h) * s);
      return;
    }
    case 'anchors': {
      const [dx = 0, dy = 0, w = 0, h = 0] = values(4).map(sigmoid);
      const [width, height] = boxCode.sizes[level]![location]!;
      corners((2 * dx - 0.5 + x) * s, (2 * dy - 0.5 + y) * s, (2 * w) ** 2 * width, (2 * h) ** 2 * height);
      return;
    }
    default:
      boxCode satisfies never;
  }
}
