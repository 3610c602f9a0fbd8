// What a network from scratch is written with: convolutions with batch normalisation and SiLU, and the blocks made of
// them. Every layer draws its first weights from a generator of its own, so that one layer more changes no other.
import { createRandom, deriveSeed } from '#core';
import { floats, ints, node, tensor } from '../builder.ts';
import type { NodeProto, TensorProto } from '../proto/onnx_pb.ts';

/** A feature map under its name in the graph. */
export interface FeatureTensor {
  readonly name: string;
  readonly channels: number;
}

export interface ConvolutionShape {
  readonly channels: number;
  readonly kernel?: number;
  readonly stride?: number;
  /** One kernel per channel. */
  readonly depthwise?: boolean;
}

/** As networks of this kind use it: running variances of a small network can be tiny. */
const EPSILON = 1e-3;

export class NetworkBuilder {
  readonly nodes: NodeProto[] = [];
  readonly initializers: TensorProto[] = [];
  readonly #seed: number;
  #layers = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** Convolution without bias → BatchNormalization → SiLU; first weights normal after He et al. (2015). */
  convolution(name: string, input: FeatureTensor, shape: ConvolutionShape): FeatureTensor {
    const { channels, kernel = 1, stride = 1, depthwise = false } = shape;
    const inputs = depthwise ? 1 : input.channels;
    const dims = [channels, inputs, kernel, kernel];
    const random = createRandom(deriveSeed(this.#seed, 1000 + this.#layers++));
    const spread = Math.sqrt(2 / (inputs * kernel * kernel));
    const count = dims.reduce((product, dim) => product * dim, 1);
    const weight = Float32Array.from({ length: count }, () => spread * random.normal());
    const pad = BigInt((kernel - 1) / 2);
    this.initializers.push(tensor(`${name}.weight`, dims, weight));
    this.#perChannel(name, channels, { scale: 1, shift: 0, mean: 0, variance: 1 });
    this.nodes.push(
      node('Conv', [input.name, `${name}.weight`], [`${name}.raw`], {
        kernel_shape: [BigInt(kernel), BigInt(kernel)],
        pads: [pad, pad, pad, pad],
        strides: [BigInt(stride), BigInt(stride)],
        group: BigInt(depthwise ? channels : 1),
      }),
      node(
        'BatchNormalization',
        [`${name}.raw`, `${name}.scale`, `${name}.shift`, `${name}.mean`, `${name}.variance`],
        [`${name}.normal`],
        { epsilon: EPSILON },
      ),
      node('Sigmoid', [`${name}.normal`], [`${name}.gate`]),
      node('Mul', [`${name}.normal`, `${name}.gate`], [name]),
    );
    return { name, channels };
  }

  #perChannel(name: string, channels: number, values: Readonly<Record<string, number>>): void {
    for (const [part, value] of Object.entries(values)) {
      this.initializers.push(tensor(`${name}.${part}`, [channels], new Float32Array(channels).fill(value)));
    }
  }

  /** Depthwise 3x3, then 1x1. */
  separable(name: string, input: FeatureTensor, channels: number, stride = 1): FeatureTensor {
    const spatial = { channels: input.channels, kernel: 3, stride, depthwise: true };
    const apart = this.convolution(`${name}.depthwise`, input, spatial);
    return this.convolution(`${name}.pointwise`, apart, { channels });
  }

  concat(name: string, parts: readonly FeatureTensor[]): FeatureTensor {
    this.nodes.push(
      node(
        'Concat',
        parts.map((part) => part.name),
        [name],
        { axis: 1n },
      ),
    );
    return { name, channels: parts.reduce((sum, { channels }) => sum + channels, 0) };
  }

  /**
   * Cross-stage partial block (Wang et al., 2020): half of the channels passes by, the other goes through `depth`
   * residual pairs of 3x3 convolutions, and every intermediate map is joined.
   */
  partial(
    name: string,
    input: FeatureTensor,
    channels: number,
    depth: number,
    depthwise = false,
  ): FeatureTensor {
    const half = channels / 2;
    const entry = this.convolution(`${name}.entry`, input, { channels });
    const parts = [0, 1].map((part) => ({ name: `${name}.half.${part}`, channels: half }));
    this.initializers.push(ints(`${name}.halves`, [half, half]));
    const names = parts.map((part) => part.name);
    this.nodes.push(node('Split', [entry.name, `${name}.halves`], names, { axis: 1n }));
    let last = parts[1] ?? entry;
    for (let index = 0; index < depth; index++) {
      last = this.#residual(`${name}.${index}`, last, depthwise);
      parts.push(last);
    }
    return this.convolution(`${name}.exit`, this.concat(`${name}.joined`, parts), { channels });
  }

  #residual(name: string, input: FeatureTensor, depthwise: boolean): FeatureTensor {
    const { channels } = input;
    const inner = depthwise
      ? this.separable(`${name}.separable`, input, channels)
      : this.convolution(
          `${name}.second`,
          this.convolution(`${name}.first`, input, { channels, kernel: 3 }),
          { channels, kernel: 3 },
        );
    this.nodes.push(node('Add', [input.name, inner.name], [name]));
    return { name, channels };
  }

  /** Spatial pyramid pooling by three poolings in a row (as YOLOv5 and later have it). */
  pyramid(name: string, input: FeatureTensor): FeatureTensor {
    const reduced = this.convolution(`${name}.entry`, input, { channels: input.channels / 2 });
    const parts = [reduced];
    for (let index = 0; index < 3; index++) {
      const pooled = { ...reduced, name: `${name}.pooled.${index}` };
      const size = { kernel_shape: [5n, 5n], pads: [2n, 2n, 2n, 2n], strides: [1n, 1n] };
      this.nodes.push(node('MaxPool', [parts.at(-1)?.name ?? ''], [pooled.name], size));
      parts.push(pooled);
    }
    return this.convolution(`${name}.exit`, this.concat(`${name}.joined`, parts), {
      channels: input.channels,
    });
  }

  /** Twice the size by repetition. */
  enlarge(name: string, input: FeatureTensor): FeatureTensor {
    this.initializers.push(floats(`${name}.scales`, [4], [1, 1, 2, 2]));
    this.nodes.push(
      node('Resize', [input.name, '', `${name}.scales`], [name], {
        mode: 'nearest',
        coordinate_transformation_mode: 'asymmetric',
        nearest_mode: 'floor',
      }),
    );
    return { name, channels: input.channels };
  }
}
