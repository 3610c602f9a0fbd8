// Writes the page that says what to believe from the committed results of the studies.
//   node dist/samples/studies/what-to-believe/main.js [docs/what-to-believe.md]
import { existsSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EdgeDetectError } from 'edge-detect/core';
import { say } from '../common/output.ts';
import { projectRoot } from '../common/study-data.ts';
import { readStudyFile, type StudyFile } from '../common/study-file.ts';
import { believePage } from './page.ts';

/** Every `results.json` of the folder `samples/studies`. */
async function committedResults(folder: string): Promise<readonly StudyFile[]> {
  const names = (await readdir(folder)).sort();
  const paths = names.map((name) => join(folder, name, 'results.json')).filter((path) => existsSync(path));
  return Promise.all(paths.map(readStudyFile));
}

async function run(out: string): Promise<void> {
  const files = await committedResults(join(projectRoot(), 'samples', 'studies'));
  await writeFile(out, believePage(files));
  say(`${out}: the verdicts of ${files.map(({ study }) => study).join(', ')}`);
}

try {
  await run(process.argv[2] ?? join(projectRoot(), 'docs', 'what-to-believe.md'));
} catch (error) {
  if (!(error instanceof EdgeDetectError)) throw error;
  say(`${error.message}\n${error.hint}`);
  process.exitCode = error.exitCode;
}
