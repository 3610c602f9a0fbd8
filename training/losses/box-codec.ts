// Raw box channels to corners in input px, and the gradient back, for every way in which hosts write their boxes.
import type { BoxCode } from '#onnx';
import { createDflSides } from './dfl-sides.ts';
import type { BoxCodec, Numbers } from './types.ts';

const PLAIN_CHANNELS = 4;

export function createBoxCodec(code: BoxCode): BoxCodec {
  switch (code.kind) {
    case 'dfl':
      return createDflSides(code.bins);
    case 'distance':
      return distanceCodec();
    case 'yolox':
      return yoloxCodec();
    case 'anchors':
      return anchorCodec(code.sizes);
  }
}

/** Refuses the question for variances that a code without distributions cannot answer. */
function refuseVariances(variances: Numbers | undefined, kind: string): void {
  if (variances) throw new RangeError(`a box written as '${kind}' has no distribution, so no variance`);
}

/** Distances l t r b in cells from the cell's centre. */
function distanceCodec(): BoxCodec {
  return {
    channels: PLAIN_CHANNELS,
    decodeInto({ raw, offset, stride, column, row, cellPx }, target, at, variances) {
      refuseVariances(variances, 'distance');
      target[at] = (column + 0.5 - raw[offset]!) * cellPx;
      target[at + 1] = (row + 0.5 - raw[offset + stride]!) * cellPx;
      target[at + 2] = (column + 0.5 + raw[offset + 2 * stride]!) * cellPx;
      target[at + 3] = (row + 0.5 + raw[offset + 3 * stride]!) * cellPx;
    },
    backwardInto({ offset, stride, cellPx }, dCorners, scale, gradient) {
      for (let side = 0; side < 4; side++) {
        const sign = side < 2 ? -1 : 1;
        gradient[offset + side * stride]! += scale * sign * cellPx * dCorners[side]!;
      }
    },
  };
}

/** Centre (column + dx, row + dy) cells, size exp(·) cells. */
function yoloxCodec(): BoxCodec {
  return {
    channels: PLAIN_CHANNELS,
    decodeInto({ raw, offset, stride, column, row, cellPx }, target, at, variances) {
      refuseVariances(variances, 'yolox');
      const x = (column + raw[offset]!) * cellPx;
      const y = (row + raw[offset + stride]!) * cellPx;
      const halfWidth = (Math.exp(raw[offset + 2 * stride]!) * cellPx) / 2;
      const halfHeight = (Math.exp(raw[offset + 3 * stride]!) * cellPx) / 2;
      target[at] = x - halfWidth;
      target[at + 1] = y - halfHeight;
      target[at + 2] = x + halfWidth;
      target[at + 3] = y + halfHeight;
    },
    backwardInto({ raw, offset, stride, cellPx }, dCorners, scale, gradient) {
      const step = scale * cellPx;
      const width = Math.exp(raw[offset + 2 * stride]!);
      const height = Math.exp(raw[offset + 3 * stride]!);
      gradient[offset]! += step * (dCorners[0]! + dCorners[2]!);
      gradient[offset + stride]! += step * (dCorners[1]! + dCorners[3]!);
      gradient[offset + 2 * stride]! += (step * width * (dCorners[2]! - dCorners[0]!)) / 2;
      gradient[offset + 3 * stride]! += (step * height * (dCorners[3]! - dCorners[1]!)) / 2;
    },
  };
}

/** Centre (2σ − 0.5 + cell) cells, size (2σ)² · anchor px (YOLOv5). */
function anchorCodec(sizes: readonly (readonly (readonly [number, number])[])[]): BoxCodec {
  const sizeOf = (level: number, location: number): readonly [number, number] => {
    const size = sizes[level]?.[location];
    if (!size)
      throw new RangeError(`the head states no anchor size for location ${location} of level ${level}`);
    return size;
  };
  return {
    channels: PLAIN_CHANNELS,
    decodeInto(place, target, at, variances) {
      refuseVariances(variances, 'anchors');
      const { raw, offset, stride, column, row, cellPx } = place;
      const [anchorWidth, anchorHeight] = sizeOf(place.level, place.location);
      const x = (2 * sigmoid(raw[offset]!) - 0.5 + column) * cellPx;
      const y = (2 * sigmoid(raw[offset + stride]!) - 0.5 + row) * cellPx;
      const halfWidth = 2 * sigmoid(raw[offset + 2 * stride]!) ** 2 * anchorWidth;
      const halfHeight = 2 * sigmoid(raw[offset + 3 * stride]!) ** 2 * anchorHeight;
      target[at] = x - halfWidth;
      target[at + 1] = y - halfHeight;
      target[at + 2] = x + halfWidth;
      target[at + 3] = y + halfHeight;
    },
    backwardInto(place, dCorners, scale, gradient) {
      const { raw, offset, stride, cellPx } = place;
      const size = sizeOf(place.level, place.location);
      for (let axis = 0; axis < 2; axis++) {
        const centre = sigmoid(raw[offset + axis * stride]!);
        const extent = sigmoid(raw[offset + (axis + 2) * stride]!);
        const dCentre = dCorners[axis]! + dCorners[axis + 2]!;
        const dHalf = dCorners[axis + 2]! - dCorners[axis]!;
        gradient[offset + axis * stride]! += scale * dCentre * 2 * cellPx * centre * (1 - centre);
        gradient[offset + (axis + 2) * stride]! +=
          scale * dHalf * 4 * extent * extent * (1 - extent) * size[axis]!;
      }
    },
  };
}

function sigmoid(logit: number): number {
  return 1 / (1 + Math.exp(-logit));
}
