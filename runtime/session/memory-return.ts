// Frees the outputs of a run at once. Each is a megabyte or so, and memory outside the JavaScript heap: left to the
// garbage collector it would force a full collection every dozen frames, on all cores.
import { MessageChannel } from 'node:worker_threads';
import type { HeadOutputs } from '#core';

/** Takes the memory of outputs that nobody reads any more; their arrays are empty afterwards. */
export type ReturnMemory = (outputs: HeadOutputs) => void;

export function createMemoryReturn(): ReturnMemory {
  const { port1, port2 } = new MessageChannel();
  // A message to a port whose other end is closed is dropped, and what was transferred with it is freed.
  port2.close();
  port1.unref();
  return (outputs) => {
    const buffers = new Set([...outputs.values()].map(({ data }) => data.buffer as ArrayBuffer));
    port1.postMessage(undefined, [...buffers]);
  };
}
