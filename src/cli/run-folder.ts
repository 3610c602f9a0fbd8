// The folder of this run's results, as project=, name= and exist_ok= say.
import { join } from 'node:path';
import { createRunFolder } from '#runtime';
import type { Config } from './config.ts';

/** @param name where the user gives none: that of the command */
export function openRunFolder(config: Config, name: string): Promise<string> {
  return createRunFolder({
    project: config.text('project') ?? join('runs', 'detect'),
    name: config.text('name') ?? name,
    existOk: config.flag('exist_ok') ?? false,
  });
}
