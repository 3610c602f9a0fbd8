// From the words of a command line to an exit code: the only place that catches everything.
import { EdgeDetectError } from '#core/basics';
import { abortOnSignals, Interrupted } from './interrupt.ts';
import { say, sayBug, sayError } from './output.ts';
import { packageVersion } from './package-version.ts';
import { runProgram } from './program.ts';

/** @returns the exit code */
export async function main(words: readonly string[]): Promise<number> {
  try {
    await runProgram(words, packageVersion(), abortOnSignals);
    return 0;
  } catch (error) {
    return report(error);
  }
}

function report(error: unknown): number {
  if (error instanceof Interrupted) {
    say(error.message);
    return error.exitCode;
  }
  // The reader of our output has gone (`| head -1`): that is his right and no fault.
  if (error instanceof Error && error.name === 'OutputClosed') return 0;
  if (error instanceof EdgeDetectError) {
    sayError(error);
    return error.exitCode;
  }
  sayBug(error);
  return 1;
}
