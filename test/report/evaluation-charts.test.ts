// Charts of an evaluation: what they draw is what they were given, on the axes that they state.
import { describe, expect, it } from 'vitest';
import { DataError } from '#core';
import { readPicture } from '#data/images';
import {
  CHART_FILES,
  type Chart,
  confidenceChart,
  confusionMatrixChart,
  lightTimeline,
  metricDots,
  pairedDifferences,
  pairedScores,
  pitHistogram,
  precisionRecallChart,
  reliabilityDiagrams,
  reliabilityOverlay,
  scoreHistogram,
  sigmaCalibrationChart,
  thresholdChart,
} from '#report';

/** Texts of an SVG that are seen, in order. */
function texts(svg: string): readonly string[] {
  return Array.from(svg.matchAll(/<text([^>]*)>([^<]*)<\/text>/g)).flatMap(([, attributes, text]) =>
    attributes?.includes('opacity="0"') ? [] : [text ?? ''],
  );
}

/** Paths of lines as points in px of their plot. */
function lines(svg: string): readonly (readonly (readonly [number, number])[])[] {
  const groups = Array.from(
    svg.matchAll(/<g class="mark-line[^>]*>(.*?)<\/g>/gs),
    ([, content]) => content ?? '',
  );
  return groups.flatMap((group) =>
    Array.from(group.matchAll(/ d="([^"]*)"/g), ([, path = '']) =>
      Array.from(path.matchAll(/[ML](-?[\d.]+),(-?[\d.]+)/g), ([, x, y]) => [Number(x), Number(y)] as const),
    ),
  );
}

function count(svg: string, kind: string): number {
  const groups = Array.from(
    svg.matchAll(new RegExp(`<g class="mark-${kind} role-mark[^>]*>(.*?)</g>`, 'gs')),
  );
  return groups.reduce((sum, [, content]) => sum + (content?.match(/<(?:path|line|text) /g)?.length ?? 0), 0);
}

const recalls = [0, 0.5, 1];
const classes = ['car', 'bus'].map((name, place) => ({
  name,
  count: 10 - place,
  values: [1, 0.8 - place / 10, 0],
}));

describe('curves over classes', () => {
  it('draw precision over recall on axes from 0 to 1, with areas beside the names', async () => {
    const { svg, description } = await precisionRecallChart({
      recalls,
      classes: classes.map((curve) => ({ ...curve, averagePrecision: 0.625 })),
      mean: { values: [1, 0.75, 0], averagePrecision: 0.6 },
      iou: 0.5,
    });
    expect(texts(svg)).toEqual(
      expect.arrayContaining([
        'recall',
        'precision',
        'car 0.63',
        'bus 0.63',
        'all classes 0.60',
        '0.0',
        '1.0',
      ]),
    );
    const [car = [], bus = [], mean = []] = lines(svg);
    const [[left, top] = [0, 0], [middle, carAt] = [0, 0], [right, bottom] = [0, 0]] = car;
    expect([left, top]).toEqual([0, 0]);
    expect(middle).toBeCloseTo(right / 2, 1);
    expect(carAt).toBeCloseTo(bottom * 0.2, 1);
    expect(bus[1]?.[1]).toBeCloseTo(bottom * 0.3, 1);
    expect(mean[1]?.[1]).toBeCloseTo(bottom * 0.25, 1);
    expect(description).toContain('2 classes and their mean');
  });

  it('name the six most frequent classes, and draw the others thin', async () => {
    const many = Array.from({ length: 20 }, (_, place) => ({
      name: `c${place}`,
      count: place,
      values: [1, 0.5, 0],
    }));
    const { svg } = await precisionRecallChart({ recalls, classes: many, iou: 0.5 });
    expect(texts(svg).filter((text) => /^c\d+$/.test(text))).toEqual([
      'c19',
      'c18',
      'c17',
      'c16',
      'c15',
      'c14',
    ]);
    expect(texts(svg)).toContain('named: the 6 most frequent of 20 classes; thin: the others');
    expect(lines(svg)).toHaveLength(20);
  });

  it('mark the best point where it is', async () => {
    const { svg } = await confidenceChart({
      quantity: 'F1',
      thresholds: [0, 0.5, 1],
      classes,
      mean: [1, 0.75, 0],
      best: { threshold: 0.5, value: 0.75 },
    });
    expect(texts(svg)).toContain('best 0.75 at confidence 0.500');
    const [x, y] =
      /mark-symbol role-mark[^>]*><path [^>]*transform="translate\(([\d.]+),([\d.]+)\)/.exec(svg)?.slice(1) ??
      [];
    const [, middle, end] = lines(svg)[0] ?? [];
    expect(Number(x)).toBeCloseTo(middle?.[0] ?? -1, 1);
    expect(Number(y)).toBeCloseTo((end?.[1] ?? -1) / 4, 1);
  });

  it('refuse curves of another length', async () => {
    const wrong = [{ name: 'car', count: 1, values: [1] }];
    await expect(precisionRecallChart({ recalls, classes: wrong, iou: 0.5 })).rejects.toThrow(
      /curve of car has 1 points, expected 3/,
    );
    await expect(precisionRecallChart({ recalls, classes: [], iou: 0.5 })).rejects.toThrow(DataError);
  });
});

describe('the confusion matrix', () => {
  const matrix = { classNames: ['car', 'bus'], counts: [8, 1, 3, 0, 4, 0, 2, 5, 0] };

  it('has predicted rows, true columns, background last', async () => {
    const { svg, description } = await confusionMatrixChart(matrix);
    expect(texts(svg).filter((text) => /^\d+$/.test(text))).toEqual(['8', '1', '3', '4', '2', '5']);
    expect(texts(svg)).toEqual(expect.arrayContaining(['true', 'predicted', 'car', 'bus', 'background']));
    expect(description).toContain('12 of 23');
  });

  it('is normalised over the true classes', async () => {
    const { svg } = await confusionMatrixChart(matrix, { normalized: true });
    expect(texts(svg).filter((text) => /^\d?\.\d+$/.test(text))).toEqual([
      '.80',
      '.10',
      '1.00',
      '.40',
      '.20',
      '.50',
    ]);
  });

  it('refuses counts without background', async () => {
    await expect(confusionMatrixChart({ classNames: ['car'], counts: [1] })).rejects.toThrow(
      /4 cells .* found 1/,
    );
  });
});

const bins = [
  { from: 0, to: 0.4, count: 100, meanConfidence: 0.2, meanTarget: 0.1 },
  { from: 0.4, to: 0.5, count: 0, meanConfidence: 0, meanTarget: 0 },
  { from: 0.5, to: 1, count: 9, meanConfidence: 0.75, meanTarget: 0.5, interval: [0.3, 0.7] as const },
];

describe('reliability', () => {
  it('has a diagram for each class, bars on the edges of the data, and counts', async () => {
    const { svg, panels } = await reliabilityDiagrams([{ name: 'car', bins, note: 'D-ECE 0.113' }]);
    expect(panels).toHaveLength(1);
    expect(texts(svg)).toEqual(expect.arrayContaining(['car', '109 detections, D-ECE 0.113']));
    // Two filled bins, above and as counts.
    expect(count(svg, 'rect')).toBe(4);
    const starts = Array.from(svg.matchAll(/<path d="M([\d.]+),[\d.]+h([\d.]+)v/g), ([, x, width]) => [
      Number(x),
      Number(width),
    ]);
    const ratio = (starts[1]?.[0] ?? 0) / (starts[0]?.[1] ?? 1);
    expect(ratio).toBeCloseTo(0.5 / 0.4, 2);
  });

  it('says where only the most frequent classes are drawn', async () => {
    const series = ['a', 'b', 'c'].map((name, place) => ({
      name,
      bins: bins.map((bin) => ({ ...bin, count: bin.count * (place + 1) })),
    }));
    const { panels, svg, heading } = await reliabilityDiagrams(series, { most: 2 });
    expect(panels).toHaveLength(2);
    expect(texts(panels[0] ?? '')).toContain('c');
    expect(texts(svg)).toContain('The 2 of 3 classes with the most detections.');
    expect(heading).toContain('The 2 of 3 classes with the most detections.');
  });

  it('puts slices over each other', async () => {
    const { svg } = await reliabilityOverlay([
      { name: 'day', bins, note: 'D-ECE 0.03' },
      { name: 'dusk', bins },
    ]);
    expect(texts(svg)).toEqual(expect.arrayContaining(['day', 'dusk', 'day: D-ECE 0.03', 'detections']));
    // Diagonal, two curves, two lines of counts.
    expect(lines(svg).map(({ length }) => length)).toEqual([2, 2, 2, 4, 4]);
  });

  it('needs a detection', async () => {
    await expect(reliabilityOverlay([{ name: 'day', bins: bins.slice(1, 2) }])).rejects.toThrow(DataError);
  });
});

describe('spreads and scores', () => {
  it('count hits and false alarms apart, also at score 1', async () => {
    const { svg } = await scoreHistogram([{ name: 'all', hits: [0.9, 1, 1], falseAlarms: [0.1] }], {
      bins: 2,
    });
    expect(texts(svg)).toContain('3 hits, 1 false alarms');
    const [hits = [], alarms = []] = lines(svg);
    const floor = hits[0]?.[1] ?? 0;
    expect(hits[2]?.[1]).toBe(0);
    expect(alarms[2]?.[1]).toBe(floor);
    expect(alarms[0]?.[1]).toBeGreaterThan(0);
  });

  it('put measured errors over predicted ones, both axes alike', async () => {
    const groups = [1, 2].map((predicted) => ({
      count: 5,
      predicted,
      measured: predicted,
      interval: [0.5, 3] as const,
    }));
    const { svg } = await sigmaCalibrationChart([{ name: 'left', unit: 'sigma, px', groups }]);
    const [dashes = [], points = []] = lines(svg);
    const slope = (line: readonly (readonly [number, number])[]) =>
      ((line[1]?.[1] ?? 0) - (line[0]?.[1] ?? 0)) / ((line[1]?.[0] ?? 0) - (line[0]?.[0] ?? 0));
    expect(slope(points)).toBeCloseTo(slope(dashes), 2);
    expect(texts(svg)).toEqual(expect.arrayContaining(['10 detections in 2 groups', 'predicted sigma, px']));
  });

  it('draw PIT counts against an even law', async () => {
    const { svg } = await pitHistogram([{ name: 'left', counts: [10, 10, 10, 10] }]);
    const heights = Array.from(svg.matchAll(/fill="#2f6fa7"/g));
    expect(heights).toHaveLength(4);
    expect(texts(svg)).toContain('40 detections');
    await expect(pitHistogram([{ name: 'left', counts: [0] }])).rejects.toThrow(DataError);
  });
});

describe('thresholds and slices', () => {
  it('name each chosen point and mark it', async () => {
    const { svg } = await thresholdChart([
      {
        name: 'car',
        thresholds: [0, 1],
        precision: [0.5, 1],
        recall: [1, 0],
        f1: [0.6, 0],
        points: [
          { label: 'best F1', threshold: 0.31 },
          { label: 'precision from 0.9', threshold: 0.32 },
        ],
      },
    ]);
    expect(texts(svg)).toEqual(
      expect.arrayContaining(['A best F1 0.31', 'B precision from 0.9 0.32', 'A', 'B']),
    );
  });

  it('say "no verdict" where there is no value', async () => {
    const { svg, description } = await metricDots([
      {
        title: 'AP',
        domain: [0, 1],
        rows: [
          { name: 'day', value: 0.5, interval: [0.4, 0.6] },
          { name: 'night', value: null },
        ],
      },
    ]);
    expect(texts(svg)).toEqual(expect.arrayContaining(['no verdict', 'day', 'night', '1.0']));
    expect(count(svg, 'symbol')).toBe(1);
    expect(description).toContain('AP: day 0.5, night no verdict');
  });

  it('draw pairs, their medians and the boxes of their differences', async () => {
    const groups = [{ name: 'camera 7', before: [0.5, 0.6, 0.8], after: [0.4, 0.6, 0.5] }];
    const labels = ['day', 'dusk'] as const;
    const { svg } = await pairedScores(groups, { labels });
    expect(texts(svg)).toEqual(
      expect.arrayContaining(['score, day', 'score, dusk', '3 pairs; medians 0.60 and 0.50']),
    );
    expect(count(svg, 'symbol')).toBe(4);
    const boxes = await pairedDifferences(groups, { labels });
    expect(boxes.description).toContain('camera 7 (3) median -0.100');
    await expect(pairedScores([{ name: 'x', before: [1], after: [] }], { labels })).rejects.toThrow(
      /1 scores before and 0/,
    );
  });

  it('thin large sets and say so', async () => {
    const before = Array.from({ length: 2000 }, (_, place) => place / 2000);
    const { panels } = await pairedScores([{ name: 'all', before, after: before }], {
      labels: ['day', 'dusk'],
    });
    expect(texts(panels[0] ?? '')).toContain('2000 pairs, 400 drawn; medians 0.50 and 0.50');
    expect(count(panels[0] ?? '', 'symbol')).toBe(401);
  });

  it('shade the states of light as the legend says', async () => {
    const samples = ['night', 'dusk', 'day'].map((state, place) => ({
      seconds: place * 60,
      value: place,
      state,
    }));
    const options = { states: ['night', 'dusk', 'day'], axis: 'brightness' };
    const { svg, description } = await lightTimeline(
      [...samples, { seconds: 180, value: 3, state: 'day' }],
      options,
    );
    const shades = Array.from(svg.matchAll(/fill-opacity="([\d.]+)"/g), ([, shade]) =>
      Number(shade).toFixed(2),
    );
    expect(shades).toEqual(['0.50', '0.27', '0.04', '0.50', '0.27', '0.04']);
    expect(description).toContain('2 changes');
    await expect(lightTimeline([{ seconds: 0, value: 1, state: 'fog' }], options)).rejects.toThrow(
      /'fog' at 0 s/,
    );
  });
});

describe('every chart', () => {
  it('is the same each time, and its PNG is a picture of it at twice the size', async () => {
    const draw = (): Promise<Chart> => confidenceChart({ quantity: 'recall', thresholds: recalls, classes });
    const [one, other] = [await draw(), await draw()];
    expect(one.svg).toBe(other.svg);
    expect(Buffer.from(one.png).equals(Buffer.from(other.png))).toBe(true);
    const [, width, height] = /<svg[^>]* width="([\d.]+)" height="([\d.]+)"/.exec(one.svg) ?? [];
    expect((await readPicture(one.png)).size).toEqual({
      width: 2 * Number(width),
      height: 2 * Number(height),
    });
  });

  it('fits a phone in each of its panels', async () => {
    const { panels, svg } = await reliabilityDiagrams(['a', 'b'].map((name) => ({ name, bins })));
    const widths = [svg, ...panels].map((one) => Number(/ width="(\d+)"/.exec(one)?.[1]));
    expect(widths[0]).toBeGreaterThan(600);
    expect(widths.slice(1).every((width) => width <= 358)).toBe(true);
  });

  it('takes any name of a class', async () => {
    const wild = [{ name: '<b>\u0000&"\ud800', count: 1, values: [1, 1, 1] }];
    const { svg } = await precisionRecallChart({ recalls, classes: wild, iou: 0.5 });
    expect(texts(svg)).toContain('&lt;b&gt; &amp;&quot; ');
  });

  it('has the file name that users know', () => {
    expect(Object.values(CHART_FILES)).toEqual(
      expect.arrayContaining([
        'PR_curve.png',
        'F1_curve.png',
        'P_curve.png',
        'R_curve.png',
        'confusion_matrix.png',
        'confusion_matrix_normalized.png',
      ]),
    );
    expect(new Set(Object.values(CHART_FILES)).size).toBe(Object.keys(CHART_FILES).length);
  });
});
