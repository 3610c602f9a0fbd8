// A study as a user runs it: the built program, to its end.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface StudyRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Both, in the order in which they came. */
  readonly text: string;
}

/** @param testData where it looks for real sets; a folder that is not there: it finds none */
export function runStudy(
  name: string,
  words: readonly string[],
  { testData }: { readonly testData?: string } = {},
): Promise<StudyRun> {
  const main = fileURLToPath(new URL(`../../dist/samples/studies/${name}/main.js`, import.meta.url));
  const env = { ...process.env, ...(testData !== undefined && { EDGE_DETECT_TEST_DATA: testData }) };
  const child = spawn(process.execPath, [main, ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const said = { stdout: '', stderr: '', text: '' };
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (part: string) => {
      said[stream] += part;
      said.text += part;
    });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...said }));
  });
}
