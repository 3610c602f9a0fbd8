// Hands values from one async task to another in order, with the end and the error of the first.

export interface Channel<T> {
  send(value: T): void;
  /** No more values; with an error, the reader meets it after the last value. */
  end(error?: unknown): void;
  /** The next value, or undefined after the end. */
  next(): Promise<T | undefined>;
}

export function createChannel<T>(): Channel<T> {
  const values: T[] = [];
  let ending: { readonly error?: unknown } | undefined;
  let wake: (() => void) | undefined;
  return {
    send(value) {
      values.push(value);
      wake?.();
    },
    end(error) {
      ending = error === undefined ? {} : { error };
      wake?.();
    },
    async next() {
      while (values.length === 0 && ending === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const value = values.shift();
      if (value === undefined && ending?.error !== undefined) throw ending.error;
      return value;
    },
  };
}
