// A report as one file of HTML: no network, no script, whole on a phone, on paper and in the dark.
import { blocksHtml, type ReportBlock } from './html-blocks.ts';
import { PAGE_STYLE } from './html-style.ts';
import { escaped } from './labels.ts';

/** One figure that stands out at the top. */
export interface ReportFact {
  readonly label: string;
  /** Such as `0.412`. */
  readonly value: string;
  /** Such as its interval. */
  readonly note?: string;
}

export interface ReportSection {
  readonly title: string;
  readonly blocks: readonly ReportBlock[];
}

export interface HtmlReport {
  readonly title: string;
  readonly summary: {
    /** The verdict in words, paragraph by paragraph. */
    readonly text: readonly string[];
    readonly facts?: readonly ReportFact[];
  };
  readonly sections: readonly ReportSection[];
  /** The numbers of the report for programs, as JSON in the element `numbers`; numbers that are not finite become null. */
  readonly numbers?: unknown;
  /** How the report came about: model, data, version. */
  readonly footer?: string;
}

/** Not even a broken text of a caller could reach out. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/** @throws DataError where a row of a table does not fit its columns */
export function htmlReport({ title, summary, sections, numbers, footer }: HtmlReport): string {
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    `<meta http-equiv="Content-Security-Policy" content="${POLICY}">`,
    '<link rel="icon" href="data:,">',
    `<title>${escaped(title)}</title>`,
    `<style>${PAGE_STYLE}</style>`,
    '</head>',
    '<body>',
    `<header>\n<h1>${escaped(title)}</h1>`,
    ...summary.text.map((text) => `<p class="verdict">${escaped(text)}</p>`),
    ...factsHtml(summary.facts ?? []),
    ...contentsHtml(sections),
    '</header>\n<main>',
    ...sections.map(sectionHtml),
    '</main>',
    ...(footer === undefined ? [] : [`<footer>${escaped(footer)}</footer>`]),
    ...(numbers === undefined
      ? []
      : [`<script type="application/json" id="numbers">${json(numbers)}</script>`]),
    '</body>',
    '</html>',
    '',
  ].join('\n');
}

function factsHtml(facts: readonly ReportFact[]): readonly string[] {
  if (facts.length === 0) return [];
  const items = facts.map(({ label, value, note }) => {
    const more = note === undefined ? '' : `<dd class="more">${escaped(note)}</dd>`;
    return `<div><dt>${escaped(label)}</dt><dd>${escaped(value)}</dd>${more}</div>`;
  });
  return [`<dl class="facts">${items.join('\n')}</dl>`];
}

function idOf(place: number): string {
  return `section-${place + 1}`;
}

function contentsHtml(sections: readonly ReportSection[]): readonly string[] {
  if (sections.length < 3) return [];
  const items = sections.map(
    ({ title }, place) => `<li><a href="#${idOf(place)}">${escaped(title)}</a></li>`,
  );
  return [`<nav aria-label="Contents"><ul>${items.join('')}</ul></nav>`];
}

function sectionHtml({ title, blocks }: ReportSection, place: number): string {
  const id = idOf(place);
  return [
    `<section aria-labelledby="${id}">`,
    `<h2 id="${id}">${escaped(title)}</h2>`,
    blocksHtml(blocks, id),
    '</section>',
  ].join('\n');
}

/** `<` could end the element in which the JSON stands. */
function json(numbers: unknown): string {
  const text = JSON.stringify(numbers, (_, value: unknown) =>
    ArrayBuffer.isView(value) && !(value instanceof DataView) ? Array.from(value as Float64Array) : value,
  );
  return (text ?? 'null').replace(/</g, '\\u003c');
}
