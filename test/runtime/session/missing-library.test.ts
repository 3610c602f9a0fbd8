// What keeps the CUDA provider away is named: by file where it is absent, by the loader's words where it cannot be used.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { missingProviderLibrary } from '../../../runtime/session/missing-library.ts';

const CUDA = { kind: 'cuda', index: 0 } as const;

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'libraries-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it.skipIf(process.platform !== 'linux')('names files that are absent or no libraries', () => {
  const [shared, cuda] = ['libonnxruntime_providers_shared.so', 'libonnxruntime_providers_cuda.so'];
  expect(missingProviderLibrary(CUDA, folder)).toBe(`${shared} and ${cuda} are not in ${folder}`);
  writeFileSync(
    join(folder, shared ?? ''),
    'not a library at all, but long enough to be read as one '.repeat(4),
  );
  expect(missingProviderLibrary(CUDA, folder)).toBe(`${cuda} is not in ${folder}`);
  writeFileSync(join(folder, cuda ?? ''), '');
  expect(missingProviderLibrary(CUDA, folder)).toMatch(
    /libonnxruntime_providers_shared\.so: invalid ELF header/,
  );
});
