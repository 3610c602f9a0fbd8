// Charts say what they were given: texts and marks in the SVG, and the same picture as PNG.
import { describe, expect, it } from 'vitest';
import { classifyLaw, DataError } from '#core';
import { readPicture } from '#data/images';
import {
  type ConfidenceBin,
  histogram,
  type ResultsRow,
  reliabilityBars,
  scoreLawPanel,
  trainingCurves,
} from '#report';

/** Texts of an SVG, in order. */
function texts(svg: string): readonly string[] {
  return Array.from(svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g), ([, text]) => text ?? '');
}

/** Number of points of each line. */
function linePoints(svg: string): readonly number[] {
  const lines = Array.from(
    svg.matchAll(/aria-roledescription="line mark"[^>]* d="([^"]*)"/g),
    ([, d]) => d ?? '',
  );
  return lines.map((d) => d.split(/[ML]/).length - 1);
}

const rows: readonly ResultsRow[] = [1, 2, 3].map((epoch) => ({
  epoch,
  time: epoch,
  'train/box_loss': 3 / epoch,
  'val/box_loss': epoch === 2 ? Number.NaN : 4 / epoch,
  'metrics/mAP50(B)': epoch / 10,
  'metrics/mAP50-95(B)': epoch / 20,
  'lr/pg0': 0.01,
}));

describe('training curves', () => {
  it('have a panel for each quantity, with units and names at the lines', async () => {
    const { svg } = await trainingCurves(rows);
    const said = texts(svg);
    expect(said).toEqual(
      expect.arrayContaining([
        'Box loss',
        'Average precision',
        'Learning rate',
        'AP on val, 0 to 1',
        'epoch',
      ]),
    );
    expect(said).toEqual(expect.arrayContaining(['train', 'val', 'mAP50', 'mAP50-95']));
    expect(said).not.toContain('Precision and recall');
    // box train, box val without its NaN, two AP lines, learning rate.
    expect(linePoints(svg)).toEqual([3, 2, 3, 3, 3]);
  });

  it('are drawn after the first epoch, and refused before', async () => {
    expect(texts((await trainingCurves(rows.slice(0, 1))).svg)).toContain('Box loss');
    await expect(trainingCurves([])).rejects.toThrow(DataError);
  });

  it('come as PNG at twice the size, on white', async () => {
    const { svg, png } = await trainingCurves(rows);
    const [, width, height] = /<svg[^>]* width="(\d+)" height="(\d+)"/.exec(svg) ?? [];
    const { size, rgb } = await readPicture(png);
    expect(size).toEqual({ width: 2 * Number(width), height: 2 * Number(height) });
    expect(Array.from(rgb.subarray(0, 3))).toEqual([255, 255, 255]);
    // Of the darkest line: #12385c.
    expect(Buffer.from(rgb).includes(Buffer.from([0x12, 0x38, 0x5c]))).toBe(true);
  });
});

describe('the sheet of score laws', () => {
  const crop = { rgb: new Uint8Array(4 * 2 * 3).fill(200), size: { width: 4, height: 2 } };
  const sample = (probabilities: Float32Array, more = {}) => ({
    crop,
    caption: 'car & <van>',
    probabilities,
    shape: classifyLaw({ probabilities }),
    ...more,
  });

  it('shows crop, shape, moments and a bar for every bin', async () => {
    const { svg, png } = await scoreLawPanel([
      sample(Float32Array.of(0, 0, 1, 0, 0), { target: 0.75 }),
      sample(Float32Array.of(0.5, 0, 0, 0, 0.5)),
    ]);
    expect(texts(svg)).toEqual(
      expect.arrayContaining([
        'sharp',
        'bimodal',
        'car &amp; &lt;van&gt;',
        'E 0.50   std 0.00   target 0.75',
        'E 0.50   std 0.50',
      ]),
    );
    expect(svg.match(/<image /g)).toHaveLength(2);
    // Per sample 5 bars and the band.
    expect(svg.match(/aria-roledescription="rect mark"/g)).toHaveLength(12);
    expect(svg.match(/aria-roledescription="rule mark"/g)).toHaveLength(3);
    const { rgb } = await readPicture(png);
    expect(Buffer.from(rgb).includes(Buffer.from([200, 200, 200]))).toBe(true);
  });

  it('needs a sample', async () => {
    await expect(scoreLawPanel([])).rejects.toThrow(/at least one sample/);
  });
});

describe('reliability bars', () => {
  const bin = (count: number, meanConfidence: number, meanTarget: number): ConfidenceBin => ({
    count,
    meanConfidence,
    meanTarget,
  });

  it('put what was said beside what was measured, and leave empty bins out', async () => {
    const { svg } = await reliabilityBars({
      confidence: [bin(3, 0.25, 0.5), bin(0, 0, 0), bin(4, 0.75, 0.7)],
      variance: [{ count: 9, meanPredicted: 0.01, meanMeasured: 0.02 }],
    });
    expect(svg.match(/aria-roledescription="bar"/g)).toHaveLength(6);
    expect(texts(svg)).toEqual(
      expect.arrayContaining(['0.25', '0.75', '1 (9)', 'confidence', 'predicted', 'measured']),
    );
  });

  it('need a detection', async () => {
    await expect(reliabilityBars({ confidence: [bin(0, 0, 0)] })).rejects.toThrow(DataError);
  });
});

describe('a histogram', () => {
  const heights = (svg: string) =>
    Array.from(svg.matchAll(/aria-label="[^"]*?(?:count|detections): (\d+)[^"]*"/g), ([, count]) =>
      Number(count),
    );

  it('counts each value once, the greatest in the last bar', async () => {
    const { svg } = await histogram([0, 0.1, 0.49, 0.5, 1, Number.NaN], {
      title: 'Scores',
      axis: 'score',
      bins: 2,
      range: [0, 1],
    });
    expect(heights(svg)).toEqual([3, 2]);
    expect(texts(svg)).toEqual(expect.arrayContaining(['Scores', 'score', 'count']));
  });

  it('draws equal values, and refuses none', async () => {
    const options = { title: 'Scores', axis: 'score', bins: 3 };
    expect(heights((await histogram([2, 2], options)).svg)).toEqual([0, 2, 0]);
    await expect(histogram([Number.NaN], options)).rejects.toThrow(/none of 1 values/);
  });
});
