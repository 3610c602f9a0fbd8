// The package as npm hands it out: packed, laid beside nothing but the dependencies that it declares, and used.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));

interface Manifest {
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

interface Packed {
  readonly filename: string;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string; readonly size: number }[];
}

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;

/** A graph, a picture and what is found in it: everything through public names, the worker thread included. */
const PROGRAM = `
import { writeFileSync } from 'node:fs';
import { detectPicture, openDetector, toUltralyticsRow } from 'edge-detect';
import { serialize, standInDetector } from 'edge-detect/onnx';
writeFileSync('stand-in.onnx', serialize(standInDetector({ width: 64, height: 64 })));
const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><rect width="64" height="64"/>'
  + '<rect x="16" y="24" width="32" height="8" fill="#fff"/></svg>';
const detector = await openDetector('stand-in.onnx');
const { default: sharp } = await import('sharp');
const { detections } = await detectPicture(detector, await sharp(Buffer.from(svg)).png().toBuffer());
await detector.close();
console.log(JSON.stringify(detections.map(toUltralyticsRow)));
`;

const TYPED_PROGRAM = `
import { detections, openDetector, openSource, type Detection } from 'edge-detect';
import { iou } from 'edge-detect/core';
import { standInDetector } from 'edge-detect/onnx';
import { readHost } from 'edge-detect/devices';
import { readNames } from 'edge-detect/runtime';
export async function run(signal: AbortSignal): Promise<readonly Detection[]> {
  const all: Detection[] = [];
  const options = { source: await openSource('a.mp4'), detector: await openDetector('a.onnx'), signal };
  for await (const { detections: found } of detections(options)) all.push(...found);
  return all;
}
export const values = [iou, standInDetector, readHost, readNames];
// @ts-expect-error it takes a path
openDetector(1);
`;

const TSCONFIG = {
  compilerOptions: {
    target: 'ES2022',
    module: 'NodeNext',
    strict: true,
    noEmit: true,
    types: ['node'],
    // Every declaration in the package is checked, as a strict user would.
    skipLibCheck: false,
  },
  files: ['program.ts'],
};

describe('the packed package', () => {
  let folder: string;
  let packed: Packed;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'edge-detect-package-'));
    const { stdout } = await execute(
      'npm',
      ['pack', '--ignore-scripts', '--json', '--pack-destination', folder],
      { cwd: root, maxBuffer: 1 << 24 },
    );
    packed = (JSON.parse(stdout) as Packed[])[0]!;
    const home = join(folder, 'node_modules', 'edge-detect');
    mkdirSync(home, { recursive: true });
    await execute('tar', ['-xzf', join(folder, packed.filename), '-C', home, '--strip-components', '1']);
    for (const name of [...Object.keys(manifest.dependencies), '@types/node']) {
      const link = join(folder, 'node_modules', name);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(join(root, 'node_modules', name), link);
    }
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  }, 60_000);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const runNode = (words: readonly string[]) => execute(process.execPath, words, { cwd: folder });

  it('holds what a user runs and nothing of what only we need', () => {
    const paths = packed.files.map(({ path }) => path);
    const allowed =
      /^(dist\/(src|runtime|devices|training|export|samples)\/.+|samples\/(site\/site\.yaml|deploy\/.+|clips\/(day|dusk|night)\.mp4|clips\/(street\.truth\.jsonl|README\.md)|model\/README\.md|model\/edge-n-street\.onnx)|runtime\/(README\.md|site\/site\.schema\.json)|docs\/operate\.md|package\.json|README\.md|CHANGELOG\.md|LICENSE)$/;
    expect(paths.filter((path) => !allowed.test(path))).toEqual([]);
    expect(
      paths.filter((path) => /\/(test|golden|fixtures|shared)\/|\.(test\.js|jpe?g|png)$/.test(path)),
    ).toEqual([]);
    for (const path of [...Object.values(manifest.bin), 'dist/runtime/session/ort-worker.js', 'LICENSE']) {
      expect(paths).toContain(path);
    }
    expect(packed.unpackedSize).toBeLessThan(9_000_000);
  });

  it('opens under every name that it exports', async () => {
    const names = Object.keys(manifest.exports)
      .filter((name) => name !== './package.json')
      .map((name) => `edge-detect${name.slice(1)}`);
    expect(names.length).toBeGreaterThanOrEqual(5);
    const script = names
      .map((name) => `console.log(Object.keys(await import('${name}')).length > 0)`)
      .join('\n');
    const { stdout, stderr } = await runNode(['--input-type=module', '--eval', script]);
    expect(stderr).toBe('');
    expect(stdout.trim().split('\n')).toEqual(names.map(() => 'true'));
  });

  it('keeps what it does not export to itself', async () => {
    const script = `await import('edge-detect/dist/src/core/index.js')`;
    await expect(runNode(['--input-type=module', '--eval', script])).rejects.toThrow(
      /ERR_PACKAGE_PATH_NOT_EXPORTED/,
    );
  });

  it('detects', async () => {
    writeFileSync(join(folder, 'program.mjs'), PROGRAM);
    const { stdout, stderr } = await runNode(['program.mjs']);
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual([
      { name: 'white', class: 0, confidence: 0.9, box: { x1: 16, y1: 24, x2: 48, y2: 32 } },
    ]);
  });

  it('runs by its name on the command line', async () => {
    // As npm links it: executable, through a symbolic link.
    const program = join(folder, 'node_modules', 'edge-detect', manifest.bin['edge-detect']!);
    await chmod(program, 0o755);
    mkdirSync(join(folder, 'node_modules', '.bin'));
    const link = join(folder, 'node_modules', '.bin', 'edge-detect');
    symlinkSync(program, link);
    const { stdout } = await execute(link, ['--help'], { cwd: folder });
    expect(stdout).toMatch(/predict[\s\S]*stream[\s\S]*inspect/);
    expect((await execute(link, ['--version'], { cwd: folder })).stdout).toContain(manifest.version);
  });

  it('has types that a strict program compiles against', async () => {
    writeFileSync(join(folder, 'program.ts'), TYPED_PROGRAM);
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG));
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const { stdout } = await runNode([tsc, '-p', 'tsconfig.json']).catch(
      (error) => error as { stdout: string },
    );
    expect(stdout).toBe('');
  }, 60_000);
});
