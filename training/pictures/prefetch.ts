// Prepares the next batch while one is in use.

/**
 * Calls `make` for 0, 1, … count − 1, always one call ahead of what is asked for. `slot` alternates between 0 and 1, so
 * that two sets of buffers do: a batch lives in its slot until the next one is asked for.
 */
export async function* prefetched<Batch>(
  range: { readonly first: number; readonly count: number },
  make: (index: number, slot: number) => Promise<Batch>,
  signal?: AbortSignal,
): AsyncGenerator<Batch> {
  const start = (index: number) => {
    const batch = make(index, index % 2);
    // It may fail before anybody waits for it.
    batch.catch(() => {});
    return batch;
  };
  let next: Promise<Batch> | undefined;
  try {
    for (let index = range.first; index < range.count; index++) {
      signal?.throwIfAborted();
      const batch = await (next ?? start(index));
      next = index + 1 < range.count ? start(index + 1) : undefined;
      yield batch;
    }
  } finally {
    // The buffers must be free before another pass writes into them.
    await next?.catch(() => {});
  }
}
