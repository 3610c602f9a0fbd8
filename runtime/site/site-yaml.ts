// YAML to plain values that know where in the file they stand, with anchors and merge keys followed.
import { type Alias, type Document, isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { ConfigError } from '#core';
import { type Environment, substituteEnvironment } from './site-environment.ts';
import { SiteFaults } from './site-faults.ts';
import { isRecord, type Placed, type PositionOf, type SitePath } from './site-placed.ts';

export interface SiteYaml {
  readonly root: Placed;
  readonly faults: SiteFaults;
  readonly positionOf: PositionOf;
}

/** More than any site needs; aliases of aliases would make a small file endless. */
const MOST_VALUES = 100_000;
const DEEPEST = 20;

/** What objects have by nature: as keys they would be lost or worse. */
const UNUSABLE_KEYS: ReadonlySet<string> = new Set(['__proto__', 'prototype', 'constructor']);

/**
 * @param path of the file, for messages
 * @throws ConfigError where it is not YAML or empty; other faults are gathered in `faults`
 */
export function readYaml(text: string, path: string, env: Environment): SiteYaml {
  const lines = new LineCounter();
  const positionOf: PositionOf = (offset) => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
  const empty: Placed = { at: 0, keyAt: 0, value: {}, children: new Map() };
  const faults = new SiteFaults(path, empty, positionOf);
  for (const { pos, code, message } of [...document.errors.slice(0, 1), ...document.warnings])
    faults.addAt(pos[0], [], explain(code, message));
  faults.throwIfAny();
  if (document.contents === null) {
    throw new ConfigError(`${path}:1:1: the file is empty, expected a site: model, cameras`, {
      hint: 'start from samples/site/site.yaml',
    });
  }
  const walk = new Walk(document, env);
  const root = walk.visit(document.contents, [], 0);
  const placed = new SiteFaults(path, root, positionOf);
  for (const { offset, path: at, ...fault } of walk.faults) placed.addAt(offset, at, fault);
  if (walk.isTooLarge) placed.throwIfAny();
  return { root, faults: placed, positionOf };
}

const EXPLAINED: Readonly<Record<string, readonly [text: string, hint: string]>> = {
  TAB_AS_INDENT: ['a tab is no indentation in YAML', 'indent with spaces'],
  MULTIPLE_DOCS: ['a second document begins here', 'write one site in one file, without --- in it'],
};

function explain(code: string, message: string): { readonly text: string; readonly hint: string } {
  const [text, hint] = EXPLAINED[code] ?? [];
  if (text !== undefined && hint !== undefined) return { text, hint };
  if (code === 'TAG_RESOLVE_FAILED')
    return {
      text: `not understood: ${message}`,
      hint: `tags are not used here; write \${NAME} for a secret`,
    };
  return { text: `not valid YAML: ${message}`, hint: 'correct the line, or put the text in quotes' };
}

interface WalkFault {
  readonly offset: number;
  readonly path: SitePath;
  readonly text: string;
  readonly hint: string;
}

/** One pass over the nodes of a document. */
class Walk {
  readonly faults: WalkFault[] = [];
  readonly #document: Document.Parsed;
  readonly #env: Environment;
  /** Maps and lists that the walk is inside of. */
  readonly #open = new Set<unknown>();
  /** By alias: finding one again looks through the whole document. */
  readonly #targets = new Map<Alias, unknown>();
  #values = 0;
  isTooLarge = false;

  constructor(document: Document.Parsed, env: Environment) {
    this.#document = document;
    this.#env = env;
  }

  /** @param keyAt offset of the key that the node belongs to */
  visit(node: unknown, path: SitePath, keyAt: number): Placed {
    const nothing: Placed = { at: keyAt, keyAt, value: null, children: new Map() };
    if (this.#isEndless(path, keyAt)) return nothing;
    if (isAlias(node)) return this.#alias(node, path, keyAt);
    const at = offsetOf(node) ?? keyAt;
    if (isScalar(node)) return this.#scalar(node.value, { path, at, keyAt });
    if (!isMap(node) && !isSeq(node)) return nothing;
    this.#open.add(node);
    const placed = isMap(node)
      ? this.#map(node.items, { path, at, keyAt })
      : this.#list(node.items, { path, at, keyAt });
    this.#open.delete(node);
    return placed;
  }

  #isEndless(path: SitePath, offset: number): boolean {
    this.#values++;
    if (!this.isTooLarge && (this.#values > MOST_VALUES || path.length > DEEPEST)) {
      this.isTooLarge = true;
      this.#fault(path.slice(0, 1), offset, 'the file is nested too deeply', 'write it out plainly');
    }
    return this.isTooLarge;
  }

  #alias(node: Alias, path: SitePath, keyAt: number): Placed {
    if (!this.#targets.has(node)) this.#targets.set(node, node.resolve(this.#document));
    const target = this.#targets.get(node);
    const at = offsetOf(node) ?? keyAt;
    if (target !== undefined && !this.#open.has(target)) return this.visit(target, path, keyAt);
    const what = target === undefined ? `there is no &${node.source} above` : `&${node.source} holds itself`;
    this.#fault(path, at, what, 'write &name before a value, and *name where it is meant again');
    return { at, keyAt, value: null, children: new Map() };
  }

  #scalar(value: unknown, { path, at, keyAt }: Place): Placed {
    const children = new Map<string, Placed>();
    if (typeof value !== 'string') return { at, keyAt, value, children };
    const { text, changed, faults } = substituteEnvironment(value, this.#env);
    for (const fault of faults) this.faults.push({ offset: at, path, ...fault });
    return { at, keyAt, value: text, children, ...(changed && { written: value }) };
  }

  #list(nodes: readonly unknown[], { path, at, keyAt }: Place): Placed {
    const items = nodes.map((node, index) =>
      this.visit(node, [...path, String(index)], offsetOf(node) ?? at),
    );
    const children = new Map(items.map((item, index) => [String(index), item]));
    return { at, keyAt, value: items.map(({ value }) => value), children };
  }

  #map(items: readonly { readonly key: unknown; readonly value: unknown }[], place: Place): Placed {
    const children = new Map<string, Placed>();
    const merged: Placed[] = [];
    for (const { key, value } of items) {
      const keyAt = offsetOf(key) ?? place.at;
      const name = nameOf(key);
      if (name === undefined || UNUSABLE_KEYS.has(name)) {
        this.#fault(
          [...place.path, name ?? '?'],
          keyAt,
          'this cannot be a key',
          'write a plain word as the key',
        );
      } else if (name === '<<') {
        merged.push(...this.#mergedOf(value, place, keyAt));
      } else if (children.has(name)) {
        this.#fault([...place.path, name], keyAt, 'this key stands here twice', 'remove one of the two');
      } else {
        children.set(name, this.visit(value, [...place.path, name], keyAt));
      }
    }
    // What is written beside a merge key wins over what it brings; of two that are merged, the first wins.
    for (const source of merged)
      for (const [name, child] of source.children) if (!children.has(name)) children.set(name, child);
    const value = Object.fromEntries([...children].map(([name, child]) => [name, child.value]));
    return { at: place.at, keyAt: place.keyAt, value, children };
  }

  #mergedOf(node: unknown, { path }: Place, keyAt: number): readonly Placed[] {
    const list = isSeq(node) ? node.items : [node];
    return list.flatMap((item) => {
      const source = this.visit(item, path, keyAt);
      if (isRecord(source.value)) return [source];
      this.#fault([...path, '<<'], keyAt, 'expected the anchor of a map', 'write <<: *name');
      return [];
    });
  }

  #fault(path: SitePath, offset: number, text: string, hint: string): void {
    this.faults.push({ offset, path, text, hint });
  }
}

interface Place {
  readonly path: SitePath;
  readonly at: number;
  readonly keyAt: number;
}

function nameOf(key: unknown): string | undefined {
  if (!isScalar(key) || key.value === null) return undefined;
  // As written: `1.0` is a name, and not the number 1.
  return typeof key.value === 'string' ? key.value : (key.source ?? String(key.value));
}

function offsetOf(node: unknown): number | undefined {
  const range =
    typeof node === 'object' && node !== null && 'range' in node ? (node.range as unknown) : undefined;
  return Array.isArray(range) && typeof range[0] === 'number' ? range[0] : undefined;
}
