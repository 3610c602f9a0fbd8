// What keeps the CUDA provider away is named: by file where it is absent, by the loader's words where it cannot be used.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { missingCudaLibrary } from '../../../runtime/session/missing-library.ts';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'libraries-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it.skipIf(process.platform !== 'linux')('names files that are absent or no libraries', () => {
  const [shared, cuda] = ['libonnxruntime_providers_shared.so', 'libonnxruntime_providers_cuda.so'];
  expect(missingCudaLibrary(folder)).toBe(`${shared} and ${cuda} are not in ${folder}`);
  writeFileSync(
    join(folder, shared ?? ''),
    'not a library at all, but long enough to be read as one '.repeat(4),
  );
  expect(missingCudaLibrary(folder)).toBe(`${cuda} is not in ${folder}`);
  writeFileSync(join(folder, cuda ?? ''), '');
  expect(missingCudaLibrary(folder)).toMatch(/libonnxruntime_providers_shared\.so: invalid ELF header/);
});
