// What is installed and usable here, in lines for people. Measured by others; only worded here.
import type { HostFacts } from './host.ts';

export type Probe =
  | { readonly name: string; readonly status: 'available'; readonly detail: string }
  | { readonly name: string; readonly status: 'missing'; readonly reason: string; readonly hint: string };

export interface DevicesReport {
  readonly host: HostFacts;
  /** Each was tried with a real session, not read from a list. */
  readonly providers: readonly Probe[];
  readonly programs: readonly Probe[];
}

export function devicesLines({ host, providers, programs }: DevicesReport): readonly string[] {
  const gib = (bytes: number) => `${(bytes / 2 ** 30).toFixed(1)} GiB`;
  return [
    `machine    ${host.platform}, ${host.cores} cores (${host.cpu}), ${gib(host.memoryBytes.total)} memory, ${gib(host.memoryBytes.free)} free`,
    ...(host.jetson === undefined ? [] : [`jetson     ${host.jetson.board}, ${host.jetson.release}`]),
    `node       ${host.node}`,
    ...providers.map((probe) => probeLine('provider', probe)),
    ...programs.map((probe) => probeLine('program', probe)),
  ];
}

function probeLine(kind: string, probe: Probe): string {
  const start = `${kind.padEnd(10)} ${probe.name.padEnd(8)} `;
  return probe.status === 'available'
    ? `${start}usable: ${probe.detail}`
    : `${start}not usable: ${probe.reason}\n${' '.repeat(20)}what to do: ${probe.hint}`;
}
