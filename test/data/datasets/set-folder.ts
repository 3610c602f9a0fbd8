// A temporary data set of one test, and short ways to look at what was read from it.
import type { Dataset, DatasetFault, SplitName } from '#data/datasets';
import { RunFolder, solidPng } from '../../support/run-folder.ts';

export class SetFolder extends RunFolder {
  /** Writes a grey PNG of 64x64 px, or of another size or shade. */
  async picture(name: string, size = { width: 64, height: 64 }, shade = 128): Promise<string> {
    return this.write(name, await solidPng(size, [shade, shade, shade]));
  }

  /** Writes pictures and their label files: `images/<stem>.png`, `labels/<stem>.txt`. */
  async yolo(
    labels: Readonly<Record<string, string>>,
    names: readonly string[] = ['a', 'b'],
  ): Promise<string> {
    for (const [stem, text] of Object.entries(labels)) {
      await this.picture(`images/${stem}.png`);
      await this.write(`labels/${stem}.txt`, text);
    }
    return this.write('data.yaml', `train: images\nnames: [${names.join(', ')}]\n`);
  }
}

export function faultsOf({ faults }: Pick<Dataset, 'faults'>, kind: string): readonly DatasetFault[] {
  return faults.filter((fault) => fault.kind === kind);
}

/** The faults without paths of the temporary folder, as `severity kind file:line`. */
export function told({ faults }: Pick<Dataset, 'faults'>, folder: RunFolder): string[] {
  return faults.map(
    ({ severity, kind, file, line }) =>
      `${severity} ${kind} ${file.replace(`${folder.path}/`, '')}${line === undefined ? '' : `:${line}`}`,
  );
}

/** Class and corners of every object of a split, to six decimals. */
export function boxesOf({ splits }: Dataset, split: SplitName = 'train'): number[][] {
  return (splits[split] ?? []).flatMap(({ objects }) =>
    objects.map(({ classId, x1, y1, x2, y2 }) => [
      classId,
      ...[x1, y1, x2, y2].map((value) => Number(value.toFixed(6))),
    ]),
  );
}

/** File names of a split. */
export function namesOf({ splits }: Dataset, split: SplitName = 'train'): string[] {
  return (splits[split] ?? []).map(({ path }) => path.split('/').at(-1) ?? '');
}
