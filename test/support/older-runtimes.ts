// The pinned ONNX Runtime and the older ones that exported files must load in (scripts/install-runtimes.mjs), each run
// in a process of its own.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deserialize, serialize } from 'node:v8';

const root = fileURLToPath(new URL('../..', import.meta.url));
const child = fileURLToPath(new URL('./run-in-runtime.mjs', import.meta.url));

export const OLDER_RUNTIMES: readonly string[] = JSON.parse(
  readFileSync(join(root, 'scripts', 'older-runtimes.json'), 'utf8'),
);

export interface RuntimeJob {
  readonly name: string;
  readonly path: string;
  readonly input: {
    readonly name: string;
    readonly dtype: 'float32' | 'uint8';
    readonly shape: readonly number[];
    readonly data: Float32Array | Uint8Array;
  };
}

export interface RuntimeAnswer {
  readonly name: string;
  readonly outputs?: Readonly<Record<string, RuntimeOutput>>;
  /** In the runtime's words, where it could not load or run the file. */
  readonly fault?: string;
}

export interface RuntimeOutput {
  readonly shape: readonly number[];
  readonly data: Float64Array;
}

/** @returns undefined where it is not installed */
export function olderRuntime(version: string): string | undefined {
  const folder = join(
    root,
    'node_modules/.cache/edge-detect-runtimes',
    version,
    'node_modules/onnxruntime-node',
  );
  return existsSync(folder) ? folder : undefined;
}

export const PINNED_RUNTIME: string = join(root, 'node_modules/onnxruntime-node');

/** @param scratch folder for what is passed to and fro */
export function runInRuntime(
  folder: string,
  jobs: readonly RuntimeJob[],
  scratch: string,
): readonly RuntimeAnswer[] {
  const [asked, answered] = [join(scratch, 'jobs.v8'), join(scratch, 'answers.v8')];
  writeFileSync(asked, serialize(jobs));
  const { status, stderr } = spawnSync(process.execPath, [child, folder, asked, answered], {
    encoding: 'utf8',
    env: { ...process.env, ORT_DISABLE_TELEMETRY: '1' },
  });
  if (status !== 0) throw new Error(`${folder} ended with ${status}: ${stderr}`);
  return deserialize(readFileSync(answered)) as readonly RuntimeAnswer[];
}
