// The faults of a data set counted by kind, and the error that keeps a wrong set from being trained on.
import { DataError } from '#core';
import type { Dataset, DatasetFault, FaultSeverity } from './types.ts';

/** All faults of one kind and severity. */
export interface FaultSummary {
  readonly kind: string;
  readonly severity: FaultSeverity;
  readonly count: number;
  /** How many files have it. */
  readonly fileCount: number;
  /** In the order in which they were found. */
  readonly faults: readonly DatasetFault[];
}

const ORDER: readonly FaultSeverity[] = ['error', 'warning', 'notice'];

/** By kind: errors before warnings before notices, the most frequent kind first. */
export function summarizeFaults(dataset: Pick<Dataset, 'faults'>): readonly FaultSummary[] {
  const groups = new Map<string, DatasetFault[]>();
  for (const fault of dataset.faults) {
    const key = `${fault.severity} ${fault.kind}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [fault]);
    else group.push(fault);
  }
  return [...groups.values()]
    .map((faults) => ({
      kind: faults[0]?.kind ?? '',
      severity: faults[0]?.severity ?? 'notice',
      count: faults.length,
      fileCount: new Set(faults.map(({ file }) => file)).size,
      faults,
    }))
    .sort((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity) || b.count - a.count);
}

/** `file:line message`, as editors and people can follow it. */
export function formatFault({ file, line, message, hint }: DatasetFault): string {
  return `${file}${line === undefined ? '' : `:${line}`} ${message} → ${hint}`;
}

/**
 * Refuses a set whose labels would teach something wrong.
 * @throws DataError that counts the errors by kind and shows the first of each
 */
export function expectSoundDataset(dataset: Dataset): void {
  const errors = summarizeFaults(dataset).filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return;
  const count = errors.reduce((sum, group) => sum + group.count, 0);
  const lines = errors.map((group) => {
    const first = group.faults[0];
    return `${group.count} × ${group.kind}${first === undefined ? '' : `, first: ${formatFault(first)}`}`;
  });
  throw new DataError(
    `${dataset.source}: ${count} ${count === 1 ? 'error' : 'errors'} in the labels\n  ${lines.join('\n  ')}`,
    { hint: `see them all with edge-detect inspect data=${dataset.source} faults=all, and correct them` },
  );
}
