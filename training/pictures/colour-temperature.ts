// How much red, green and blue light of another colour temperature holds, next to that of a day.

/** Correlated colour temperature of the sRGB white, in kelvin. */
export const DAY_KELVIN = 6500;

/** Rows: linear sRGB from XYZ (IEC 61966-2-1). */
const FROM_XYZ = [
  [3.2406, -1.5372, -0.4986],
  [-0.9689, 1.8758, 0.0415],
  [0.0557, -0.204, 1.057],
] as const;
/** Y of linear sRGB (IEC 61966-2-1). */
const LUMINANCE = [0.2126, 0.7152, 0.0722] as const;

export type Gains = readonly [red: number, green: number, blue: number];

/**
 * Factors on linear sRGB that keep the luminance of grey and are 1 at `DAY_KELVIN`.
 * @param kelvin from 2000 (below, blue would be negative) to 25000
 */
export function temperatureGains(kelvin: number): Gains {
  const light = planckianRgb(kelvin);
  const day = planckianRgb(DAY_KELVIN);
  const ratio = light.map((value, channel) => value / day[channel]!);
  const luminance = ratio.reduce((sum, value, channel) => sum + value * LUMINANCE[channel]!, 0);
  return [ratio[0]! / luminance, ratio[1]! / luminance, ratio[2]! / luminance];
}

/** A temperature between two on the mired scale, on which equal steps look equal. */
export function mixKelvin(from: number, to: number, share: number): number {
  return 1 / ((1 - share) / from + share / to);
}

/** Linear sRGB of a black body, by the cubic fits of its locus of Kang et al., J. Korean Phys. Soc. 41 (2002), eq. 4-5. */
function planckianRgb(kelvin: number): number[] {
  const t = 1000 / kelvin;
  const x =
    kelvin < 4000
      ? ((-0.2661239 * t - 0.2343589) * t + 0.8776956) * t + 0.17991
      : ((-3.0258469 * t + 2.1070379) * t + 0.2226347) * t + 0.24039;
  const y =
    kelvin < 2222
      ? ((-1.1063814 * x - 1.3481102) * x + 2.18555832) * x - 0.20219683
      : kelvin < 4000
        ? ((-0.9549476 * x - 1.37418593) * x + 2.09137015) * x - 0.16748867
        : ((3.081758 * x - 5.8733867) * x + 3.75112997) * x - 0.37001483;
  return FROM_XYZ.map(([fromX, fromY, fromZ]) => (fromX * x + fromY * y + fromZ * (1 - x - y)) / y);
}
