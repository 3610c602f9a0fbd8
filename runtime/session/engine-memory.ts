// Whether there is memory enough to build a TensorRT engine: a build that is killed half-way costs minutes and the board's patience.
import { DeviceError } from '#core';

export interface BuilderMemory {
  readonly freeMiB: number;
  readonly modelBytes: number;
  /** Most memory that the builder may try layers in. Default: a quarter of what is free, 2048 at most. */
  readonly askedMiB?: number;
  readonly hint: string;
}

const MIB = 2 ** 20;
const MOST_WORKSPACE_MIB = 2048;
const LEAST_WORKSPACE_MIB = 64;
/** CUDA's context and the builder's own libraries. A judgement from users' reports of killed builds. */
const BUILDER_MIB = 512;
/** Weights as read, as built, and as tried. A judgement too. */
const COPIES_OF_WEIGHTS = 3;

/**
 * @returns the workspace to give to the builder
 * @throws DeviceError where the build would be killed half-way
 */
export function builderWorkspaceMiB({ freeMiB, modelBytes, askedMiB, hint }: BuilderMemory): number {
  const most = Math.max(LEAST_WORKSPACE_MIB, Math.min(MOST_WORKSPACE_MIB, Math.floor(freeMiB / 4)));
  const wanted = askedMiB ?? most;
  const needed = wanted + BUILDER_MIB + Math.ceil((COPIES_OF_WEIGHTS * modelBytes) / MIB);
  if (freeMiB >= needed) return wanted;
  throw new DeviceError(`${freeMiB} MiB of memory are free, building this engine takes about ${needed}`, {
    hint,
  });
}
