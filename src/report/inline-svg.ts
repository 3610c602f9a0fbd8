// A chart as part of a page: colours that follow the page, nothing that names another address, and half the bytes.
import { escaped } from './labels.ts';
import { withIds } from './sheet.ts';
import { COLOURS } from './style.ts';

/** Of an SVG that stands alone: a page says it once, or says it in the label of the whole. */
const LEFT_OUT =
  / (?:xmlns(?::xlink)?|version|role|aria-[a-z]+|pointer-events|font-family|class)="[^"]*"| (?:fill-|stroke-)?opacity="1"/g;

/** Labels that found no room, and what has no extent. */
const UNSEEN = [
  /<text [^>]*opacity="0"[^>]*>[^<]*<\/text>/g,
  /<path(?: d="M0,0h0v0h0Z"| d=""| display="none")*\/>/g,
  /<g><\/g>/g,
];

/**
 * @param label what is shown
 * @param prefix one for each SVG of a page
 */
export function inlineSvg(svg: string, label: string, prefix: string): string {
  // Only tags: a name in a text may look like an attribute.
  let content = withIds(svg, prefix).replace(/<[^>]+>/g, slimTag);
  for (const pattern of UNSEEN) content = content.replace(pattern, '');
  return content.replace('<svg', `<svg role="img" aria-label="${escaped(label)}"`);
}

const VARIABLES = new Map(Object.entries(COLOURS).map(([name, hex]) => [hex as string, `var(--${name})`]));

function slimTag(tag: string): string {
  return tag
    .replace(LEFT_OUT, '')
    .replace(/ (d|transform)="([^"]*)"/g, (_, name, value) => ` ${name}="${rounded(value)}"`)
    .replace(/ (fill|stroke)="([^"]*)"/g, (_, name, value) => ` ${name}="${VARIABLES.get(value) ?? value}"`);
}

/** A tenth of a px is less than an eye can see. */
function rounded(numbers: string): string {
  return numbers.replace(/\d+\.\d{2,}/g, (value) => `${Number(Number(value).toFixed(1))}`);
}
