// Values written as Python literals or JSON inside model metadata: `{0: 'person', 1: "dog's"}`, `[640, 640]`, `True`.
// Nothing is evaluated: what is not a plain value is refused.

export type Literal =
  | string
  | number
  | boolean
  | null
  | readonly Literal[]
  | ReadonlyMap<string | number, Literal>;

/** @returns the value, or undefined when the text is no literal */
export function parseLiteral(text: string): Literal | undefined {
  const reader = new LiteralReader(text);
  try {
    const value = reader.value();
    return reader.atEnd() ? value : undefined;
  } catch (error) {
    if (error instanceof NotALiteral) return undefined;
    throw error;
  }
}

class NotALiteral extends Error {}

const WORDS: ReadonlyMap<string, Literal> = new Map<string, Literal>([
  ['True', true],
  ['true', true],
  ['False', false],
  ['false', false],
  ['None', null],
  ['null', null],
]);

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  a: '\x07',
  v: '\v',
  '0': '\0',
  '\n': '',
};

/** Nested deeper than this is an attack or an accident, not class names. */
const MAX_DEPTH = 64;

class LiteralReader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  atEnd(): boolean {
    this.#space();
    return this.#at === this.#text.length;
  }

  value(): Literal {
    this.#space();
    if (this.#depth > MAX_DEPTH) throw new NotALiteral();
    const first = this.#text[this.#at] ?? '';
    switch (first) {
      case '{':
        return this.#nested(() => this.#map());
      case '[':
        return this.#nested(() => this.#items(']'));
      case '(':
        return this.#nested(() => this.#tuple());
      case "'":
      case '"':
        return this.#string();
      default:
        return this.#wordOrNumber();
    }
  }

  #nested<T>(read: () => T): T {
    this.#depth++;
    const value = read();
    this.#depth--;
    return value;
  }

  #map(): Literal {
    this.#at++;
    const entries = new Map<string | number, Literal>();
    while (!this.#take('}')) {
      const key = this.value();
      if (typeof key !== 'string' && typeof key !== 'number') throw new NotALiteral();
      this.#expect(':');
      entries.set(key, this.value());
      if (!this.#take(',')) {
        this.#expect('}');
        break;
      }
    }
    return entries;
  }

  #items(close: string): Literal[] {
    this.#at++;
    const items: Literal[] = [];
    while (!this.#take(close)) {
      items.push(this.value());
      if (!this.#take(',')) {
        this.#expect(close);
        break;
      }
    }
    return items;
  }

  /** `(1)` is 1 in Python, `(1,)` a tuple. */
  #tuple(): Literal {
    const start = this.#at;
    const items = this.#items(')');
    const [only] = items;
    const hasComma = this.#text.slice(start, this.#at).includes(',');
    return items.length === 1 && only !== undefined && !hasComma ? only : items;
  }

  #string(): string {
    let text = '';
    // Adjacent strings are one string in Python.
    while (this.#text[this.#at] === "'" || this.#text[this.#at] === '"') {
      text += this.#oneString();
      this.#space();
    }
    return text;
  }

  #oneString(): string {
    const quote = this.#text[this.#at++];
    let text = '';
    for (;;) {
      const char = this.#text[this.#at++];
      if (char === undefined) throw new NotALiteral();
      if (char === quote) return text;
      text += char === '\\' ? this.#escape() : char;
    }
  }

  #escape(): string {
    const char = this.#text[this.#at++];
    if (char === undefined) throw new NotALiteral();
    const digits = { x: 2, u: 4, U: 8 }[char];
    if (digits === undefined) return ESCAPES[char] ?? (/['"\\/]/.test(char) ? char : `\\${char}`);
    const code = Number.parseInt(this.#text.slice(this.#at, this.#at + digits), 16);
    this.#at += digits;
    if (Number.isNaN(code) || code > 0x10ffff) throw new NotALiteral();
    // JSON writes characters beyond 16 bits as two \u halves: code units join by themselves.
    return char === 'U' ? String.fromCodePoint(code) : String.fromCharCode(code);
  }

  #wordOrNumber(): Literal {
    const rest = this.#text.slice(this.#at, this.#at + 64);
    const number = /^[+-]?(\d[\d_]*\.?\d*|\.\d+)([eE][+-]?\d+)?/.exec(rest)?.[0];
    if (number !== undefined) {
      this.#at += number.length;
      return Number(number.replaceAll('_', ''));
    }
    const word = /^\w+/.exec(rest)?.[0] ?? '';
    if (/^[uUbBrR]$/.test(word) && /^.['"]/.test(rest)) {
      this.#at++;
      return this.#string();
    }
    const value = WORDS.get(word);
    if (value === undefined) throw new NotALiteral();
    this.#at += word.length;
    return value;
  }

  #space(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at++;
  }

  #take(char: string): boolean {
    this.#space();
    if (this.#text[this.#at] !== char) return false;
    this.#at++;
    return true;
  }

  #expect(char: string): void {
    if (!this.#take(char)) throw new NotALiteral();
  }
}
