// The shapes in which detectors hand over their boxes, as a union by `kind`.
// Which one a graph has is found in src/onnx/head-finder; how it is read is in decode.

/** Anchor points of one feature level. */
export interface Level {
  /** Input px per cell. */
  readonly stride: number;
  readonly columns: number;
  readonly rows: number;
}

interface LayoutBase {
  readonly classCount: number;
}

/** One output `[1, A, 5 + C]`: cx cy w h in input px, objectness, class probabilities (YOLOv5, v7, decoded YOLOX, YOLOv6). */
export interface YoloV5Layout extends LayoutBase {
  readonly kind: 'yolov5';
  readonly output: string;
  readonly anchorCount: number;
  /** Values per anchor; more than 5 + C where masks or keypoints follow. */
  readonly stride: number;
}

/**
 * One output `[1, 4 + C + extra, A]` (or `[1, A, 4 + C + extra]` when transposed): cx cy w h in input px, class
 * probabilities, then mask coefficients or keypoints, which are not read (YOLOv8, 9, 11, 12).
 */
export interface YoloV8Layout extends LayoutBase {
  readonly kind: 'yolov8';
  readonly output: string;
  readonly anchorCount: number;
  readonly channels: number;
  readonly transposed: boolean;
  /** Softmax over the bins of the box sides, tapped from the graph: probabilities, where the host has them. */
  readonly boxDistribution?: BoxDistributionTap;
}

/** Where the distribution over box sides can be read, per anchor and side. */
export interface BoxDistributionTap {
  readonly output: string;
  readonly bins: number;
  /** Memory order of the tap. */
  readonly order: 'bins-sides-anchors' | 'anchors-sides-bins' | 'sides-bins-anchors' | 'sides-anchors-bins';
  /** Whether the values are logits (softmax still to do) or probabilities. */
  readonly values: 'logits' | 'probabilities';
  readonly levels: readonly Level[];
}

/** One output `[1, K, 6]`: x1 y1 x2 y2 in input px, score, class. */
export interface EndToEndLayout extends LayoutBase {
  readonly kind: 'end-to-end';
  readonly output: string;
  readonly rowCount: number;
  /** Values per row; more than 6 where masks or keypoints follow. */
  readonly stride: number;
  /** False where the rows are one per anchor and still have to be suppressed (DeepStream form). */
  readonly suppressed: boolean;
  /** A second output `[1, K, 5]`: variance of the score, variances of the four sides in px². Not every column is known. */
  readonly uncertainty?: { readonly output: string; readonly score: boolean; readonly box: boolean };
}

/** Four outputs of an in-graph NMS plugin: number of detections, boxes, scores, classes. */
export interface NmsOutputsLayout extends LayoutBase {
  readonly kind: 'nms-outputs';
  readonly count: string;
  readonly boxes: string;
  readonly scores: string;
  readonly classes: string;
}

/** One output `[1, A, 5 + C]` of grid offsets: cx cy in cells relative to the cell, log w, log h, objectness, classes (YOLOX). */
export interface YoloxLayout extends LayoutBase {
  readonly kind: 'yolox';
  readonly output: string;
  readonly levels: readonly Level[];
}

/** Class scores and box-side distributions, per level or joined (NanoDet, NanoDet-Plus, PicoDet). */
export interface GflLayout extends LayoutBase {
  readonly kind: 'gfl';
  readonly bins: number;
  readonly levels: readonly GflLevel[];
  /** Cell centre is `(x + offset) * stride`. */
  readonly cellOffset: number;
  readonly scoresAre: 'probabilities' | 'logits';
}

export interface GflLevel extends Level {
  /** `[1, A_level, C]`, or `[1, A, C + 4 * bins]` when `distances` names the same output. */
  readonly scores: string;
  readonly distances: string;
  /** First row of this level inside its outputs, 0 where the level has its own. */
  readonly firstRow: number;
}

/** Feature maps per level before any decoding: `[1, 4 * bins, H, W]` and `[1, C, H, W]`, or both in one map. */
export interface RawDflLayout extends LayoutBase {
  readonly kind: 'raw-dfl';
  readonly bins: number;
  readonly levels: readonly RawDflLevel[];
  readonly scoresAre: 'probabilities' | 'logits';
}

export interface RawDflLevel extends Level {
  readonly distances: string;
  readonly scores: string;
  /** First channel of the scores inside their output. */
  readonly firstScoreChannel: number;
}

/**
 * One map `[1, 5 + C, H, W]`: objectness, dx dy before tanh, w h before sigmoid, class probabilities (FastestDet).
 */
export interface FastestDetLayout extends LayoutBase {
  readonly kind: 'fastestdet';
  readonly output: string;
  readonly level: Level;
}

/**
 * `boxes[1, A, 4]` corners and `scores[1, A, C (+ 1)]` (SSD, UltraFace, YOLO-NAS), and what every detector becomes when
 * its decoding is exported into the graph.
 */
export interface CornersLayout extends LayoutBase {
  readonly kind: 'corners';
  readonly boxes: string;
  readonly scores: string;
  readonly anchorCount: number;
  /** Whether corners are in [0, 1] of the input or in input px. */
  readonly normalized: boolean;
  /** Whether class 0 of the scores is the background. */
  readonly background: boolean;
  /** `[1, A, 4]` px² of the input, sides left, top, right, bottom. */
  readonly boxVar?: string;
}

/** Twelve outputs cls, obj, bbox, kps for strides 8, 16, 32 (YuNet). */
export interface YunetLayout extends LayoutBase {
  readonly kind: 'yunet';
  readonly levels: readonly (Level & {
    readonly cls: string;
    readonly obj: string;
    readonly bbox: string;
  })[];
}

/** Our own wire format: boxes, class probabilities, the law of the quality. */
export interface EdgeDetectLayout extends LayoutBase {
  readonly kind: 'edge-detect';
  readonly anchorCount: number;
  /** `[1, A, 4]` corners in input px. */
  readonly boxes: string;
  /** `[1, A, C]`; absent at one class. */
  readonly classProbs?: string;
  /** `[1, A, 2]`: expectation and variance of the quality. */
  readonly quality: string;
  readonly qualityBins?: { readonly output: string; readonly bins: number };
  /** `[1, A, 5]`: weight, two means, two variances. */
  readonly qualityMixture?: string;
  /** `[1, A, 4]` px² of the input. */
  readonly boxVar?: string;
  /** `[1, A, 1]`. */
  readonly qualityEpistemic?: string;
}

export type HeadLayout =
  | YoloV5Layout
  | YoloV8Layout
  | EndToEndLayout
  | NmsOutputsLayout
  | YoloxLayout
  | GflLayout
  | RawDflLayout
  | FastestDetLayout
  | CornersLayout
  | YunetLayout
  | EdgeDetectLayout;

export type HeadKind = HeadLayout['kind'];

/** Every kind, as `layout=` names it. */
export const HEAD_KINDS = Object.keys({
  yolov5: true,
  yolov8: true,
  'end-to-end': true,
  'nms-outputs': true,
  yolox: true,
  gfl: true,
  'raw-dfl': true,
  fastestdet: true,
  corners: true,
  yunet: true,
  'edge-detect': true,
} satisfies Record<HeadKind, true>) as readonly HeadKind[];
