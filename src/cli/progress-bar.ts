// A bar on a terminal; nothing where no person looks.
import { SingleBar } from 'cli-progress';

export interface ProgressBar {
  /** A new label begins a new bar. */
  show(label: string, done: number, total: number, unit: string): void;
  /** Removes the bar, so that a line can be said. */
  stop(): void;
}

export function createProgressBar(): ProgressBar {
  let bar: SingleBar | undefined;
  let shown = '';
  return {
    show(label, done, total, unit) {
      if (!process.stderr.isTTY) return;
      if (bar === undefined || shown !== label) {
        bar?.stop();
        bar = new SingleBar({
          format: `${label} {bar} {value}/{total} ${unit}, ETA {eta_formatted}`,
          stream: process.stderr,
          hideCursor: true,
          clearOnComplete: true,
        });
        bar.start(total, done);
        shown = label;
      } else bar.update(done);
    },
    stop() {
      bar?.stop();
      bar = undefined;
    },
  };
}
