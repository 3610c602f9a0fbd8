// The page: whole in one file, nothing that reaches out, every text as text.
import { beforeAll, describe, expect, it } from 'vitest';
import { DataError } from '#core';
import { type Chart, htmlReport, type ReportBlock, reliabilityDiagrams, reliabilityOverlay } from '#report';

const EVIL = '</script><script>alert("1")</script>&';

const bins = [{ from: 0, to: 1, count: 4, meanConfidence: 0.5, meanTarget: 0.25 }];
let [single, several]: Chart[] = [];

beforeAll(async () => {
  single = await reliabilityOverlay([{ name: EVIL, bins }]);
  several = await reliabilityDiagrams([
    { name: 'car', bins },
    { name: 'id="x" fill="#2f6fa7"', bins },
  ]);
});

function page(blocks: readonly ReportBlock[], more: object = {}): string {
  return htmlReport({
    title: EVIL,
    summary: { text: [EVIL], facts: [{ label: EVIL, value: EVIL, note: EVIL }] },
    sections: [{ title: EVIL, blocks }],
    numbers: { name: EVIL, curve: Float64Array.of(0.5, Number.NaN), none: Infinity },
    footer: EVIL,
    ...more,
  });
}

const table: ReportBlock = {
  kind: 'table',
  caption: EVIL,
  columns: [{ label: 'class' }, { label: 'objects' }, { label: EVIL, digits: 2 }, { label: 'remark' }],
  rows: [
    [EVIL, 12, -0.456, 'few'],
    ['bus', 3, null, ''],
  ],
};

function all(): string {
  return page([
    { kind: 'text', text: EVIL },
    { kind: 'warning', text: EVIL },
    { kind: 'figure', chart: single as Chart, caption: EVIL },
    { kind: 'figure', chart: several as Chart },
    table,
    { kind: 'fold', label: EVIL, blocks: [{ kind: 'figure', chart: several as Chart }] },
  ]);
}

describe('a report', () => {
  it('holds no text as markup', () => {
    const html = all();
    expect(html.match(/<script/g)).toHaveLength(1);
    expect(html).not.toContain('alert("1")</script>');
    expect(html.match(/&lt;script&gt;/g)?.length).toBeGreaterThan(12);
  });

  it('names no other address', () => {
    const html = all();
    expect(html).not.toMatch(/https?:|\/\/\w+\.\w/);
    expect(html).not.toMatch(/ (?:src|href|action|poster)="(?!#|data:)/);
    expect(html).not.toMatch(/@import|url\((?!#)/);
    expect(html).toContain(`content="default-src 'none'; style-src 'unsafe-inline'; img-src data:"`);
  });

  it('carries its numbers for programs', () => {
    const [, text = ''] = /<script type="application\/json" id="numbers">(.*?)<\/script>/s.exec(all()) ?? [];
    expect(JSON.parse(text)).toEqual({ name: EVIL, curve: [0.5, null], none: null });
  });

  it('has one id for each thing, and headings in order', () => {
    const html = all();
    const ids = Array.from(html.matchAll(/<[^>]+? id="([^"]*)"/g), ([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(Array.from(html.matchAll(/<(h\d)/g), ([, level]) => level)).toEqual(['h1', 'h2']);
    expect(html).toContain('<section aria-labelledby="section-1">');
    expect(html).toMatch(/<!doctype html>\n<html lang="en">/);
  });

  it('says what each chart shows, and lets its colours follow the page', () => {
    const html = all();
    const charts = html.match(/<svg role="img" aria-label="[^"]+"/g) ?? [];
    expect(charts).toHaveLength(5);
    expect(charts[0]).toContain('Reliability by slice');
    expect(html).toContain('fill="var(--main)"');
    const colours = Array.from(html.matchAll(/<[^>]+? (?:fill|stroke)="([^"]*)"/g), ([, colour]) => colour);
    expect(colours.filter((colour) => !/^(?:none|var\(--\w+\))$/.test(colour ?? ''))).toEqual([]);
    expect(html).toContain('prefers-color-scheme:dark');
    // A name that looks like an attribute stays as it is.
    expect(html).toMatch(/>id=(?:"|&quot;)x(?:"|&quot;) fill=(?:"|&quot;)#2f6fa7(?:"|&quot;)</);
  });

  it('writes tables that scroll by themselves, numbers in columns, nothing as a dash', () => {
    const html = page([table]);
    expect(html).toMatch(/<div class="scroll" tabindex="0" role="region" aria-label="[^"]+">\n<table>/);
    expect(html).toContain('<td>12</td><td>−0.46</td><td class="words">few</td>');
    expect(html).toContain('<th scope="row">bus</th><td>3</td><td>–</td>');
    expect(html.match(/scope="col"/g)).toHaveLength(4);
  });

  it('refuses a row that does not fit', () => {
    const wrong: ReportBlock = { kind: 'table', caption: 't', columns: [{ label: 'a' }], rows: [['x', 1]] };
    expect(() => page([wrong])).toThrow(DataError);
    expect(() => page([wrong])).toThrow(/row of x has 2 cells, expected 1/);
  });

  it('lists its contents from three sections on', () => {
    const sections = ['a', 'b', 'c'].map((title) => ({ title, blocks: [] }));
    expect(page([], { sections })).toContain('<a href="#section-3">c</a>');
    expect(page([])).not.toContain('<nav');
  });
});
