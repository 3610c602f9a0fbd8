// The version of this program, as its package states it.
import { readFileSync } from 'node:fs';

export function packageVersion(): string {
  const root = import.meta.url.endsWith('.ts') ? '../../package.json' : '../../../package.json';
  return (JSON.parse(readFileSync(new URL(root, import.meta.url), 'utf8')) as { version: string }).version;
}
