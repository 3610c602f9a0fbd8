// Holds the classes that a site file names against those of its model, once that is open.
import { ConfigError, nearest } from '#core';
import type { SiteFile } from './read-site.ts';

const MOST_LISTED = 20;

/**
 * @param classNames of the model, by class id
 * @throws ConfigError with one line for each class that the model does not have: file, line, column, key, nearest name
 */
export function checkClasses({ path, classUses }: SiteFile, classNames: readonly string[]): void {
  const strays = classUses.filter(({ name }) => !classNames.includes(name));
  if (strays.length === 0) return;
  const lines = strays.slice(0, MOST_LISTED).map(({ name, key, line, column, file }) => {
    const near = nearest(name, classNames);
    const where = file === undefined ? '' : ` in ${file}`;
    const suggestion = near === undefined ? '' : `; did you mean '${near}'?`;
    return `${path}:${line}:${column}: ${key}: the model has no class '${name}'${where}${suggestion}`;
  });
  if (strays.length > lines.length) lines.push(`and ${strays.length - lines.length} more`);
  throw new ConfigError(lines.join('\n'), { hint: `its classes are ${listed(classNames)}` });
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MOST_LISTED).join(', ');
  return names.length > MOST_LISTED ? `${shown} and ${names.length - MOST_LISTED} more` : shown;
}
