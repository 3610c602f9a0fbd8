// Finds the profile of a board by the name a person gives it, or by what the machine says of itself.
import { ConfigError, nearest } from '#core';
import { JETSONS } from './jetsons.ts';
import type { DeviceProfile } from './profile.ts';
import { WORKSTATIONS } from './workstations.ts';

export const PROFILES: readonly DeviceProfile[] = [...JETSONS, ...WORKSTATIONS];

/**
 * @param word `orin-nano`, `Orin Nano`, `jetson_orin_nano`
 * @throws ConfigError with the nearest name
 */
export function findProfile(word: string): DeviceProfile {
  const wanted = word
    .trim()
    .toLowerCase()
    .replace(/[\s_]+/g, '-');
  const found = PROFILES.find(({ id, aliases = [] }) => id === wanted || aliases.includes(wanted));
  if (found !== undefined) return found;
  const names = PROFILES.flatMap(({ id, aliases = [] }) => [id, ...aliases]);
  const near = nearest(wanted, names);
  throw new ConfigError(`profile=${word}: there is no such board or class of GPUs`, {
    hint: `${near === undefined ? '' : `did you mean profile=${near} ? `}there are ${PROFILES.map(({ id }) => id).join(', ')}`,
  });
}

/** @param compatible entries of the device tree, the particular one first */
export function profileOfBoard(compatible: readonly string[], model = ''): DeviceProfile | undefined {
  const text = compatible.join(' ');
  const byModule = JETSONS.find(({ modules = [] }) => modules.some((part) => text.includes(part)));
  if (byModule !== undefined) return byModule;
  // A board of another maker: its model often still says what the module is.
  const longestFirst = [...JETSONS].sort((a, b) => b.name.length - a.name.length);
  return longestFirst.find(({ name }) =>
    model.toLowerCase().includes(name.replace('Jetson ', '').toLowerCase()),
  );
}

/** @param gpuName as the driver writes it: `NVIDIA GeForce RTX 3060` */
export function profileOfGpu(gpuName: string): DeviceProfile | undefined {
  return WORKSTATIONS.find(({ gpuNames }) => gpuNames?.test(gpuName));
}
