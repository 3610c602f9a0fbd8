// Colours of the world: linear light in [0, 1] for surfaces, any brightness for light itself.

/** Red, green, blue; linear. */
export type Colour = readonly [number, number, number];

/** From what a designer writes, `0x3a6ea5` in sRGB. */
export function paint(hex: number): Colour {
  return [toLinear(hex >> 16), toLinear((hex >> 8) & 255), toLinear(hex & 255)];
}

export function scaled(colour: Colour, factor: number): Colour {
  return [colour[0] * factor, colour[1] * factor, colour[2] * factor];
}

export function mixed(from: Colour, to: Colour, share: number): Colour {
  return [
    from[0] + (to[0] - from[0]) * share,
    from[1] + (to[1] - from[1]) * share,
    from[2] + (to[2] - from[2]) * share,
  ];
}

function toLinear(byte: number): number {
  const value = byte / 255;
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}
