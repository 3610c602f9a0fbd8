// A counting semaphore: how many frames may be between the source and the consumer at once.

export interface Slots {
  /** Resolves when a slot is free and takes it; rejects with the signal's reason. */
  acquire(signal: AbortSignal): Promise<void>;
  release(): void;
}

export function createSlots(count: number): Slots {
  let free = count;
  const waiting: (() => void)[] = [];
  return {
    acquire(signal) {
      if (signal.aborted) return Promise.reject(signal.reason);
      if (free > 0) {
        free--;
        return Promise.resolve();
      }
      return new Promise((resolve, reject) => {
        const grant = () => {
          signal.removeEventListener('abort', giveUp);
          resolve();
        };
        const giveUp = () => {
          waiting.splice(waiting.indexOf(grant), 1);
          reject(signal.reason);
        };
        signal.addEventListener('abort', giveUp, { once: true });
        waiting.push(grant);
      });
    },
    release() {
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    },
  };
}
