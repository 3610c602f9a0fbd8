// One calm look for every chart: white, one family of blues, the same few font sizes.
import type { Config } from 'vega-lite';

export const COLOURS = {
  /** Main series, bars. */
  main: '#2f6fa7',
  /** Second series, bands. */
  light: '#9cc3e4',
  /** What the eye should find first: expectation, validation. */
  dark: '#12385c',
  text: '#333b45',
  quiet: '#7a838f',
  grid: '#e7eaee',
} as const;

export const FONT = 'Helvetica, Arial, DejaVu Sans, sans-serif';
export const FONT_SIZE = { label: 10, title: 11, heading: 13 } as const;

export const CHART_STYLE: Config = {
  background: 'white',
  padding: 12,
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
  legend: { labelFontSize: FONT_SIZE.label, labelColor: COLOURS.text },
  line: { strokeWidth: 1.8 },
  bar: { color: COLOURS.main },
  text: { fontSize: FONT_SIZE.label, color: COLOURS.text },
  concat: { spacing: 28 },
};
