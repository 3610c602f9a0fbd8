// One calm look for every chart: one family of blues, one orange against it, the same few font sizes, light and dark.
import type { Config } from 'vega-lite';

/** Charts are drawn in these; a page puts the value of `DARK_COLOURS` in their place where its reader wants dark. */
export const COLOURS = {
  /** Main series, bars. */
  main: '#2f6fa7',
  /** Second series, bands. */
  light: '#9cc3e4',
  /** What the eye should find first: expectation, validation, the mean. */
  dark: '#12385c',
  /** What stands against the main series: false alarms, a limit. */
  against: '#bf5a12',
  text: '#333b45',
  quiet: '#66707c',
  /** Of many curves those that are not named. */
  faint: '#b4bbc4',
  grid: '#e7eaee',
  surface: '#ffffff',
  /** Further series. With the main one and `against` they stay apart for colour-blind readers (after Okabe and Ito). */
  green: '#0b7f60',
  purple: '#8c4a9e',
  ochre: '#96700a',
  grey: '#56606b',
} as const;

export type ColourName = keyof typeof COLOURS;

export const DARK_COLOURS: Readonly<Record<ColourName, string>> = {
  main: '#6cb0e8',
  light: '#35648f',
  dark: '#dcecfb',
  against: '#f0954a',
  text: '#d9dee4',
  quiet: '#9aa5b1',
  faint: '#59636e',
  grid: '#2b323a',
  surface: '#15191e',
  green: '#3cc79b',
  purple: '#d199df',
  ochre: '#e0ba4a',
  grey: '#b3bdc8',
};

/** Series beside each other; the dashes say the same once more. */
export const SERIES_COLOURS: readonly string[] = [
  COLOURS.main,
  COLOURS.against,
  COLOURS.green,
  COLOURS.purple,
  COLOURS.ochre,
  COLOURS.grey,
];
export const SERIES_DASHES: readonly (readonly number[])[] = [
  [1, 0],
  [6, 2],
  [2, 2],
  [8, 2, 2, 2],
  [4, 4],
  [1, 2],
];

export const FONT = 'Helvetica, Arial, DejaVu Sans, sans-serif';
export const FONT_SIZE = { label: 11, title: 11, heading: 13 } as const;

export const CHART_STYLE: Config = {
  background: COLOURS.surface,
  padding: 8,
  font: FONT,
  view: { stroke: null },
  axis: {
    labelFontSize: FONT_SIZE.label,
    titleFontSize: FONT_SIZE.title,
    titleFontWeight: 'normal',
    labelColor: COLOURS.text,
    titleColor: COLOURS.text,
    gridColor: COLOURS.grid,
    domainColor: COLOURS.quiet,
    tickColor: COLOURS.quiet,
    tickCount: 5,
    titlePadding: 6,
  },
  axisX: { grid: false },
  axisY: { domain: false, ticks: false },
  title: {
    fontSize: FONT_SIZE.heading,
    fontWeight: 'bold',
    color: COLOURS.text,
    anchor: 'start',
    offset: 10,
    subtitlePadding: 4,
    subtitleFontSize: FONT_SIZE.label,
    subtitleColor: COLOURS.quiet,
  },
  legend: {
    labelFontSize: FONT_SIZE.label,
    labelColor: COLOURS.text,
    symbolStrokeColor: COLOURS.quiet,
    symbolBaseStrokeColor: COLOURS.quiet,
  },
  line: { strokeWidth: 1.8 },
  bar: { color: COLOURS.main },
  text: { fontSize: FONT_SIZE.label, color: COLOURS.text },
  concat: { spacing: 28 },
};
