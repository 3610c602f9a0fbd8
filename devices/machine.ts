// Reads what this machine is and has installed for a GPU: from files alone, so that the files of a board make a test.
import { readdir, readFile, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { type FoundLibrary, findLibraries, inspectOrtLibrary, type OrtFolder } from './libraries.ts';

export interface MachineFacts {
  readonly jetson?: {
    /** The device tree's `model`. */
    readonly board: string;
    /** The device tree's `compatible`, the particular entry first. */
    readonly compatible: readonly string[];
    /** `36.4.3`; absent in a container that does not see the host's file. */
    readonly l4t?: string;
    /** Of the package nvidia-jetpack, where it is installed. */
    readonly jetpackPackage?: string;
  };
  /** Names of NVIDIA GPUs that the driver of a workstation shows. */
  readonly gpus: readonly string[];
  readonly driver?: string;
  readonly cuda?: string;
  readonly libraries: readonly FoundLibrary[];
  /** Beside the ONNX Runtime in use, where its path is known. */
  readonly ort?: OrtFolder;
  readonly cameras: readonly Camera[];
  /** Deep-learning accelerators that have a device node. */
  readonly dlaCores: number;
  readonly container: boolean;
  readonly memoryBytes?: { readonly total: number; readonly available: number; readonly swap: number };
  /** Of the folder in which the command runs. */
  readonly diskFreeBytes?: number;
}

export interface Camera {
  /** `/dev/video0` */
  readonly device: string;
  readonly name: string;
  /** Behind a Jetson's CSI connector: raw sensor data, to be read through its image signal processor. */
  readonly csi: boolean;
}

export interface MachineOptions {
  /** Where the system's files lie; another folder in tests. */
  readonly root?: string;
  readonly environment?: NodeJS.ProcessEnv;
  /** The libonnxruntime.so in use. */
  readonly ortLibrary?: string;
  readonly folder?: string;
}

export async function readMachine(options: MachineOptions = {}): Promise<MachineFacts> {
  const { root = '/', environment = {}, ortLibrary, folder } = options;
  const read = (path: string) => readFile(join(root, path), 'utf8').catch(() => undefined);
  const [jetson, gpus, libraries, cameras, dlaCores, cuda, driver, memoryBytes, container] =
    await Promise.all([
      readJetsonFacts(read),
      readGpus(root),
      findLibraries(root, environment),
      readCameras(root),
      countDlaCores(root),
      readCuda(read),
      read('proc/driver/nvidia/version'),
      readMemory(read),
      isContainer(root, read),
    ]);
  const ort = ortLibrary === undefined ? undefined : await inspectOrtLibrary(ortLibrary);
  const disk = folder === undefined ? undefined : await statfs(folder).catch(() => undefined);
  const driverVersion = /Kernel Module\D*(\d+[\d.]*)/.exec(driver ?? '')?.[1];
  return {
    ...(jetson && { jetson }),
    gpus,
    ...(driverVersion !== undefined && { driver: driverVersion }),
    ...(cuda !== undefined && { cuda }),
    libraries,
    ...(ort && { ort }),
    cameras,
    dlaCores,
    container,
    ...(memoryBytes && { memoryBytes }),
    ...(disk && { diskFreeBytes: disk.bavail * disk.bsize }),
  };
}

type Read = (path: string) => Promise<string | undefined>;

async function readJetsonFacts(read: Read): Promise<MachineFacts['jetson']> {
  const [model, compatible, release, packages] = await Promise.all([
    read('proc/device-tree/model'),
    read('proc/device-tree/compatible'),
    read('etc/nv_tegra_release'),
    read('var/lib/dpkg/status'),
  ]);
  const entries = (compatible ?? '').split('\0').filter((entry) => entry !== '');
  const isTegra = entries.some((entry) => /^nvidia,tegra/.test(entry));
  if (release === undefined && !isTegra && !/jetson|tegra/i.test(model ?? '')) return undefined;
  const l4t = l4tOf(release ?? '') ?? packageVersion(packages ?? '', 'nvidia-l4t-core')?.split('-')[0];
  const jetpackPackage = packageVersion(packages ?? '', 'nvidia-jetpack')?.split('+')[0];
  return {
    board: model?.replaceAll('\0', '').trim() ?? 'unknown board',
    compatible: entries,
    ...(l4t !== undefined && { l4t }),
    ...(jetpackPackage !== undefined && { jetpackPackage }),
  };
}

/** `# R36 (release), REVISION: 4.3, …` */
function l4tOf(release: string): string | undefined {
  const [, major, rest] = /R(\d+)[^,]*,\s*REVISION:\s*([\d.]+)/.exec(release) ?? [];
  return major === undefined ? undefined : `${major}.${rest}`;
}

function packageVersion(status: string, name: string): string | undefined {
  const paragraph = status.split('\n\n').find((text) => text.startsWith(`Package: ${name}\n`));
  return /^Version: (\S+)/m.exec(paragraph ?? '')?.[1];
}

async function readGpus(root: string): Promise<readonly string[]> {
  const folder = join(root, 'proc/driver/nvidia/gpus');
  const gpus = await readdir(folder).catch(() => []);
  const texts = await Promise.all(
    gpus.sort().map((gpu) => readFile(join(folder, gpu, 'information'), 'utf8').catch(() => '')),
  );
  return texts.flatMap((text) => /^Model:\s*(.+)$/m.exec(text)?.[1]?.trim() ?? []);
}

async function readCuda(read: Read): Promise<string | undefined> {
  const json = await read('usr/local/cuda/version.json');
  const [, fromJson] = /"cuda"\s*:\s*\{[^}]*"version"\s*:\s*"([\d.]+)"/.exec(json ?? '') ?? [];
  if (fromJson !== undefined) return fromJson;
  return /CUDA Version ([\d.]+)/.exec((await read('usr/local/cuda/version.txt')) ?? '')?.[1];
}

async function readCameras(root: string): Promise<readonly Camera[]> {
  const folder = join(root, 'sys/class/video4linux');
  const nodes = (await readdir(folder).catch(() => [])).filter((name) => /^video\d+$/.test(name));
  nodes.sort((a, b) => Number(a.slice(5)) - Number(b.slice(5)));
  return Promise.all(
    nodes.map(async (node) => {
      const name = (await readFile(join(folder, node, 'name'), 'utf8').catch(() => '')).trim();
      return {
        device: `/dev/${node}`,
        name: name || 'unknown',
        csi: /^vi-output|tegra-capture|csi/i.test(name),
      };
    }),
  );
}

async function countDlaCores(root: string): Promise<number> {
  const nodes = await readdir(join(root, 'dev')).catch(() => []);
  return nodes.filter((name) => /^nvhost-ctrl-nvdla\d+$/.test(name)).length;
}

async function readMemory(read: Read): Promise<MachineFacts['memoryBytes']> {
  const text = await read('proc/meminfo');
  const bytes = (key: string) =>
    Number(new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(text ?? '')?.[1]) * 1024;
  const total = bytes('MemTotal');
  if (!Number.isFinite(total)) return undefined;
  return { total, available: bytes('MemAvailable') || 0, swap: bytes('SwapTotal') || 0 };
}

async function isContainer(root: string, read: Read): Promise<boolean> {
  const marks: readonly string[] = await readdir(root).catch(() => []);
  if (marks.includes('.dockerenv')) return true;
  return /docker|containerd|kubepods|lxc/.test((await read('proc/1/cgroup')) ?? '');
}
