// Puts variables of the environment into texts of the site file, so that secrets need not stand in it.
import { nearest } from '#core';

/** Variables by name, as `process.env` holds them. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface Substituted {
  readonly text: string;
  readonly changed: boolean;
  /** What is wrong with a reference, and what to do about it. */
  readonly faults: readonly { readonly text: string; readonly hint: string }[];
}

const REFERENCE = /\$\$\{|\$\{([^}]*)(\}?)/g;
const NAME_AND_DEFAULT = /^([A-Za-z_]\w*)(?::-(.*))?$/s;

/** `${NAME}`; `${NAME:-default}` where it is unset or empty; `$${` stands for `${` itself. */
export function substituteEnvironment(written: string, env: Environment): Substituted {
  const faults: { text: string; hint: string }[] = [];
  let changed = false;
  const text = written.replace(REFERENCE, (all, inside: string | undefined, closing: string | undefined) => {
    changed = true;
    if (inside === undefined) return '${';
    const [, name, otherwise] = NAME_AND_DEFAULT.exec(inside) ?? [];
    if (name === undefined || closing === '') {
      const hint = 'write $${ for the two characters themselves';
      faults.push({ text: `found '${all}', expected \${NAME} or \${NAME:-default}`, hint });
      return all;
    }
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (otherwise !== undefined) return value === undefined || value === '' ? otherwise : value;
    if (value !== undefined) return value;
    faults.push(missing(name, env));
    return all;
  });
  return { text, changed, faults };
}

function missing(name: string, env: Environment): { readonly text: string; readonly hint: string } {
  const near = nearest(name, Object.keys(env));
  const suggestion = near === undefined ? '' : `; did you mean ${near}?`;
  return {
    text: `the environment has no variable ${name}${suggestion}`,
    hint: `set ${name} before the start, or write \${${name}:-default}`,
  };
}
