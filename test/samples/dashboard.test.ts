// The dashboard and the alarms ask for what the server exports: names, labels and the values of states.
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { DetectionResult } from '#runtime';
import { createSiteMetrics } from '../../runtime/server/metrics.ts';
import type { SiteControl } from '../../runtime/site/run-site.ts';

const read = (name: string) => readFileSync(new URL(`../../samples/deploy/${name}`, import.meta.url), 'utf8');

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
}
const dashboard = JSON.parse(read('grafana-dashboard.json')) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly definition?: string }[] };
};
const rules = (
  parse(read('prometheus/alerts.yml')) as {
    readonly groups: readonly {
      readonly rules: readonly { readonly alert: string; readonly expr: string }[];
    }[];
  }
).groups.flatMap((group) => group.rules);

/** What Prometheus adds to every series, and says of every target. */
const ADDED = ['instance', 'job'];

/** Names of series → labels that they have. */
let exported: Map<string, Set<string>>;
let states: Set<string>;

beforeAll(async () => {
  const metrics = createSiteMetrics('1.2.3');
  metrics.watch(control());
  metrics.observe('gate', result());
  metrics.accept({ kind: 'count', atMs: 0, camera: 'gate', place: 'door', className: 'car', count: 2 });
  metrics.accept({
    kind: 'drift',
    atMs: 0,
    camera: 'gate',
    state: 'begins',
    measure: 'score',
    light: 'night',
    ...DRIFT,
  });
  exported = new Map([['up', new Set(ADDED)]]);
  states = new Set();
  for (const line of (await metrics.text()).body.split('\n')) {
    const [, name, labels = ''] = /^([a-z_0-9]+)(?:\{(.*)\})? /.exec(line) ?? [];
    if (name === undefined) continue;
    const known = exported.get(name) ?? new Set(ADDED);
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) known.add(label);
    exported.set(name, known);
    const [, state] = /^edge_detect_camera_state\{.*state="([^"]+)"/.exec(line) ?? [];
    if (state !== undefined) states.add(state);
  }
  await metrics.close();
});

const DRIFT = { change: -0.1, psi: 0.4, psiExpected: 0.1, w1: 0.1, w1Expected: 0.02, tracks: 50 };

/** A camera that is live, with one car that the model doubts. */
function control(): SiteControl {
  const camera = {
    name: 'gate',
    state: 'live',
    enabled: true,
    frames: 3,
    dropped: 1,
    skipped: 0,
    reconnects: 1,
    objects: [],
  } as const;
  return {
    cameras: [camera],
    waiting: 0,
    setEnabled: () => true,
    useCamera: () => true,
    camera: () => undefined,
    apply: async () => undefined,
  };
}

function result(): DetectionResult {
  const box = { x1: 0, y1: 0, x2: 8, y2: 8 };
  return {
    frame: { index: 0, width: 8, height: 8, data: new Uint8Array(192), capturedAtMs: Date.now() },
    size: { width: 8, height: 8 },
    detections: [{ className: 'car', classId: 0, score: 0.5, scoreVariance: 0.01, box }],
    timing: { preMs: 1, inferMs: 2, postMs: 3 },
    limitReached: false,
    nonFinite: 0,
    light: 'day',
  } as unknown as DetectionResult;
}

/** `name{label="value"}` and `name[5m]`: every selector of ours has one of the two. */
function selectorsOf(expression: string) {
  return [...expression.matchAll(/([a-z_0-9]+)(?:\{([^}]*)\}|(?=\[))/g)].map(
    ([, name = '', inside = '']) => ({
      name,
      matchers: [...inside.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"/g)].map(
        ([, label = '', value = '']) => ({
          label,
          value,
        }),
      ),
    }),
  );
}

function expectAnswered(expression: string, legend = ''): void {
  const selectors = selectorsOf(expression);
  expect(selectors.length).toBeGreaterThan(0);
  // No name stands there without braces, where it would not be looked at.
  const bare = expression.replaceAll(/\{[^}]*\}/g, '').matchAll(/\b(?:edge_detect|process|nodejs)_\w+/g);
  expect([...bare].map(([name]) => name).sort()).toEqual(
    selectors
      .map(({ name }) => name)
      .filter((name) => name !== 'up')
      .sort(),
  );
  const grouped = [...expression.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/));
  const shown = [...legend.matchAll(/\{\{(?:\$labels\.)?(\w+)\}\}/g)].map(([, label = '']) => label);
  for (const { name, matchers } of selectors) {
    const labels = exported.get(name);
    expect(labels, `${name} is not exported`).toBeDefined();
    for (const label of [...matchers.map((matcher) => matcher.label), ...grouped, ...shown])
      expect([...(labels ?? [])], `label ${label} of ${name}`).toContain(label);
    for (const { label, value } of matchers.filter((matcher) => matcher.label === 'state'))
      for (const state of value.split('|')) expect([...states], label).toContain(state);
  }
  if (grouped.length > 0) for (const label of shown) expect(grouped).toContain(label);
}

describe('the Grafana dashboard', () => {
  it.each(dashboard.panels.map((panel) => [panel.title, panel] as const))('%s', (_, { targets }) => {
    expect(targets.length).toBeGreaterThan(0);
    for (const { expr, legendFormat } of targets) expectAnswered(expr, legendFormat);
  });

  it('shows every number of ours that there is', () => {
    const asked = new Set(
      dashboard.panels.flatMap(({ targets }) =>
        targets.flatMap(({ expr }) => selectorsOf(expr).map(({ name }) => name)),
      ),
    );
    const family = (name: string) => name.replace(/_(bucket|sum|count)$/, '');
    const families = new Set([...asked].map(family));
    const ours = [...exported.keys()].filter((name) => name.startsWith('edge_detect_')).map(family);
    expect([...new Set(ours)].filter((name) => !families.has(name))).toEqual([]);
  });

  it('has variables that are answered, and panels that do not lie on each other', () => {
    for (const { definition } of dashboard.templating.list) {
      const [, name = '', label = ''] = /^label_values\((\w+).*, (\w+)\)$/.exec(definition ?? '') ?? [];
      if (definition !== undefined) expect([...(exported.get(name) ?? [])]).toContain(label);
    }
    const taken = new Set<string>();
    for (const { gridPos } of dashboard.panels)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(x).toBeLessThan(24);
          expect(taken.has(`${x} ${y}`)).toBe(false);
          taken.add(`${x} ${y}`);
        }
  });
});

describe('the alarms', () => {
  it.each(rules.map((rule) => [rule.alert, rule.expr] as const))('%s', (_, expression) =>
    expectAnswered(expression),
  );
});
