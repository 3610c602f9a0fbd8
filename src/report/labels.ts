// Names from a data set as texts of a chart: short, each its own, and nothing that XML cannot hold.

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** For text and attributes of XML and HTML. */
export function escaped(content: string): string {
  return printable(content).replace(/[&<>"']/g, (sign) => ESCAPES[sign] ?? sign);
}

/** Control characters and lone surrogates are no part of XML, not even as references. */
export function printable(content: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  return content.replace(/[\u0000-\u001f\u007f\ufffe\uffff]|\p{Surrogate}/gu, ' ');
}

export function shortened(content: string, length: number): string {
  const signs = Array.from(printable(content));
  return signs.length <= length ? signs.join('') : `${signs.slice(0, length - 1).join('')}…`;
}

/** Equal labels would be one bar, or one entry of a legend: a width of zero keeps them apart. */
export function distinct(labels: readonly string[]): readonly string[] {
  const seen = new Map<string, number>();
  return labels.map((label) => {
    const before = seen.get(label) ?? 0;
    seen.set(label, before + 1);
    return label + '\u200b'.repeat(before);
  });
}

/** @param length most characters of each */
export function chartLabels(names: readonly string[], length = 18): readonly string[] {
  return distinct(names.map((name) => shortened(name, length)));
}
