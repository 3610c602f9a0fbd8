// Which libraries are taken, which are refused and in which words, and what happens when a program exits too early.
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DeviceError } from '#core';
import { openOrtFfiSession, type Provider } from '#runtime';
import { loadOrtLibrary } from '../../../../runtime/session/ffi/library.ts';
import { OLDER_RUNTIMES } from '../../../support/older-runtimes.ts';
import { BUNDLED, ortLibrary } from '../../../support/ort-libraries.ts';
import { doubledModel } from '../../../support/session-models.ts';
import {
  compileLacking,
  compileLibrary,
  compileOldRuntime,
  hasCompiler,
} from '../../../support/stand-in-libraries.ts';
import { startChild, started } from '../session-contract.ts';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ort-libraries-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The error of a library that must not be taken. */
async function refusal(path: string): Promise<DeviceError> {
  const error = await loadOrtLibrary(path).then(
    () => new Error('it was taken'),
    (fault: unknown) => fault,
  );
  expect(error).toBeInstanceOf(DeviceError);
  expect((error as Error).message).toContain(path);
  expect((error as DeviceError).hint).toMatch(/ort_library=|npm install koffi/);
  return error as DeviceError;
}

function put(name: string, content: Uint8Array | string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

/** The first bytes of an ELF file, as far as they are read. */
function elfHeader(bits: 32 | 64, machine: number): Buffer {
  const header = Buffer.alloc(64);
  header.write('\x7fELF', 'latin1');
  header[4] = bits === 64 ? 2 : 1;
  header[5] = 1;
  header.writeUInt16LE(machine, 18);
  return header;
}

describe('a library of ONNX Runtime', () => {
  it.each([BUNDLED, ...OLDER_RUNTIMES])(
    'is taken from release %s, and its table is understood',
    async (version) => {
      const path = ortLibrary(version);
      if (path === undefined) return;
      const { api, koffi, version: said, memoryInfo, allocator } = await loadOrtLibrary(path);
      expect(said).toMatch(version === BUNDLED ? /^1\.\d+\.\d+$/ : version);
      expect(memoryInfo).not.toBeNull();
      expect(allocator).not.toBeNull();
      const slot = new BigUint64Array(1);
      const count = new Int32Array(1);
      // The C header promises where the domain's release stands; a wrong table would crash here.
      api.call('CreateCustomOpDomain', 'a domain', slot);
      api.release('CustomOpDomain', slot[0] ?? null);
      api.call('GetAvailableProviders', slot, count);
      const names = [...koffi.decode(slot[0], 'uint64', count[0] ?? 0)].map((at) =>
        koffi.decode.string(BigInt(at)),
      );
      api.call('ReleaseAvailableProviders', slot[0] ?? null, count[0] ?? 0);
      expect(names).toContain('CPUExecutionProvider');
      expect(() => api.call('AddSessionConfigEntry', null, '', '')).toThrow();
    },
  );

  it('is loaded once, however often it is asked for', async () => {
    const path = ortLibrary(BUNDLED);
    const [first, second] = await Promise.all([loadOrtLibrary(path), loadOrtLibrary()]);
    expect(second).toBe(first);
  });

  it('is refused where it is no file, no library, or for another machine', async () => {
    expect((await refusal(join(folder, 'nowhere.so'))).message).toMatch(/there is no such file/);
    expect((await refusal(put('text.so', 'these are words, not code'))).message).toMatch(
      /no library for Linux/,
    );
    expect((await refusal(put('empty.so', ''))).message).toMatch(/no library for Linux/);
    expect((await refusal(put('arm32.so', elfHeader(32, 40)))).message).toMatch(/it is for arm \(32 bits\)/);
    const foreign = process.arch === 'arm64' ? { machine: 62, arch: 'x64' } : { machine: 183, arch: 'arm64' };
    expect((await refusal(put('foreign.so', elfHeader(64, foreign.machine)))).message).toMatch(
      `it is for ${foreign.arch} (64 bits), and this Node is for ${process.arch}`,
    );
    const inside = join(folder, 'wheel');
    mkdirSync(inside);
    writeFileSync(join(inside, 'libonnxruntime.so.1.20.1'), '');
    expect((await refusal(inside)).message).toMatch(
      /it is a folder: name the file, .*libonnxruntime\.so\.1\.20\.1/,
    );
  });

  it('is refused where it is cut off', async () => {
    const header = elfHeader(64, process.arch === 'arm64' ? 183 : 62);
    expect((await refusal(put('half.so', header))).message).toMatch(/cannot be used: \S+/);
  });

  it.skipIf(!hasCompiler)(
    'is refused where it is another library, an old release, or lacks one that it needs',
    async () => {
      const [other, old, lacking] = ['other.so', 'old.so', 'libonnxruntime.so.1'].map((name) =>
        join(folder, name),
      );
      compileLibrary(other ?? '', 'int nothing(void) { return 0; }');
      expect((await refusal(other ?? '')).message).toMatch(/not ONNX Runtime \(no OrtGetApiBase in it\)/);
      compileOldRuntime(old ?? '', '1.12.1');
      expect((await refusal(old ?? '')).message).toMatch(
        /it is ONNX Runtime 1\.12\.1, and 1\.16 or newer is needed/,
      );
      compileLacking(folder, 'libonnxruntime.so.1', 'libcudart.so.99');
      expect((await refusal(lacking ?? '')).message).toMatch(
        /libcudart\.so\.99: cannot open shared object file/,
      );
    },
  );

  it('needs the optional package koffi, and says so', async () => {
    const path = join(folder, 'copy.so');
    copyFileSync(ortLibrary(BUNDLED) ?? '', path);
    const loading = loadOrtLibrary(path, 'koffi-that-nobody-installed');
    await expect(loading).rejects.toThrow(DeviceError);
    await expect(loading).rejects.toThrow(/the package koffi, .* is not usable here/);
  });
});

describe('providers beside a library', () => {
  const shared = 'libonnxruntime_providers_shared.so';
  const tensorrt = 'libonnxruntime_providers_tensorrt.so';
  const TENSORRT: Provider = { kind: 'tensorrt', index: 0 };

  /** A library of our own copy, so that its folder can be filled with anything. */
  async function refusedFor(
    provider: Provider,
    name: string,
    fill: (place: string) => void,
  ): Promise<DeviceError> {
    const place = join(folder, name);
    mkdirSync(place);
    copyFileSync(ortLibrary(BUNDLED) ?? '', join(place, 'libonnxruntime.so.1'));
    fill(place);
    const ortLibraryPath = join(place, 'libonnxruntime.so.1');
    const opening = openOrtFfiSession(doubledModel(), 'm.onnx', {
      provider,
      threads: 1,
      ortLibrary: ortLibraryPath,
    });
    const error = await opening.catch((fault: unknown) => fault);
    expect(error).toBeInstanceOf(DeviceError);
    expect((error as DeviceError).hint).toContain('ort_library=');
    return error as DeviceError;
  }

  it.skipIf(process.platform !== 'linux')('are named where they are absent or no libraries', async () => {
    const none = await refusedFor(TENSORRT, 'none', () => undefined);
    expect(none.message).toMatch(`tensorrt:0 is not usable here: ${shared} and ${tensorrt} are not in `);
    const broken = await refusedFor({ kind: 'dla', index: 1 }, 'broken', (place) => {
      for (const name of [shared, tensorrt]) writeFileSync(join(place, name), 'no library '.repeat(20));
    });
    expect(broken.message).toMatch(/^dla:1 is not usable here: .*providers_shared\.so: invalid ELF header/);
  });

  it.skipIf(!hasCompiler)('are named with the library of TensorRT that they lack', async () => {
    const error = await refusedFor(TENSORRT, 'lacking', (place) => {
      compileLibrary(join(place, shared), 'int nothing(void) { return 0; }');
      compileLacking(place, tensorrt, 'libnvinfer.so.99');
    });
    expect(error.message).toMatch(
      /^tensorrt:0 is not usable here: libnvinfer\.so\.99: cannot open shared object/,
    );
    expect(error.hint).toMatch(/built with TensorRT/);
  });
});

const built = fileURLToPath(new URL('../../../../dist/runtime/session/open-session.js', import.meta.url));

describe('a program that exits in the middle of a run', () => {
  it.skipIf(!existsSync(built))('ends with its own exit code', async () => {
    for (let round = 0; round < 4; round++) {
      const child = startChild({
        provider: { kind: 'cpu' },
        ortLibrary: ortLibrary(BUNDLED),
        ending: 'exit',
      });
      await started(child.process);
      child.process.kill('SIGINT');
      const [code, signal] = await once(child.process, 'close');
      expect({ code, signal, errors: child.errors() }).toEqual({ code: 3, signal: null, errors: '' });
    }
  });
});
