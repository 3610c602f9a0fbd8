// What runs and what is left behind: for tests that no child outlives its work.
import { readdirSync, readFileSync } from 'node:fs';

/** False also for a process that ended and was not yet reaped. Linux only. */
export function isAlive(pid: number): boolean {
  const state = statOf(pid)?.state;
  return state !== undefined && state !== 'Z' && state !== 'X';
}

/** Names of the living direct children of this process. Linux only. */
export function livingChildren(): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statOf(Number(name)))
    .filter((stat) => stat?.parent === process.pid && stat.state !== 'Z')
    .map((stat) => stat?.name ?? '');
}

/** Direct children of a process, ended ones too. Linux only. */
export function childrenOf(parent: number): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => statOf(pid)?.parent === parent);
}

export function openFileCount(): number {
  return readdirSync('/proc/self/fd').length;
}

function statOf(pid: number): { name: string; state: string; parent: number } | undefined {
  try {
    const [, name = '', state = '', parent = ''] =
      /^\d+ \((.*)\) (\S) (\d+) /s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    return { name, state, parent: Number(parent) };
  } catch {
    return undefined;
  }
}
