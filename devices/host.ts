// Facts of the machine that decide how fast a detector runs here.
import { readFile } from 'node:fs/promises';
import { arch, availableParallelism, cpus, freemem, platform, release, totalmem } from 'node:os';

export interface HostFacts {
  readonly node: string;
  /** `linux-arm64`, … */
  readonly platform: string;
  readonly kernel: string;
  readonly cpu: string;
  /** Cores that this process may use. */
  readonly cores: number;
  readonly memoryBytes: { readonly total: number; readonly free: number };
  /** Board name and JetPack's L4T release, where this is a Jetson. */
  readonly jetson?: { readonly board: string; readonly release: string };
}

/** @param root where the system's files lie; another folder in tests */
export async function readHost(root = '/'): Promise<HostFacts> {
  const jetson = await readJetson(root);
  return {
    node: process.version,
    platform: `${platform()}-${arch()}`,
    kernel: release(),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: { total: totalmem(), free: freemem() },
    ...(jetson === undefined ? {} : { jetson }),
  };
}

async function readJetson(root: string): Promise<HostFacts['jetson']> {
  const board = (await text(`${root}proc/device-tree/model`))?.replaceAll('\0', '').trim();
  const line = await text(`${root}etc/nv_tegra_release`);
  if (line === undefined && !/jetson|tegra/i.test(board ?? '')) return undefined;
  // `# R36 (release), REVISION: 4.3, …`
  const match = /R(\d+).*?REVISION:\s*([\d.]+)/.exec(line ?? '');
  return {
    board: board ?? 'unknown board',
    release: match === null ? 'unknown' : `L4T ${match[1]}.${match[2]}`,
  };
}

function text(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined);
}
