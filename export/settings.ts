// What is asked of an export, and what stands where nothing is said.
import type { HeadKind, Size } from '#core';
import type { FrameChoice } from './frames.ts';
import type { GateFloors, Precision } from './gate/floors.ts';
import type { GatePictures } from './gate/gate-predictions.ts';
import type { Placement } from './precision/quantise.ts';
import type { CalibrationMethod } from './precision/ranges.ts';
import type { WeightBits } from './precision/scales.ts';

export const EXPORT_FORMATS = ['onnx', 'deepstream', 'engine'] as const;

export type ExportFormat = (typeof EXPORT_FORMATS)[number];

export interface QuantiseSettings {
  readonly placement: Placement;
  /** Of the ranges; `auto` looks at the network. */
  readonly method: CalibrationMethod | 'auto';
  readonly weightBits: WeightBits;
}

export interface ExportSettings {
  readonly format: ExportFormat;
  readonly precision: Precision;
  /** Boxes and scores are decoded inside the graph. Models of ours always are. */
  readonly decode: boolean;
  /** Decoded models carry the variance of their box sides: `auto` where they have a distribution over them. */
  readonly boxVariance: boolean | 'auto';
  /** The input is the picture's bytes, [1, H, W, 3]; normalisation happens in the graph. */
  readonly uint8: boolean;
  /** Rows that leave the graph, the best ones. Default: all. */
  readonly topAnchors?: number;
  /** Pictures per run, where the model has one or leaves it free. The gate judges it picture by picture. */
  readonly batch?: number;
  readonly opset: number;
  /** Of the head, where `model` carries another one than `reference`: for the name of the file. */
  readonly head?: string;
  /** With `precision: 'int8'`. */
  readonly quantise?: QuantiseSettings;
}

export interface ExportRequest {
  /** ONNX file. */
  readonly model: string;
  /** What the gate holds the export against, where that is not `model` itself: a head that was distilled from it. */
  readonly reference?: string;
  readonly settings: ExportSettings;
  /**
   * Class logits are scaled in the graph, box by box (`withSals`): to the ranges that training stored, or to those of the
   * class layer of the file before adaptation. Not together with `reference`.
   */
  readonly sals?: 'ceilings' | { readonly before: string };
  /** Where the file goes. Default: beside the model, its name with the precision and head. */
  readonly out?: string;
  readonly imageSize?: Size;
  readonly layout?: HeadKind;
  /** In the words of `preprocess=`. */
  readonly preprocess?: string;
  readonly classNames?: readonly string[];
  readonly pictures: GatePictures;
  /** What ranges are measured on, for float16 and int8: best what the gate does not see. Default: frames of the gate. */
  readonly calibration?: FrameChoice;
  /** In place of those of the precision. */
  readonly floors?: Partial<GateFloors>;
  /** Write the file even where it falls below a floor; the manifest says so. */
  readonly force?: boolean;
  readonly threads?: number;
  /** Builder of engines. Default: on the path, or where JetPack puts it. */
  readonly trtexec?: string;
}
