// One colour per class: the same class looks the same in every picture and every run.

/** Red, green, blue in 0..255. */
export type Rgb = readonly [number, number, number];

// Strong enough to stand out on asphalt and on sky; neighbours in the list differ in hue and in lightness.
const CLASS_COLOURS: readonly Rgb[] = [
  [255, 92, 72],
  [46, 204, 133],
  [66, 153, 255],
  [255, 190, 46],
  [190, 110, 255],
  [20, 196, 214],
  [255, 120, 190],
  [160, 214, 52],
  [255, 142, 50],
  [110, 126, 250],
  [0, 168, 120],
  [232, 66, 140],
  [250, 226, 90],
  [60, 186, 255],
  [214, 84, 52],
  [140, 230, 180],
  [170, 80, 210],
  [196, 164, 60],
  [255, 164, 148],
  [70, 140, 100],
];

const LIGHT: Rgb = [255, 255, 255];
const DARK: Rgb = [18, 18, 18];

export function classColour(classId: number): Rgb {
  return CLASS_COLOURS[Math.abs(classId) % CLASS_COLOURS.length]!;
}

/** Black on light colours, white on dark ones; both grey, so that text needs no chroma of its own. */
export function textColour([red, green, blue]: Rgb): Rgb {
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? DARK : LIGHT;
}
