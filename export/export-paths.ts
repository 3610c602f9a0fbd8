// Where an export goes: the model, and the report and the manifest beside it.
import { stat } from 'node:fs/promises';
import { basename, dirname, join, parse, resolve } from 'node:path';
import { ConfigError } from '#core';
import type { ExportRequest } from './settings.ts';

export interface ExportPaths {
  readonly model: string;
  readonly manifest: string;
  readonly report: string;
}

/**
 * To be asked before the work is done.
 * @throws ConfigError where `out` is the source itself, is no .onnx file, or its folder is not there
 */
export async function exportPaths({ model, reference, out, settings }: ExportRequest): Promise<ExportPaths> {
  const path =
    out === undefined
      ? defaultPath(reference ?? model, settings)
      : await named(out, reference ?? model, settings);
  for (const source of [model, reference]) {
    if (source !== undefined && resolve(path) === resolve(source)) {
      throw new ConfigError(`the export would replace ${source} itself`, {
        hint: 'give it another name with out=',
      });
    }
  }
  if (!path.toLowerCase().endsWith('.onnx')) {
    throw new ConfigError(`out=${out}: expected a name that ends in .onnx, or a folder`, {
      hint: `write out=${parse(path).name}.onnx`,
    });
  }
  await stat(dirname(path)).catch((cause: Error) => {
    throw new ConfigError(`out=${out ?? path}: its folder cannot be read (${cause.message})`, {
      hint: 'make the folder first, or name another',
      cause,
    });
  });
  const stem = join(dirname(path), parse(path).name);
  return { model: path, manifest: `${stem}.export.json`, report: `${stem}.export.html` };
}

async function named(out: string, source: string, settings: ExportRequest['settings']): Promise<string> {
  const isFolder = await stat(out).then(
    (found) => found.isDirectory(),
    () => out.endsWith('/'),
  );
  return isFolder ? join(out, basename(defaultPath(source, settings))) : out;
}

/** `yolov8n.onnx` → `yolov8n-int8.onnx`: what was changed, in its name. */
function defaultPath(
  source: string,
  { format, precision, decode, uint8, head }: ExportRequest['settings'],
): string {
  const { dir, name } = parse(source);
  const words = [
    ...(head === undefined ? [] : [head]),
    ...(decode && format !== 'deepstream' ? ['decoded'] : []),
    ...(uint8 ? ['uint8'] : []),
    ...(precision === 'float32' ? [] : [precision === 'float16' ? 'fp16' : 'int8']),
    ...(format === 'onnx' ? [] : [format]),
  ];
  return join(dir, `${name}-${words.length === 0 ? 'export' : words.join('-')}.onnx`);
}
