// A strict little XML reader for annotation files: elements, attributes, text and line numbers. No entities but the five of XML and
// numeric ones, so nothing can be fetched or blown up.
import { DataError } from '#core';

export interface XmlElement {
  readonly name: string;
  /** Own text without that of children, trimmed. */
  readonly text: string;
  /** Decoded values by name. */
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: readonly XmlElement[];
  /** 1-based line of the opening tag. */
  readonly line: number;
}

interface OpenElement {
  readonly name: string;
  readonly line: number;
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: XmlElement[];
  text: string;
}

/** Comments, CDATA, instructions and doctype, then tags, then text. A tag's attributes may hold `>` in quotes. */
const TOKEN =
  /<!--[\s\S]*?-->|<!\[CDATA\[[\s\S]*?\]\]>|<\?[\s\S]*?\?>|<!DOCTYPE[^>[]*(?:\[[\s\S]*?\])?\s*>|<\/\s*([\w:.-]+)\s*>|<([\w:.-]+)((?:\s+[\w:.-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>|[^<]+|</g;

const ATTRIBUTE = /([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
const NO_ATTRIBUTES: ReadonlyMap<string, string> = new Map();

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/**
 * @param file for messages
 * @returns the one element at the top
 * @throws DataError naming file and line where the text is not well-formed
 */
export function parseXml(text: string, file: string): XmlElement {
  const open: OpenElement[] = [{ name: '', line: 1, attributes: NO_ATTRIBUTES, children: [], text: '' }];
  let line = 1;
  for (const token of text.matchAll(TOKEN)) {
    const [whole, closing, opening, attributes = '', selfClosing] = token;
    const current = open.at(-1);
    if (whole === '<' || current === undefined) throw broken(file, line, 'a < that starts no tag');
    if (opening !== undefined) {
      const read = readAttributes(attributes, file, line);
      const element = { name: opening, line, attributes: read, children: [], text: '' };
      if (selfClosing === '/') current.children.push(element);
      else open.push(element);
    } else if (closing !== undefined) close(open, closing, file, line);
    else if (whole.startsWith('<![CDATA[')) current.text += whole.slice(9, -3);
    else if (!whole.startsWith('<')) {
      if (open.length === 1 && whole.trim() !== '') throw broken(file, line, 'text outside of all tags');
      current.text += decode(whole, file, line);
    }
    line += countLines(whole);
  }
  const unclosed = open.length > 1 ? open.at(-1) : undefined;
  if (unclosed !== undefined) throw broken(file, unclosed.line, `<${unclosed.name}> is never closed`);
  const [root, second] = open[0]?.children ?? [];
  if (root === undefined) throw broken(file, 1, 'no tag in it');
  if (second !== undefined) throw broken(file, second.line, `a second element at the top, <${second.name}>`);
  return root;
}

/** The first child of that name. */
export function childOf(element: XmlElement | undefined, name: string): XmlElement | undefined {
  return element?.children.find((child) => child.name === name);
}

function readAttributes(text: string, file: string, line: number): ReadonlyMap<string, string> {
  if (text === '') return NO_ATTRIBUTES;
  const values = new Map<string, string>();
  for (const [, name = '', double, single] of text.matchAll(ATTRIBUTE)) {
    if (values.has(name)) throw broken(file, line, `the attribute ${name} is given twice`);
    values.set(name, decode(double ?? single ?? '', file, line));
  }
  return values;
}

function close(open: OpenElement[], name: string, file: string, line: number): void {
  const element = open.pop();
  const parent = open.at(-1);
  if (element === undefined || parent === undefined) throw broken(file, line, `</${name}> closes nothing`);
  if (element.name !== name) {
    throw broken(file, line, `</${name}> where </${element.name}> of line ${element.line} is expected`);
  }
  parent.children.push({ ...element, text: element.text.trim() });
}

function decode(text: string, file: string, line: number): string {
  return text.replace(/&([^;\s&]*);?/g, (whole, name: string) => {
    const code = /^#(?:x([\da-f]+)|(\d+))$/i.exec(name);
    const point = code === null ? undefined : Number.parseInt(code[1] ?? code[2] ?? '', code[1] ? 16 : 10);
    if (point !== undefined && point <= 0x10_ffff) return String.fromCodePoint(point);
    const character = ENTITIES[name];
    if (character === undefined || !whole.endsWith(';'))
      throw broken(file, line, `an unknown entity ${whole}`);
    return character;
  });
}

function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
}

function broken(file: string, line: number, what: string): DataError {
  return new DataError(`${file}:${line}: not well-formed XML: ${what}`, {
    hint: 'export the annotation again; the file may be cut off',
  });
}
