// What an export says on the terminal.
import { basename } from 'node:path';
import type { Exported } from '#export';

export function exportLines({ paths, manifest, bytes, files, remarks }: Exported): readonly string[] {
  const { gate, passes, notes, input } = manifest;
  const width = Math.max(...passes.map(({ name }) => name.length));
  return [
    `${basename(paths.model)}: ${(bytes / 1e6).toFixed(2)} MB, ${manifest.precision}, input ${input.name} ${input.dtype} [${input.shape.join(', ')}]`,
    ...passes.flatMap(({ name, note }) => (note === undefined ? [] : [`   ${name.padEnd(width)}  ${note}`])),
    ...notes.map((note) => `   ${note}`),
    `gate on ${gate.pictures} pictures of ${gate.on}: ${gate.passed ? 'passed' : 'FAILED, written all the same'}`,
    ...gate.checks.map(({ what, found, allowed, floor, passed, note }) => {
      const least = floor === 'minFound' ? 'at least' : 'at most ';
      const value = found === null ? 'not judged' : number(found);
      const more = note === undefined ? '' : `  (${note})`;
      return `   ${passed ? ' ' : '!'} ${what.padEnd(44)} ${value.padStart(10)}  ${least} ${number(allowed)}${more}`;
    }),
    ...files.map((file) => `beside it: ${file}`),
    ...remarks.map((remark) => `   ${remark}`),
    `report: ${paths.report}`,
  ];
}

function number(value: number): string {
  return Number(value.toPrecision(3)).toString();
}
