// How the light was measured over a recording, and which state was taken: thresholds changed where the state did.
import { DataError } from '#core';
import { chartLabels } from './labels.ts';
import { legendStrip } from './legend.ts';
import { PANEL_WIDTH, renderPanel, thinned, Y_EXTENT } from './panel-spec.ts';
import { type Chart, singleChart } from './render-chart.ts';
import { stacked } from './sheet.ts';
import { COLOURS } from './style.ts';

export interface LightSample {
  /** From the start of the recording, rising. */
  readonly seconds: number;
  readonly value: number;
  /** One of the states. */
  readonly state: string;
}

export interface LightTimelineOptions {
  readonly title?: string;
  /** From dark to bright. */
  readonly states: readonly string[];
  /** Between the states, in the unit of the measurement. */
  readonly boundaries?: readonly number[];
  /** Quantity and unit of the measurement. */
  readonly axis: string;
}

const POINTS = 500;

/** @throws DataError without samples, or where a state is none of those named */
export async function lightTimeline(
  samples: readonly LightSample[],
  { title = 'Light over time', states, boundaries = [], axis }: LightTimelineOptions,
): Promise<Chart> {
  if (samples.length === 0) {
    throw new DataError(`chart '${title}': there are no samples`, { hint: 'give at least one measurement' });
  }
  const unknown = samples.find(({ state }) => !states.includes(state));
  if (unknown !== undefined) {
    throw new DataError(
      `chart '${title}': state '${unknown.state}' at ${unknown.seconds} s is not one of ${states.join(', ')}`,
      { hint: 'name every state, from dark to bright' },
    );
  }
  const runs = runsOf(samples);
  const changes = runs.length - 1;
  const unit = unitOf((samples.at(-1)?.seconds ?? 0) - (samples[0]?.seconds ?? 0));
  const svg = await renderPanel({
    title,
    subtitle: `${samples.length} measurements, ${changes === 1 ? '1 change' : `${changes} changes`} of state`,
    height: 210,
    layer: layersOf({ samples, runs, states, boundaries, axis, unit }),
  });
  const shares = states.map((state) => {
    const count = samples.filter((sample) => sample.state === state).length;
    return `${state} ${((100 * count) / samples.length).toFixed(0)} %`;
  });
  const shades = shadesOf(states.length);
  const entries = chartLabels(states).map((label, place) => ({
    label,
    colour: COLOURS.main,
    opacity: shades[place] ?? 1,
  }));
  return singleChart(
    stacked([svg, legendStrip(entries, PANEL_WIDTH)]),
    `${title}: ${shares.join(', ')} of ${samples.length} measurements, ${changes} changes.`,
  );
}

interface Run {
  readonly from: number;
  readonly to: number;
  readonly state: string;
}

/** Opacities from dark to bright. */
function shadesOf(count: number): readonly number[] {
  return Array.from({ length: count }, (_, place) => 0.5 - (0.46 * place) / Math.max(1, count - 1));
}

/** A run ends where the next begins. */
function runsOf(samples: readonly LightSample[]): readonly Run[] {
  const starts = samples.filter(({ state }, place) => place === 0 || samples[place - 1]?.state !== state);
  const end = samples.at(-1)?.seconds ?? 0;
  return starts.map(({ seconds, state }, place) => ({
    from: seconds,
    to: starts[place + 1]?.seconds ?? end,
    state,
  }));
}

interface TimeUnit {
  readonly name: string;
  readonly seconds: number;
}

function unitOf(span: number): TimeUnit {
  if (span > 3 * 3600) return { name: 'hours', seconds: 3600 };
  return span > 180 ? { name: 'minutes', seconds: 60 } : { name: 'seconds', seconds: 1 };
}

interface Parts {
  readonly samples: readonly LightSample[];
  readonly runs: readonly Run[];
  readonly states: readonly string[];
  readonly boundaries: readonly number[];
  readonly axis: string;
  readonly unit: TimeUnit;
}

function layersOf({ samples, runs, states, boundaries, axis, unit }: Parts): readonly object[] {
  const shades = shadesOf(states.length);
  const bands = runs.map(({ from, to, state }) => ({
    from: from / unit.seconds,
    to: to / unit.seconds,
    shade: shades[states.indexOf(state)],
  }));
  const line = thinned(samples, POINTS).map(({ seconds, value }) => ({
    from: seconds / unit.seconds,
    value,
  }));
  const [start, end] = [bands[0]?.from ?? 0, bands.at(-1)?.to ?? 0];
  const scale = { domain: end > start ? [start, end] : [start, start + 1], nice: false };
  const x = { field: 'from', type: 'quantitative', title: `time, ${unit.name}`, scale };
  const y = {
    field: 'value',
    type: 'quantitative',
    title: axis,
    scale: { zero: false },
    axis: { minExtent: Y_EXTENT },
  };
  return [
    {
      data: { values: bands },
      mark: { type: 'rect', color: COLOURS.main, aria: false },
      encoding: {
        x,
        x2: { field: 'to' },
        fillOpacity: { field: 'shade', type: 'quantitative', scale: null },
      },
    },
    {
      data: { values: boundaries.map((value) => ({ value })) },
      mark: { type: 'rule', color: COLOURS.against, strokeDash: [4, 3], aria: false },
      encoding: { y },
    },
    {
      data: { values: line },
      mark: { type: 'line', color: COLOURS.dark, strokeWidth: 1.4, aria: false },
      encoding: { x, y },
    },
  ];
}
