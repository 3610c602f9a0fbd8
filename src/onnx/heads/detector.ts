// Small detectors from scratch: a graph with random weights whose freeze boundary is the picture.
import type { PreprocessContract, Size } from '#core';
import { ConfigError, levelsFor } from '#core';
import { graph, model as makeModel, OWN_OPSET, valueInfo } from '../builder.ts';
import { CONTRACTS } from '../contracts.ts';
import { viewGraph } from '../graph.ts';
import type { ModelProto } from '../proto/onnx_pb.ts';
import { ElementType } from '../tensor.ts';
import { findCuts } from './cuts.ts';
import { featureShapes } from './feature-shapes.ts';
import type { HostLevel } from './host-head.ts';
import type { FeatureTensor } from './network-builder.ts';
import { NetworkBuilder } from './network-builder.ts';
import { putHead } from './put-head.ts';
import type { HeadedModel, HeadSpec } from './types.ts';

export type DetectorSize = 'n' | 's';

export interface DetectorOptions {
  /** `n`: about 0.5 M parameters, `s`: about 0.8 M. */
  readonly size: DetectorSize;
  /** Both sides multiples of 32 px. */
  readonly input: Size;
  readonly classNames: readonly string[];
  /** Default: letterbox, RGB, 0..1. */
  readonly preprocess?: PreprocessContract;
  /** Bins of the quality's law. Default 10. */
  readonly bins?: number;
  /** Bins of each box side. Default 16. */
  readonly boxBins?: number;
  /** Channels of the adapter. Default: as wide as the neck. */
  readonly adapter?: number;
  /** Probability of dropping a channel in training. Default 0. */
  readonly dropout?: number;
  /** Default softmax. */
  readonly classLaw?: HeadSpec['classLaw'];
  readonly seed?: number;
}

interface Widths {
  /** Channels at strides 2, 4, 8, 16, 32. */
  readonly stages: readonly [number, number, number, number, number];
  /** Residual pairs at strides 4, 8, 16, 32. */
  readonly depths: readonly [number, number, number, number];
  readonly neck: number;
}

const SIZES: Readonly<Record<DetectorSize, Widths>> = {
  n: { stages: [16, 24, 48, 80, 128], depths: [1, 2, 2, 1], neck: 48 },
  s: { stages: [16, 32, 64, 96, 160], depths: [1, 2, 2, 1], neck: 64 },
};

const PICTURE = 'images';
const STRIDES = [8, 16, 32];

/** First law of a box side: logits fall by this much per bin, so that boxes start three cells to every side. */
const SIDE_DECAY = 0.25;

/** @throws ConfigError where the sides of the input are no multiples of 32, or a choice is out of range */
export function buildDetector(options: DetectorOptions): HeadedModel {
  const { size, input, classNames, seed = 0, boxBins = 16 } = options;
  if (input.width % 32 !== 0 || input.height % 32 !== 0 || input.width < 32 || input.height < 32) {
    throw new ConfigError(`a detector for ${input.width}x${input.height} px cannot be built`, {
      hint: 'both sides of imgsz must be multiples of 32',
    });
  }
  const { model, towers } = buildTrunk(SIZES[size], input, seed);
  const levels = levelsFor(input, STRIDES).map(
    (level, index): HostLevel => ({
      ...level,
      classTower: towers[index]?.classTower.name ?? '',
      boxTower: towers[index]?.boxTower.name ?? '',
      box: boxLayer(SIZES[size].neck, boxBins),
    }),
  );
  return putHead({
    detector: {
      model,
      picture: PICTURE,
      opset: OWN_OPSET,
      head: {
        family: `edge-${size}`,
        boxCode: { kind: 'dfl', bins: boxBins },
        locations: 1,
        levels,
        shapes: featureShapes(
          model,
          { name: PICTURE, ...input },
          towers.flatMap(({ classTower, boxTower }) => [classTower.name, boxTower.name]),
        ),
        cuts: findCuts(viewGraph(model), levels),
      },
    },
    spec: {
      input,
      classNames,
      bins: options.bins ?? 10,
      classLaw: options.classLaw ?? 'softmax',
      boxCode: { kind: 'dfl', bins: boxBins },
      locations: 1,
      adapter: options.adapter ?? SIZES[size].neck,
      dropout: options.dropout ?? 0,
      preprocess: options.preprocess ?? CONTRACTS.ultralytics,
    },
    freeze: 'none',
    seed,
  });
}

/** Zero weights: every side starts with the same law everywhere. */
function boxLayer(inputs: number, bins: number) {
  const bias = Float32Array.from({ length: 4 * bins }, (_, at) => -SIDE_DECAY * (at % bins));
  return { dims: [4 * bins, inputs, 1, 1], weight: new Float32Array(4 * bins * inputs), bias };
}

interface Towers {
  readonly classTower: FeatureTensor;
  readonly boxTower: FeatureTensor;
}

function buildTrunk(widths: Widths, input: Size, seed: number) {
  const net = new NetworkBuilder(seed);
  const maps = buildNeck(net, widths.neck, buildBackbone(net, widths));
  const towers = maps.map((map, level): Towers => {
    const tower = (kind: string) =>
      net.separable(
        `tower.${level}.${kind}.1`,
        net.separable(`tower.${level}.${kind}.0`, map, widths.neck),
        widths.neck,
      );
    return { classTower: tower('class'), boxTower: tower('box') };
  });
  const ends = towers.flatMap(({ classTower, boxTower }) => [classTower.name, boxTower.name]);
  const model: ModelProto = makeModel(
    graph({
      name: 'trunk',
      nodes: net.nodes,
      inputs: [valueInfo(PICTURE, ElementType.FLOAT, [1, 3, input.height, input.width])],
      outputs: ends.map((name) => valueInfo(name, ElementType.FLOAT)),
      initializers: net.initializers,
    }),
  );
  return { model, towers };
}

/** Maps at strides 8, 16 and 32. */
function buildBackbone(net: NetworkBuilder, { stages, depths }: Widths): readonly FeatureTensor[] {
  const [first, ...others] = stages;
  let map = net.convolution(
    'backbone.stem',
    { name: PICTURE, channels: 3 },
    { channels: first, kernel: 3, stride: 2 },
  );
  const maps = others.map((channels, index) => {
    const smaller = net.convolution(`backbone.${index}.down`, map, { channels, kernel: 3, stride: 2 });
    map = net.partial(`backbone.${index}`, smaller, channels, depths[index] ?? 1);
    return map;
  });
  return [...maps.slice(1, -1), net.pyramid('backbone.pyramid', map)];
}

/** Path aggregation (Liu et al., 2018) at one width: from coarse to fine, and back. */
function buildNeck(
  net: NetworkBuilder,
  width: number,
  maps: readonly FeatureTensor[],
): readonly FeatureTensor[] {
  const [fine, middle, coarse] = maps.map((map, level) =>
    net.convolution(`neck.lateral.${level}`, map, { channels: width }),
  );
  if (!fine || !middle || !coarse) throw new RangeError('a neck joins three maps');
  const join = (name: string, parts: readonly FeatureTensor[]) =>
    net.partial(name, net.concat(`${name}.inputs`, parts), width, 1, true);
  const down = join('neck.down.1', [net.enlarge('neck.enlarged.2', coarse), middle]);
  const level0 = join('neck.down.0', [net.enlarge('neck.enlarged.1', down), fine]);
  const level1 = join('neck.up.1', [net.separable('neck.reduced.0', level0, width, 2), down]);
  const level2 = join('neck.up.2', [net.separable('neck.reduced.1', level1, width, 2), coarse]);
  return [level0, level1, level2];
}
