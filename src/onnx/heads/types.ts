// What a detector with our head consists of: a frozen part, a trainable part, and the tail that decodes.
import type { Level, PreprocessContract, Size } from '#core';
import type { ModelProto } from '../proto/onnx_pb.ts';

/**
 * How the raw box channels of one location are read. Cells: (column, row) of the location, stride s in input px.
 * Channel order within a location is as listed.
 */
export type BoxCode =
  /** 4 · bins logits `[side l t r b][bin]`: distance = s · Σ i·softmax_i, from the centre ((column + .5)·s, (row + .5)·s). */
  | { readonly kind: 'dfl'; readonly bins: number }
  /** 4 distances l t r b in cells from the cell centre (YOLO26, reg_max 1). */
  | { readonly kind: 'distance' }
  /** dx dy log w log h: centre = (column + dx, row + dy)·s, size = exp(·)·s (YOLOX). */
  | { readonly kind: 'yolox' }
  /** σ: centre = (2σ(dx) − .5 + column, …)·s, size = (2σ(·))² · anchor px (YOLOv5); `sizes[level][location]` = [w, h]. */
  | { readonly kind: 'anchors'; readonly sizes: readonly (readonly (readonly [number, number])[])[] };

/** Raw outputs of one level. A map `[N, locations · channels, rows, columns]`, location-major in its channels. */
export interface HeadLevel extends Level {
  /** `[N, locations · bins, rows, columns]` logits of the quality's law. */
  readonly quality: string;
  /** `[N, locations · C, rows, columns]` logits; absent at one class. */
  readonly classes?: string;
  /** `[N, locations · box channels, rows, columns]`. */
  readonly box: string;
}

/** Everything that a criterion, a decoder or a reader of the file needs to know of a head of ours. */
export interface HeadSpec {
  readonly input: Size;
  readonly classNames: readonly string[];
  /** Bins of the quality's law, anchors i / (bins − 1). */
  readonly bins: number;
  /** How class logits become probabilities. */
  readonly classLaw: 'softmax' | 'sigmoid';
  readonly boxCode: BoxCode;
  /** Anchors per cell: 1, or 3 on YOLOv5 hosts. */
  readonly locations: number;
  readonly levels: readonly HeadLevel[];
  /** Width of the adapter; 0 is a linear head. */
  readonly adapter: number;
  /** Probability that a channel before the prediction layers is dropped in training; 0 without dropout. */
  readonly dropout: number;
  readonly preprocess: PreprocessContract;
}

export type FreezeLevel = 'towers' | 'neck' | 'backbone' | 'none';

/** A trainable initializer: `weight` alone is decayed; `scale` and `shift` belong to batch normalisation. */
export interface HeadParameter {
  readonly name: string;
  readonly shape: readonly number[];
  readonly role: 'weight' | 'bias' | 'scale' | 'shift';
}

/** Running statistics of one BatchNormalization node: names of its two initializers, each float32[C]. */
export interface NormalizationStatistics {
  readonly mean: string;
  readonly variance: string;
}

/** The part of a detector that is differentiated, cut at the freeze boundary. */
export interface TrainablePart {
  /**
   * Ordinary ONNX: boundary tensors (and dropout masks) in, raw outputs of the head out. Every shape is static but for
   * the first axis `N` of inputs and outputs. Batch normalisation stands in it as BatchNormalization nodes.
   */
  readonly model: ModelProto;
  /** Inputs with their shapes, without the axis N. A `mask` is a constant to the gradient; all ones in evaluation. */
  readonly inputs: readonly {
    readonly name: string;
    readonly shape: readonly number[];
    readonly kind: 'features' | 'mask';
  }[];
  /** Raw outputs, without the axis N. */
  readonly outputs: readonly { readonly name: string; readonly shape: readonly number[] }[];
  /** Initializers that train; all other initializers are constants. */
  readonly parameters: readonly HeadParameter[];
  readonly normalizations: readonly NormalizationStatistics[];
}

/** Tensors that the freeze levels cut at. A level that the graph does not show is absent; `none` is the picture. */
export interface HeadCuts {
  readonly towers: readonly string[];
  readonly neck?: readonly string[];
  readonly backbone?: readonly string[];
  /** Ends of the towers of every level, one name twice where there is a single tower. */
  readonly levels: readonly { readonly classTower: string; readonly boxTower: string }[];
}

/** A detector cut for training. */
export interface HeadedModel {
  readonly spec: HeadSpec;
  readonly freeze: FreezeLevel;
  /** Picture in, boundary tensors out; absent where the boundary is the picture itself. */
  readonly frozen?: ModelProto;
  /** Name of the picture input. */
  readonly pictureInput: string;
  /** Where this detector can be cut, by freeze level; kept in the metadata so that a trained model can be cut again. */
  readonly cuts: HeadCuts;
  /** Version of the operator set that both parts are written in. */
  readonly opset: number;
  readonly trainable: TrainablePart;
  /** Where the weights come from, for the metadata: file name, sha256, licence as the file states it. */
  readonly host?: {
    readonly name: string;
    readonly sha256: string;
    readonly license?: string;
    readonly family: string;
  };
  /** What the user must be told: dequantised, class branch left out, … */
  readonly notes: readonly string[];
}

/** Values for the initializers of the trainable part (parameters and running statistics), by name. */
export type PartValues = ReadonlyMap<string, Float32Array>;
