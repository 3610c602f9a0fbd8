// Ctrl-C and its relatives: the first asks every stage to finish in order, the second ends the process at once.

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

type EndingSignal = keyof typeof EXIT_CODES;

export class Interrupted extends Error {
  readonly exitCode: number;

  constructor(signal: EndingSignal) {
    super(`stopped by ${signal}`);
    this.name = 'Interrupted';
    this.exitCode = EXIT_CODES[signal];
  }
}

/** @returns a signal that aborts with `Interrupted` when the process is asked to end */
export function abortOnSignals(): AbortSignal {
  const controller = new AbortController();
  for (const name of Object.keys(EXIT_CODES) as EndingSignal[]) {
    process.on(name, () => {
      if (controller.signal.aborted) endAtOnce(name);
      controller.abort(new Interrupted(name));
    });
  }
  return controller.signal;
}

/**
 * Dies of the signal itself. `process.exit` would not do: while a thread is inside the network it aborts the process
 * with a crash report. Children end by themselves when their pipes close.
 */
function endAtOnce(name: EndingSignal): void {
  process.removeAllListeners(name);
  process.kill(process.pid, name);
}
