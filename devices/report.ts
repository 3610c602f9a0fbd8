// What is installed and usable here, in lines for people. Measured by others; only worded here.
import type { Advice, Finding } from './advice.ts';
import type { HostFacts } from './host.ts';
import type { MachineFacts } from './machine.ts';

export type Probe =
  | { readonly name: string; readonly status: 'available'; readonly detail: string }
  | { readonly name: string; readonly status: 'missing'; readonly reason: string; readonly hint: string };

export interface DevicesReport {
  readonly host: HostFacts;
  readonly machine: MachineFacts;
  readonly advice: Advice;
  /** Each was tried with a real session, not read from a list. */
  readonly providers: readonly Probe[];
  readonly programs: readonly Probe[];
}

const MARKS: Readonly<Record<Finding['status'], string>> = {
  works: 'works',
  limited: 'works, but',
  missing: 'missing',
  unknown: 'unknown',
};

export function devicesLines({
  host,
  machine,
  advice,
  providers,
  programs,
}: DevicesReport): readonly string[] {
  const gib = (bytes: number) => `${(bytes / 2 ** 30).toFixed(1)} GiB`;
  const { jetson } = machine;
  return [
    `machine    ${host.platform}, ${host.cores} cores (${host.cpu}), ${gib(host.memoryBytes.total)} memory, ${gib(host.memoryBytes.free)} free${machine.container ? ', in a container' : ''}`,
    ...(jetson === undefined
      ? []
      : [`jetson     ${jetson.board}, ${jetson.l4t === undefined ? 'L4T unknown' : `L4T ${jetson.l4t}`}`]),
    ...(advice.profile === undefined ? [] : [`profile    ${advice.profile.id}: ${advice.profile.name}`]),
    `node       ${host.node}`,
    ...providers.map((probe) => probeLine('provider', probe)),
    ...programs.map((probe) => probeLine('program', probe)),
    ...advice.findings.map(findingLine),
    ...nextLines(advice),
  ];
}

function probeLine(kind: string, probe: Probe): string {
  const start = `${kind.padEnd(10)} ${probe.name.padEnd(8)} `;
  return probe.status === 'available'
    ? `${start}usable: ${probe.detail}`
    : `${start}not usable: ${probe.reason}\n${' '.repeat(20)}what to do: ${probe.hint}`;
}

function findingLine({ status, topic, found, next }: Finding): string {
  const line = `${topic.padEnd(12)} ${MARKS[status]}: ${found}`;
  const label = status === 'works' ? 'to use it' : 'what to do';
  return next === undefined ? line : `${line}\n${' '.repeat(13)}${label}: ${next}`;
}

/** The first thing that is missing is the next thing to do; where nothing is, a detection. */
function nextLines({ findings, profile }: Advice): readonly string[] {
  const fault = findings.find(({ status, next }) => status === 'missing' && next !== undefined);
  if (fault?.next !== undefined && profile !== undefined) return [`next         ${fault.next}`];
  const ready = findings.findLast(({ status, next }) => status === 'works' && next !== undefined)?.next;
  return [`next         ${ready ?? 'edge-detect demo'}`];
}
