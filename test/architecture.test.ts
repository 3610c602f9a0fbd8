// The import table of the project as data: who may import whom, and which heavy dependency lives where.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

/** A folder may import itself and what is listed. Longest matching prefix decides. */
const mayImport: Record<string, readonly string[]> = {
  'src/core': [],
  'src/onnx': ['src/core'],
  'src/data': ['src/core'],
  'src/report': ['src/data', 'src/core'],
  devices: ['src/core', 'src/onnx'],
  runtime: ['devices', 'src/data', 'src/onnx', 'src/core'],
  'src/evaluate': ['runtime', 'src/report', 'src/data', 'src/onnx', 'src/core'],
  training: ['src/evaluate', 'runtime', 'src/report', 'src/data', 'src/onnx', 'src/core'],
  export: ['src/evaluate', 'runtime', 'devices', 'src/report', 'src/data', 'src/onnx', 'src/core'],
  'src/cli': [
    'training',
    'export',
    'src/evaluate',
    'runtime',
    'devices',
    'src/report',
    'src/data',
    'src/onnx',
    'src/core',
  ],
  'src/index.ts': ['runtime', 'devices', 'src/onnx', 'src/core'],
  samples: [],
};

/** The one home of a heavy dependency. */
const homes: Record<string, readonly string[]> = {
  koffi: ['runtime/session/ffi/'],
  'onnxruntime-node': ['runtime/session/'],
  sharp: ['src/data/images/'],
  'fluent-ffmpeg': ['runtime/ffmpeg/', 'runtime/sources/', 'runtime/sinks/'],
  commander: ['src/cli/'],
  'cli-progress': ['src/cli/'],
  '@bufbuild/protobuf': ['src/onnx/', 'runtime/session/kserve/'],
  '@grpc/grpc-js': ['runtime/session/kserve/'],
  'astronomy-engine': ['src/data/sun/'],
  vega: ['src/report/'],
  'vega-lite': ['src/report/'],
  '@tensorflow/tfjs': ['training/engines/tfjs/'],
  '@tensorflow/tfjs-backend-wasm': ['training/engines/tfjs/'],
  valibot: ['src/core/', 'src/data/', 'src/cli/', 'runtime/site/'],
  fastify: ['runtime/server/'],
  'prom-client': ['runtime/server/'],
  mqtt: ['runtime/site/sinks/'],
  yaml: ['src/data/', 'src/cli/', 'runtime/', 'training/run/'],
};

interface Import {
  readonly file: string;
  readonly specifier: string;
  /** Project path of what is imported, or undefined for a package. */
  readonly target: string | undefined;
}

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  imports: Record<string, { '@edge-detect/source': string }>;
};

function sourceFiles(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return sourceFiles(path);
    return entry.name.endsWith('.ts') ? [path] : [];
  });
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8');
  return ts.preProcessFile(text, true, true).importedFiles.map(({ fileName: specifier }) => {
    const alias = manifest.imports[specifier]?.['@edge-detect/source'];
    const path = specifier.startsWith('.')
      ? join(root, dirname(file), specifier)
      : alias && join(root, alias);
    return { file, specifier, target: path ? normalize(relative(root, path)) : undefined };
  });
}

function ownerOf(path: string): string {
  const owners = Object.keys(mayImport).filter((owner) => path === owner || path.startsWith(`${owner}/`));
  return owners.sort((a, b) => b.length - a.length)[0] ?? '';
}

const files = ['src', 'training', 'export', 'runtime', 'devices', 'samples'].flatMap(sourceFiles);
const imports = files.flatMap(importsOf);

describe('the architecture', () => {
  it('has an owner for every source file', () => {
    expect(files.filter((file) => ownerOf(file) === '')).toEqual([]);
    expect(files.length).toBeGreaterThan(20);
  });

  it('imports only along the table', () => {
    const forbidden = imports.filter(({ file, target }) => {
      if (target === undefined) return false;
      const [from, to] = [ownerOf(file), ownerOf(target)];
      return from !== to && !mayImport[from]?.includes(to);
    });
    expect(forbidden).toEqual([]);
  });

  it('crosses folders by alias only', () => {
    const relativeCrossings = imports.filter(
      ({ file, specifier, target }) =>
        target !== undefined && specifier.startsWith('.') && ownerOf(file) !== ownerOf(target),
    );
    // The root index and samples are outside the walls: they stand for the package itself.
    expect(relativeCrossings.filter(({ file }) => file !== 'src/index.ts')).toEqual([]);
  });

  it('keeps every heavy dependency in its home', () => {
    const strays = imports.filter(({ file, specifier }) => {
      const name = Object.keys(homes).find((home) => specifier === home || specifier.startsWith(`${home}/`));
      return name !== undefined && !homes[name]?.some((home) => file.startsWith(home));
    });
    expect(strays).toEqual([]);
  });

  it('lets samples see the package by its public name only', () => {
    const inside = imports.filter(
      ({ file, specifier, target }) =>
        file.startsWith('samples/') &&
        ((target !== undefined && ownerOf(target) !== 'samples') || specifier.startsWith('#')),
    );
    expect(inside).toEqual([]);
  });
});
