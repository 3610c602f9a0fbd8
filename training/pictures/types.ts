// Training pictures after augmentation: what a batch is made of.

/** Objects of one training picture in input px, struct of arrays. */
export interface PictureTargets {
  /** Float32[G * 4], x1 y1 x2 y2 in input px. */
  readonly boxes: Float32Array;
  readonly classIds: Int32Array;
  /** Float32[I * 4]: crowd and difficult regions. */
  readonly ignoreBoxes: Float32Array;
}

/** A picture on the network's canvas, before mean and std. */
export interface Canvas {
  /** Uint8[height * width * 3], RGB. */
  readonly pixels: Uint8Array;
  readonly width: number;
  readonly height: number;
}

export interface TrainingPicture extends Canvas {
  readonly targets: PictureTargets;
}
