// A real inference server for the tests of kserve: NVIDIA Triton, as scripts/install-inference-server.mjs installs it,
// with models that run in it through ONNX Runtime.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { elementTypeOf, graphOf, parseModel, shapeOf } from '#onnx';

const home = fileURLToPath(
  new URL('../../../node_modules/.cache/edge-detect-inference-server/triton-2.51.0/', import.meta.url),
);
const python = join(home, 'bin', 'python');

/** Whether the server is here: tests skip otherwise, and say so. */
export const serverInstalled = existsSync(python);

/** How a model is put on the server. */
export interface ServedOptions {
  /** Shape of the input by axis; -1 is free. Default: as the file says. */
  readonly inputShape?: readonly number[];
  /** -1 as the first axis of every tensor. */
  readonly freeBatch?: boolean;
  /** Triton's own batching: shapes without the first axis. */
  readonly maxBatchSize?: number;
  /** Floats in the place of float32, `FP16` for example. */
  readonly floats?: string;
  readonly version?: number;
  /** Every run takes this longer. */
  readonly delayMs?: number;
  readonly leaveOut?: readonly string[];
}

const TYPES: Readonly<Record<number, string>> = {
  1: 'FP32',
  2: 'UINT8',
  6: 'INT32',
  7: 'INT64',
  10: 'FP16',
};

export class InferenceServer {
  readonly grpcPort: number;
  readonly httpPort: number;
  readonly #repository: string;
  readonly #memoryName: string;
  readonly #words: readonly string[];
  #process: ChildProcess | undefined;
  #log = '';

  private constructor(repository: string, [grpcPort, httpPort]: readonly number[], words: readonly string[]) {
    this.#repository = repository;
    this.grpcPort = grpcPort ?? 0;
    this.httpPort = httpPort ?? 0;
    this.#memoryName = `edge-detect-test-${process.pid}-${this.httpPort}`;
    this.#words = words;
  }

  /** @param words more options of the server */
  static async create(words: readonly string[] = []): Promise<InferenceServer> {
    const repository = await mkdtemp(join(tmpdir(), 'edge-detect-served-'));
    return new InferenceServer(repository, await freePorts(2), words);
  }

  /** Puts a model into the repository: it is loaded at the next start, or by `load`. */
  async add(name: string, model: Uint8Array, options: ServedOptions = {}): Promise<void> {
    const folder = join(this.#repository, name, String(options.version ?? 1));
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'model.onnx'), model);
    await copyFile(new URL('kserve-model.py', import.meta.url), join(folder, 'model.py'));
    await writeFile(join(this.#repository, name, 'config.pbtxt'), configOf(name, model, options));
  }

  async start(): Promise<void> {
    const { packages, libraries } = placesOf();
    const server = join(packages, 'pytriton', 'tritonserver');
    const words = [
      `--model-repository=${this.#repository}`,
      `--backend-directory=${join(server, 'backends')}`,
      `--grpc-address=127.0.0.1`,
      `--http-address=127.0.0.1`,
      `--grpc-port=${this.grpcPort}`,
      `--http-port=${this.httpPort}`,
      '--allow-metrics=false',
      '--model-control-mode=explicit',
      '--load-model=*',
      '--exit-timeout-secs=3',
      '--disable-auto-complete-config',
      `--backend-config=python,shm-region-prefix-name=${this.#memoryName}`,
      ...this.#words,
    ];
    const child = spawn(join(server, 'bin', 'tritonserver'), words, {
      detached: true, // the processes of its models end with its group
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        PATH: `${join(home, 'bin')}:${process.env['PATH']}`,
        PYTHONPATH: packages,
        LD_LIBRARY_PATH: `${libraries}:${process.env['LD_LIBRARY_PATH'] ?? ''}`,
      },
    });
    this.#process = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#log = (this.#log + text).slice(-20_000);
      });
    }
    await this.#untilReady(child);
  }

  async #untilReady(child: ChildProcess): Promise<void> {
    const ended = once(child, 'exit').then(() => {
      throw new Error(`the inference server did not start:\n${this.#log}`);
    });
    const ready = async () => {
      while (child.exitCode === null) {
        const live = await fetch(`http://127.0.0.1:${this.httpPort}/v2/health/live`).catch(() => undefined);
        if (live?.ok) return;
        await sleep(50);
      }
    };
    ended.catch(() => undefined);
    await Promise.race([ready(), ended]);
  }

  /** @returns whether the server could load it */
  async load(name: string): Promise<boolean> {
    const path = `/v2/repository/models/${name}/load`;
    return (await fetch(`http://127.0.0.1:${this.httpPort}${path}`, { method: 'POST' })).ok;
  }

  /** As a crash does: nothing is said, nothing is drained. */
  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child?.pid === undefined || child.exitCode !== null) return;
    const gone = once(child, 'exit');
    process.kill(-child.pid, 'SIGKILL');
    await gone;
  }

  /** Stops it where it stands, with its connections open; `SIGCONT` lets it go on. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    if (this.#process?.pid !== undefined) process.kill(-this.#process.pid, signal);
  }

  get log(): string {
    return this.#log;
  }

  async end(): Promise<void> {
    await this.kill();
    const left = readdirSync('/dev/shm').filter((name) => name.startsWith(this.#memoryName));
    for (const name of left) rmSync(join('/dev/shm', name), { force: true });
    await rm(this.#repository, { recursive: true, force: true });
  }

  grpc(model: string, query = ''): string {
    return `kserve://127.0.0.1:${this.grpcPort}/${model}${query}`;
  }

  http(model: string, query = ''): string {
    return `kserve+http://127.0.0.1:${this.httpPort}/${model}${query}`;
  }
}

function placesOf(): { readonly packages: string; readonly libraries: string } {
  const ask = 'import sysconfig as c; print(c.get_path("platlib")); print(c.get_config_var("LIBDIR"))';
  const { stdout } = spawnSync(python, ['-c', ask], { encoding: 'utf8' });
  const [packages = '', libraries = ''] = stdout.split('\n');
  return { packages, libraries };
}

function configOf(name: string, model: Uint8Array, options: ServedOptions): string {
  const { floats = 'FP32', maxBatchSize = 0, freeBatch = false, leaveOut = [], delayMs = 0 } = options;
  const graph = graphOf(parseModel(name, model));
  const tensor = (info: (typeof graph.input)[number], given?: readonly number[]) => {
    const declared = given ?? (shapeOf(info) ?? []).map((axis) => (typeof axis === 'number' ? axis : -1));
    const shape = freeBatch ? [-1, ...declared.slice(1)] : declared;
    const type = TYPES[elementTypeOf(info) ?? 1] ?? 'FP32';
    const dims = (maxBatchSize > 0 ? shape.slice(1) : shape).join(', ');
    return `{ name: "${info.name}" data_type: TYPE_${type === 'FP32' ? floats : type} dims: [ ${dims} ] }`;
  };
  const outputs = graph.output.filter((info) => !leaveOut.includes(info.name));
  return [
    `name: "${name}"`,
    'backend: "python"',
    `max_batch_size: ${maxBatchSize}`,
    'instance_group [ { kind: KIND_CPU count: 1 } ]',
    'version_policy: { all: {} }',
    `input [ ${graph.input.map((info) => tensor(info, options.inputShape)).join(', ')} ]`,
    `output [ ${outputs.map((info) => tensor(info)).join(', ')} ]`,
    `parameters [ { key: "delay_ms" value: { string_value: "${delayMs}" } } ]`,
  ].join('\n');
}

async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
