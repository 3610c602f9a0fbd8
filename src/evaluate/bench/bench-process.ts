// The process in which one model is measured once: it is told what over IPC, answers, and ends. Built code alone:
// Node 20 runs no TypeScript.
import { EdgeDetectError } from '#core';
import { measureRun, type RunRequest } from './measure-run.ts';
import type { RunAnswer } from './run-process.ts';

/** Who waits for the answer is gone. Not `process.exit`: while a thread is inside the network it would abort. */
const endAtOnce = () => process.kill(process.pid, 'SIGKILL');

process.once('disconnect', endAtOnce);
process.once('message', async (request: RunRequest) => {
  const answer = await measureRun(request).then(
    (run): RunAnswer => ({ run }),
    (error: unknown): RunAnswer => ({ fault: faultOf(error) }),
  );
  process.removeListener('disconnect', endAtOnce);
  process.send?.(answer, () => process.disconnect());
});

function faultOf(error: unknown): NonNullable<RunAnswer['fault']> {
  if (error instanceof EdgeDetectError) {
    return { kind: error.name, message: error.message, hint: error.hint };
  }
  return { kind: 'bug', message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}
