// Where the runtime put the nodes of a graph: asked after it was loaded, because a list of providers proves nothing.
import { type OrtApi, PLACEMENT_LEVEL, type Pointer } from './api.ts';
import type { OrtLibrary } from './library.ts';

/** Configuration entries that let `readPlacement` answer. */
export function placementEntries({ level }: OrtApi): Readonly<Record<string, string>> {
  return level >= PLACEMENT_LEVEL ? { 'session.record_ep_graph_assignment_info': '1' } : {};
}

/** @returns nodes by provider, in the runtime's own names; undefined before ONNX Runtime 1.24, which does not say it */
export function readPlacement(
  { api, koffi }: OrtLibrary,
  session: Pointer,
): ReadonlyMap<string, number> | undefined {
  if (api.level < PLACEMENT_LEVEL) return undefined;
  const slot = new BigUint64Array(1);
  const count = new BigUint64Array(1);
  api.call('Session_GetEpGraphAssignmentInfo', session, slot, count);
  const length = Number(count[0]);
  const parts: readonly bigint[] =
    length === 0 ? [] : [...koffi.decode(slot[0], 'uint64', length)].map(BigInt);
  const nodes = new Map<string, number>();
  for (const part of parts) {
    api.call('EpAssignedSubgraph_GetEpName', part, slot);
    const provider = koffi.decode.string(slot[0]);
    api.call('EpAssignedSubgraph_GetNodes', part, slot, count);
    nodes.set(provider, (nodes.get(provider) ?? 0) + Number(count[0]));
  }
  return nodes;
}
