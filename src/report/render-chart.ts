// A chart description to SVG and PNG. The one place that loads vega, and only when a chart is drawn: it takes a second.
import type { LoggerInterface } from 'vega';
import type { TopLevelSpec } from 'vega-lite';
import { encodePicture, renderSvg } from '#data/images';
import { CHART_STYLE } from './style.ts';

export interface Chart {
  /** Stands alone, white background. */
  readonly svg: string;
  /** The same in SVGs narrow enough for a phone, for a page that lets them wrap; one or more. */
  readonly panels: readonly string[];
  /** Title and notes that the whole has above its panels, and that no panel repeats. */
  readonly heading?: readonly string[];
  /** What is shown, in a sentence or two, for who cannot see it. */
  readonly description: string;
  /** Bytes of a PNG file at twice the size of the SVG. */
  readonly png: Uint8Array;
}

/** Device px of the PNG for each px of the SVG. */
const PNG_SCALE = 2;

/** @param spec vega-lite, without style: that is ours */
export async function renderChart(spec: TopLevelSpec, description: string): Promise<Chart> {
  return singleChart(await renderSpec(spec), description);
}

/** A chart of one panel, which carries its own title. */
export async function singleChart(svg: string, description: string): Promise<Chart> {
  return { svg, png: await renderPng(svg), panels: [svg], description };
}

/** The charts are our own, so what vega-lite warns of is a bug of ours; its own logger would write to the console. */
const STRICT_LOGGER: LoggerInterface = {
  level: () => STRICT_LOGGER,
  error: refuse,
  warn: refuse,
  info: () => STRICT_LOGGER,
  debug: () => STRICT_LOGGER,
};

function refuse(...message: readonly unknown[]): never {
  throw new Error(`chart: ${message.join(' ')}`);
}

/** SVG of a chart alone. */
export async function renderSpec(spec: TopLevelSpec): Promise<string> {
  const [vega, vegaLite] = await Promise.all([import('vega'), import('vega-lite')]);
  const { spec: compiled } = vegaLite.compile({ ...spec, config: CHART_STYLE } as TopLevelSpec, {
    logger: STRICT_LOGGER,
  });
  const view = new vega.View(vega.parse(compiled), { renderer: 'none', logLevel: vega.Error });
  try {
    return await view.toSVG();
  } finally {
    view.finalize();
  }
}

/** Bytes of a PNG file at twice the size. */
export async function renderPng(svg: string): Promise<Uint8Array> {
  const { width, height, rgba } = await renderSvg(enlarged(svg));
  const rgb = new Uint8Array(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel++) {
    // Charts are opaque: alpha only tells where a renderer left the white background out.
    const alpha = (rgba[pixel * 4 + 3] ?? 255) / 255;
    for (let channel = 0; channel < 3; channel++) {
      rgb[pixel * 3 + channel] = Math.round((rgba[pixel * 4 + channel] ?? 255) * alpha + 255 * (1 - alpha));
    }
  }
  return encodePicture(rgb, { width, height }, 'png');
}

/** The outermost width and height times the scale; the viewBox keeps what is drawn. */
function enlarged(svg: string): string {
  const end = svg.indexOf('>') + 1;
  const opening = svg
    .slice(0, end)
    .replace(/ (width|height)="([\d.]+)"/g, (_, side, size) => ` ${side}="${Number(size) * PNG_SCALE}"`);
  return opening + svg.slice(end);
}
