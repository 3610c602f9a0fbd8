// One picture on its way from a source to the network and to the sinks.
import type { Letterbox } from '#core';

/** One picture on its way: scaled for the network, whole where it was asked for. */
export interface Frame {
  /** Name of the stream, or path of the picture, with credentials removed. */
  readonly source: string;
  /** 0-based place in the source; dropped frames of a live source are counted, so numbers may jump. */
  readonly index: number;
  /** Presentation time in seconds of the stream; absent for still pictures. */
  readonly ptsSeconds?: number;
  /** Arrival of a live frame, ms since 1970. */
  readonly capturedAtMs?: number;
  /** Of a live source: which connection gave it, from 0. After a break the picture may show something else. */
  readonly connection?: number;
  /** Maps between this frame and the network's input; `letterbox.frame` is the size as displayed (turned). */
  readonly letterbox: Letterbox;
  /** rgb24 [content.height, content.width, 3] of the scaled picture without padding. Valid until `release()`. */
  readonly content: Uint8Array;
  /** The whole frame for painting, where it was asked for. Valid until `release()`. */
  readonly full?: FullFrame;
  /** Gives the bytes back to the source. Must be called once; the bytes may be overwritten afterwards. */
  release(): void;
}

/** A whole frame. yuv420p is planar: Y [height, width], then U and V [height / 2, width / 2]; rgb24 is [height, width, 3]. */
export interface FullFrame {
  /** `yuv420p` for video (even width and height), `rgb24` for pictures. */
  readonly format: 'yuv420p' | 'rgb24';
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}
