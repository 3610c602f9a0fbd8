// Hard samples on one sheet: what the detector saw, beside the law of the score it gave.
import type { TopLevelSpec } from 'vega-lite';
import type { LawShape, Size } from '#core';
import { DataError, scoreMean, scoreVariance } from '#core';
import { encodePicture } from '#data/images';
import { shortened } from './labels.ts';
import { type Chart, renderSpec } from './render-chart.ts';
import { sheetOf, svgText as text } from './sheet.ts';
import { COLOURS, FONT, FONT_SIZE } from './style.ts';

export interface ScoreLawSample {
  /** rgb24 [height, width, 3]. */
  readonly crop: { readonly rgb: Uint8Array; readonly size: Size };
  /** One line, such as class and picture. */
  readonly caption: string;
  /** [bins] over scores i / (bins − 1), summing to 1. */
  readonly probabilities: Float32Array;
  /** What the score should have been, in [0, 1]. */
  readonly target?: number;
  readonly shape: LawShape;
}

const CELL = { width: 344, height: 170 };
const CROP = 104;
const CHART = { width: 180, height: 86 };
/** Characters that fit beside the shape. */
const CAPTION_LENGTH = 44;

/**
 * Contact sheet: for every sample its crop, its law as bars, the expectation E as a line with one standard deviation
 * to both sides, and the target where there is one.
 * @throws DataError without samples
 */
export async function scoreLawPanel(
  samples: readonly ScoreLawSample[],
  { title = 'Score laws of hard samples', columns = 3 } = {},
): Promise<Chart> {
  if (samples.length === 0) {
    throw new DataError('a sheet of score laws needs at least one sample', {
      hint: 'give samples, or leave the sheet out',
    });
  }
  const panels = await Promise.all(samples.map(panel));
  const note =
    'bars: probability of each score; line: expectation E; band: E ± one standard deviation; dashes: target';
  return sheetOf(panels, {
    title,
    note,
    columns,
    description: `${title}: ${samples.length} laws, ${countsOf(samples.map(({ shape }) => shape))}; ${note}.`,
  });
}

function countsOf(shapes: readonly LawShape[]): string {
  const kinds = Array.from(new Set(shapes));
  return kinds.map((kind) => `${shapes.filter((shape) => shape === kind).length} ${kind}`).join(', ');
}

async function panel(sample: ScoreLawSample): Promise<string> {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="${CELL.width}" height="${CELL.height}" viewBox="0 0 ${CELL.width} ${CELL.height}" font-family="${FONT}">`,
    `<rect width="${CELL.width}" height="${CELL.height}" fill="${COLOURS.surface}"/>`,
    await cell(sample),
    '</svg>',
  ].join('\n');
}

async function cell(sample: ScoreLawSample): Promise<string> {
  const { crop, caption, shape, probabilities } = sample;
  const bytes = await encodePicture(crop.rgb, crop.size, 'png');
  const source = `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`;
  const chart = await renderSpec(lawSpec(sample));
  const law = { probabilities };
  const std = Math.sqrt(scoreVariance(law));
  const numbers = `E ${scoreMean(law).toFixed(2)}   std ${std.toFixed(2)}`;
  const target = sample.target === undefined ? '' : `   target ${sample.target.toFixed(2)}`;
  return [
    text(shape, { x: 0, y: 14, size: FONT_SIZE.title, weight: 'bold', colour: COLOURS.dark }),
    text(shortened(caption, CAPTION_LENGTH), { x: 62, y: 14, size: FONT_SIZE.title }),
    `<rect x="0" y="24" width="${CROP}" height="${CROP}" fill="${COLOURS.grid}"/>`,
    `<image x="0" y="24" width="${CROP}" height="${CROP}" preserveAspectRatio="xMidYMid meet" xlink:href="${source}"/>`,
    text(`${numbers}${target}`, { x: CROP + 14, y: 30, size: FONT_SIZE.label }),
    `<g transform="translate(${CROP + 6},32)">${chart}</g>`,
  ].join('\n');
}

/** Position along the score axis, by the field `from`. */
const SCORE_AXIS = {
  field: 'from',
  type: 'quantitative',
  title: 'score',
  axis: { values: [0, 0.5, 1], format: '.1f' },
  scale: { domain: [-0.06, 1.06], nice: false },
};

function lawSpec({ probabilities, target }: ScoreLawSample): TopLevelSpec {
  const law = { probabilities };
  const mean = scoreMean(law);
  const std = Math.sqrt(scoreVariance(law));
  const band = { from: Math.max(0, mean - std), to: Math.min(1, mean + std) };
  const layer = [
    {
      data: { values: [band] },
      mark: { type: 'rect', color: COLOURS.light, opacity: 0.4 },
      encoding: { x: SCORE_AXIS, x2: { field: 'to' } },
    },
    bars(probabilities),
    ruleAt(mean, { color: COLOURS.dark, strokeWidth: 2 }),
    ...(target === undefined
      ? []
      : [ruleAt(target, { color: COLOURS.text, strokeDash: [3, 3], strokeWidth: 1.5 })]),
  ];
  return { ...CHART, padding: 4, layer } as unknown as TopLevelSpec;
}

function bars(probabilities: Float32Array): object {
  const last = probabilities.length - 1;
  const values = Array.from(probabilities, (probability, bin) => ({
    from: (bin - 0.4) / last,
    to: (bin + 0.4) / last,
    probability,
  }));
  const axis = { tickCount: 3, minExtent: 30, maxExtent: 30 };
  return {
    data: { values },
    mark: { type: 'rect', color: COLOURS.main },
    encoding: {
      x: SCORE_AXIS,
      x2: { field: 'to' },
      y: { field: 'probability', type: 'quantitative', title: 'probability', axis },
      y2: { datum: 0 },
    },
  };
}

function ruleAt(score: number, style: object): object {
  return {
    data: { values: [{ from: score }] },
    mark: { type: 'rule', ...style },
    encoding: { x: SCORE_AXIS },
  };
}
