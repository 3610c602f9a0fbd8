import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { ConfigError } from '#core';
import {
  advise,
  devicesLines,
  findProfile,
  PROFILES,
  readHost,
  readMachine,
  recipeLines,
  recipeOf,
} from '#devices';
import { powerModeOf } from '../../devices/power-mode.ts';
import { profileOfBoard, profileOfGpu } from '../../devices/profiles/index.ts';
import { JETPACKS, jetPackOf } from '../../devices/profiles/jetpacks.ts';

const FIXTURES = fileURLToPath(new URL('fixtures', import.meta.url));
const ELEMENTS = new Set(['nvarguscamerasrc', 'nvv4l2decoder', 'nvvidconv', 'gdppay']);
const roots: string[] = [];
afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true });
});

/** A copy of a fixture with more files; empty ones for libraries, whose names are all that is read. */
function machineOf(fixture: string, files: Readonly<Record<string, string>> = {}): string {
  const root = mkdtempSync(join(tmpdir(), 'machine-'));
  roots.push(root);
  cpSync(join(FIXTURES, fixture), root, { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const JETPACK6 = {
  'usr/local/cuda/version.json': '{ "cuda" : { "name" : "CUDA SDK", "version" : "12.6.68" } }',
  'usr/local/cuda/lib64/libcudart.so.12.6.68': '',
  'usr/lib/aarch64-linux-gnu/libcudnn.so.9.3.0': '',
  'usr/lib/aarch64-linux-gnu/libnvinfer.so.10': '',
  'usr/lib/aarch64-linux-gnu/libnvinfer.so.10.3.0': '',
  'usr/lib/aarch64-linux-gnu/nvidia/libnvdla_compiler.so': '',
  'dev/nvhost-ctrl-nvdla0': '',
  'dev/nvhost-ctrl': '',
  'sys/class/video4linux/video0/name': 'vi-output, imx219 9-0010\n',
  'sys/class/video4linux/video1/name': 'HD Pro Webcam C920\n',
  'proc/meminfo':
    'MemTotal:        7802000 kB\nMemFree: 100 kB\nMemAvailable:    5000000 kB\nSwapTotal:       0 kB\n',
};

const RTX3060 = {
  // Not a file of the fixture: not every system takes a colon in a name.
  'proc/driver/nvidia/gpus/0000:01:00.0/information':
    'Model: \t\t NVIDIA GeForce RTX 3060\nIRQ:   \t\t 159\nBus Type: \t PCIe\nBus Location: \t 0000:01:00.0\n',
};

const topics = (findings: readonly { topic: string; status: string }[]) =>
  findings.map(({ topic, status }) => `${topic} ${status}`);

describe('what a machine is', () => {
  it('Orin Nano with JetPack 6: everything there but an ONNX Runtime with a GPU', async () => {
    const machine = await readMachine({ root: machineOf('orin-nano-jetpack6', JETPACK6) });
    expect(machine.jetson).toEqual({
      board: 'NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super',
      compatible: ['nvidia,p3768-0000+p3767-0005-super', 'nvidia,p3767-0005', 'nvidia,tegra234'],
      l4t: '36.4.3',
    });
    expect(machine.cuda).toBe('12.6.68');
    expect(machine.libraries.map(({ name, version }) => `${name} ${version}`)).toEqual([
      'libcudart 12.6.68',
      'libcudnn 9.3.0',
      'libnvinfer 10.3.0',
      'libnvdla_compiler ',
    ]);
    expect(machine.cameras).toEqual([
      { device: '/dev/video0', name: 'vi-output, imx219 9-0010', csi: true },
      { device: '/dev/video1', name: 'HD Pro Webcam C920', csi: false },
    ]);
    const advice = advise(machine, { elements: ELEMENTS, powerMode: '15W' });
    expect(advice.profile?.id).toBe('orin-nano');
    expect(advice.jetpack?.id).toBe('6.2');
    expect(topics(advice.findings)).toEqual([
      'jetpack works',
      'power limited',
      'CUDA works',
      'cuDNN works',
      'TensorRT works',
      'DLA works',
      'ONNX Runtime missing',
      'video works',
      'video limited',
      'camera works',
      'camera works',
      'memory limited',
    ]);
    const lines = devicesLines({ host: await readHost(), machine, advice, providers: [], programs: [] });
    expect(lines).toContain('profile    orin-nano: Jetson Orin Nano');
    expect(lines.at(-1)).toMatch(
      /^next +edge-detect devices profile=orin-nano says where .*ort_library=\/opt\/onnxruntime\/libonnxruntime.so$/,
    );
    expect(lines.join('\n')).toMatch(
      /memory +works, but: 7.4 GiB memory, 4.8 GiB available, 0.0 GiB swap: building an engine may run out\n +what to do: sudo fallocate/,
    );
    expect(lines.join('\n')).toContain('has no hardware encoder');
    expect(lines.join('\n')).toMatch(/DLA +works: 1 core, .*libnvdla_compiler.so/);
    const csi = advice.findings.find(({ found }) => found.includes('imx219'));
    expect(csi?.next).toBe('edge-detect stream source=csi://0');
  });

  it('the same with a library that has TensorRT beside it: the next command is a detection', async () => {
    const root = machineOf('orin-nano-jetpack6', {
      ...JETPACK6,
      'opt/onnxruntime/libonnxruntime.so.1': `${'\0'.repeat((1 << 20) - 5)}VERS_1.23.0\0`,
      'opt/onnxruntime/libonnxruntime_providers_shared.so': '',
      'opt/onnxruntime/libonnxruntime_providers_tensorrt.so': '',
      'opt/onnxruntime/libonnxruntime_providers_cuda.so': '',
    });
    const folder = join(root, 'opt/onnxruntime');
    const machine = await readMachine({ root, ortLibrary: join(folder, 'libonnxruntime.so.1') });
    expect(machine.ort).toEqual({ folder, version: '1.23.0', providers: ['cuda', 'tensorrt'] });
    const { findings } = advise(machine, { elements: ELEMENTS, powerMode: 'MAXN_SUPER' });
    expect(topics(findings)).toContain('ONNX Runtime works');
    expect(topics(findings)).toContain('power works');
    expect(findings.filter(({ status }) => status === 'missing')).toEqual([]);
  });

  it('a library alone, without its providers, is for the CPU', async () => {
    const root = machineOf('orin-nano-jetpack6', { 'opt/libonnxruntime.so': 'VERS_1.23.0' });
    const machine = await readMachine({ root, ortLibrary: join(root, 'opt/libonnxruntime.so') });
    const { findings } = advise(machine);
    expect(findings.find(({ topic }) => topic === 'ONNX Runtime')).toMatchObject({
      status: 'missing',
      found: expect.stringMatching(/^1.23.0 in .* has no provider library beside it: CPU only$/),
    });
    expect(topics(findings)).toContain('DLA missing');
    expect(topics(findings)).toContain('video missing');
  });

  it('Xavier NX with JetPack 5', async () => {
    const machine = await readMachine({ root: machineOf('xavier-nx-jetpack5') });
    const { profile, jetpack, findings } = advise(machine);
    expect([profile?.id, jetpack?.id, jetpack?.onnxRuntime]).toEqual(['xavier-nx', '5.1', '1.16.3']);
    expect(findings.find(({ found }) => found.includes('opset 17'))?.status).toBe('limited');
    expect(findings.find(({ topic }) => topic === 'DLA')?.found).toContain('aarch64-linux-gnu/tegra');
  });

  it('Nano with JetPack 4 is told that it is too old, and what to do instead', async () => {
    const machine = await readMachine({ root: machineOf('nano-jetpack4') });
    const advice = advise(machine);
    expect(advice.profile?.id).toBe('nano');
    expect(advice.findings[0]).toMatchObject({
      status: 'missing',
      found: expect.stringMatching(/JetPack 4.6 \(L4T 32.7.1\): .*too old: .*glibc 2.27/),
      next: expect.stringContaining('let another machine detect'),
    });
    const lines = devicesLines({ host: await readHost(), machine, advice, providers: [], programs: [] });
    expect(lines.at(-1)).toContain('let another machine detect');
  });

  it('Thor with JetPack 7', async () => {
    const { profile, jetpack } = advise(await readMachine({ root: machineOf('thor-jetpack7') }), {});
    expect([profile?.id, profile?.computeCapabilities, jetpack?.id, jetpack?.cuda]).toEqual([
      'thor',
      [110],
      '7.1',
      '13.0',
    ]);
  });

  it('AGX Orin with JetPack 7.2, which has no libnvdla_compiler and needs none', async () => {
    const { profile, jetpack, findings } = advise(
      await readMachine({ root: machineOf('agx-orin-jetpack72') }),
    );
    expect([profile?.id, jetpack?.id]).toEqual(['agx-orin', '7.2']);
    expect(topics(findings)).not.toContain('DLA missing');
    expect(findings.some(({ found }) => found.includes('libnvdla_compiler.so is gone'))).toBe(true);
  });

  it('a workstation with a GPU and no CUDA', async () => {
    const machine = await readMachine({ root: machineOf('workstation', RTX3060) });
    expect(machine).toMatchObject({
      gpus: ['NVIDIA GeForce RTX 3060'],
      driver: '550.54.15',
      container: false,
    });
    const { profile, findings } = advise(machine);
    expect(profile?.id).toBe('ampere');
    expect(topics(findings)).toEqual(['gpu works', 'CUDA missing', 'cuDNN missing', 'TensorRT missing']);
  });

  it('a container without a device tree', async () => {
    const machine = await readMachine({ root: machineOf('container') });
    expect(machine.jetson).toBeUndefined();
    expect(machine.container).toBe(true);
    const { findings } = advise(machine);
    expect(findings).toEqual([
      expect.objectContaining({
        topic: 'gpu',
        status: 'missing',
        next: expect.stringContaining('--runtime nvidia'),
      }),
    ]);
  });

  it('a container that sees the device tree and not the release says how to show it', async () => {
    const root = machineOf('orin-nano-jetpack6');
    rmSync(join(root, 'etc/nv_tegra_release'));
    const { profile, findings } = advise(await readMachine({ root }));
    expect(profile?.id).toBe('orin-nano');
    expect(findings[0]).toMatchObject({
      status: 'unknown',
      next: expect.stringContaining('-v /etc/nv_tegra_release'),
    });
  });

  it('takes the release from the package where the file is missing', async () => {
    const root = machineOf('orin-nano-jetpack6', {
      'var/lib/dpkg/status':
        'Package: bash\nVersion: 5.1\n\nPackage: nvidia-l4t-core\nStatus: install ok installed\nVersion: 36.4.7-20250918154033\n\nPackage: nvidia-jetpack\nVersion: 6.2.1+b38\n\n',
    });
    rmSync(join(root, 'etc/nv_tegra_release'));
    expect((await readMachine({ root })).jetson).toMatchObject({ l4t: '36.4.7', jetpackPackage: '6.2.1' });
  });
});

describe('profiles', () => {
  it('each has sources, JetPacks that exist, and speeds that name where they come from', () => {
    expect(PROFILES.map(({ id }) => id)).toEqual([
      ...['nano', 'tx2', 'xavier-nx', 'agx-xavier', 'orin-nano', 'orin-nx', 'agx-orin', 'thor'],
      ...['turing', 'ampere', 'ada', 'hopper', 'blackwell'],
    ]);
    for (const { id, sources, jetpacks = [], speeds, kind } of PROFILES) {
      expect(sources.length, id).toBeGreaterThan(0);
      expect(
        jetpacks.every((name) => JETPACKS.some((row) => row.id === name)),
        id,
      ).toBe(true);
      expect(jetpacks.length > 0, id).toBe(kind === 'jetson');
      for (const { source, framesPerSecond } of speeds) {
        expect(source.length, id).toBeGreaterThan(10);
        expect(framesPerSecond, id).toBeGreaterThan(0);
      }
    }
    const names = PROFILES.flatMap(({ id, aliases = [] }) => [id, ...aliases]);
    expect(new Set(names).size).toBe(names.length);
  });

  it('knows each board by a module of its own', () => {
    const boards = {
      nano: 'nvidia,p3450-0000',
      tx2: 'nvidia,p3310-1000',
      'xavier-nx': 'nvidia,p3449-0000+p3668-0001',
      'agx-xavier': 'nvidia,p2972-0000',
      'orin-nano': 'nvidia,p3768-0000+p3767-0003',
      'orin-nx': 'nvidia,p3768-0000+p3767-0000',
      'agx-orin': 'nvidia,p3737-0000+p3701-0005',
      thor: 'nvidia,p4071-0000+p3834-0008',
    };
    const found = Object.values(boards).map((compatible) => profileOfBoard([compatible])?.id);
    expect(found).toEqual(Object.keys(boards));
    expect(profileOfBoard(['maker,carrier', 'nvidia,tegra234'], 'Maker Box with Orin NX 16GB')?.id).toBe(
      'orin-nx',
    );
    expect(profileOfBoard(['maker,carrier'], 'unknown')).toBeUndefined();
  });

  it.each([
    ['NVIDIA GeForce RTX 2080 Ti', 'turing'],
    ['Tesla T4', 'turing'],
    ['NVIDIA RTX A4000', 'ampere'],
    ['NVIDIA A100-SXM4-80GB', 'ampere'],
    ['NVIDIA L4', 'ada'],
    ['NVIDIA GeForce RTX 4090', 'ada'],
    ['NVIDIA H200', 'hopper'],
    ['NVIDIA GeForce RTX 5090', 'blackwell'],
    ['NVIDIA B200', 'blackwell'],
    ['Tesla K80', undefined],
  ])('%s is %s', (name, id) => {
    expect(profileOfGpu(name)?.id).toBe(id);
  });

  it('finds a profile by any spelling, and names the nearest for a slip', () => {
    expect(findProfile('Orin Nano').id).toBe('orin-nano');
    expect(findProfile('jetson_agx_orin').id).toBe('agx-orin');
    expect(() => findProfile('orin-nanp')).toThrow(ConfigError);
    const fault = (() => {
      try {
        return findProfile('orin-nanp');
      } catch (error) {
        return error as ConfigError;
      }
    })();
    expect(fault).toMatchObject({
      hint: expect.stringMatching(/^did you mean profile=orin-nano \? there are nano, tx2/),
    });
  });

  it.each([
    ['36.4.3', '6.2'],
    ['36.5.0', '6.2'],
    ['36.3', '6.0'],
    ['35.4.1', '5.1'],
    ['32.7.6', '4.6'],
    ['38.4.0', '7.1'],
    ['39.2.0', '7.2'],
    ['39.9.0', '7.2'],
    ['99.0', undefined],
  ])('L4T %s belongs to JetPack %s', (release, id) => {
    expect(jetPackOf(release)?.id).toBe(id);
  });

  it('writes a recipe for every board, from the JetPack to the stream', () => {
    for (const profile of PROFILES) {
      const lines = recipeLines(recipeOf(profile));
      expect(lines[0]).toContain(profile.name);
      expect(lines.join('\n')).toMatch(/not verified: .*none was run on this device by us/);
      if (profile.jetpacks?.[0] === '4.6') {
        expect(lines.join('\n')).toContain('JetPack 4 is too old');
        continue;
      }
      const commands = lines.filter((line) => line.startsWith('edge-detect '));
      expect(commands.some((line) => line.startsWith('edge-detect devices'))).toBe(true);
      expect(commands.some((line) => /^edge-detect export .*half=True/.test(line))).toBe(true);
      expect(commands.some((line) => /^edge-detect stream .*device=/.test(line))).toBe(true);
      if (profile.kind === 'jetson')
        expect(lines.join('\n')).toContain('ORT_DYLIB_PATH=/opt/onnxruntime/libonnxruntime.so');
    }
    expect(recipeLines(recipeOf(findProfile('tx2')))).toContain('speed: no published figure');
    expect(recipeLines(recipeOf(findProfile('orin-nano'))).join('\n')).toMatch(
      /204 fps {2}YOLO11n 640, fp16, network alone \(Ultralytics/,
    );
    expect(recipeLines(recipeOf(findProfile('xavier-nx'))).join('\n')).toContain('opset=17');
  });
});

it('reads the power mode in the words of several releases', () => {
  expect(powerModeOf('NV Power Mode: 15W\n0\n')).toBe('15W');
  expect(powerModeOf('NV Fan Mode:quiet\nNV Power Mode: MODE_15W_6CORE\n2\n')).toBe('15W_6CORE');
  expect(powerModeOf('NVPM ERROR: …')).toBeUndefined();
});
