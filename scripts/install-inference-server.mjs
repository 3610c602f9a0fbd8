// Installs a real inference server (NVIDIA Triton, out of the wheel of PyTriton) with a Python that runs ONNX models in
// it, for test/runtime/session/kserve*.test.ts, which skip, and say so, where it is not here. Nothing else sees it.
//   node scripts/install-inference-server.mjs
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SERVER = 'nvidia-pytriton==0.7.0';
/** What the model in the server needs; the client library and the rest of PyTriton are left out. */
const PACKAGES = [
  SERVER,
  'numpy==1.26.4',
  'onnxruntime==1.23.2',
  'protobuf==6.33.6',
  'flatbuffers==25.12.19',
  'packaging==26.0',
];
/** The wheel carries the server's link to Python for these, and NumPy 1.26 has wheels up to 3.12. */
const PYTHON_VERSIONS = ['3.9', '3.10', '3.11', '3.12'];

const cache = fileURLToPath(new URL('../node_modules/.cache/edge-detect-inference-server/', import.meta.url));
const whole = join(cache, 'triton-2.51.0');
const partial = join(cache, '.partial');

function say(text) {
  process.stderr.write(`[setup] ${text}\n`);
}

/** One whose version the server can load and that can make a virtual environment. */
function findPython() {
  const ask = 'import sys, venv, ensurepip; print("%d.%d" % sys.version_info[:2])';
  return ['python3', '/usr/bin/python3', ...PYTHON_VERSIONS.map((version) => `python${version}`)].find(
    (python) => {
      const { status, stdout } = spawnSync(python, ['-c', ask], { encoding: 'utf8' });
      return status === 0 && PYTHON_VERSIONS.includes(stdout.trim());
    },
  );
}

function run(command, words) {
  const { status, error } = spawnSync(command, words, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (status === 0) return;
  rmSync(partial, { recursive: true, force: true });
  throw new Error(`'${command} ${words.join(' ')}' failed (${error?.message ?? `exit code ${status}`})`);
}

/** The server looks for its link to Python beside the library that starts it. */
function placeStub() {
  const ask = 'import sysconfig as c; print(c.get_path("platlib")); print(c.get_python_version())';
  const { stdout } = spawnSync(join(partial, 'bin', 'python'), ['-c', ask], { encoding: 'utf8' });
  const [platform, version] = stdout.split('\n');
  const server = join(platform, 'pytriton', 'tritonserver');
  const stub = 'triton_python_backend_stub';
  copyFileSync(join(server, 'python_backend_stubs', version, stub), join(server, 'backends', 'python', stub));
}

function install(python) {
  say(`installing ${SERVER} for the tests of kserve, about 25 s and 310 MB`);
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(cache, { recursive: true });
  run(python, ['-m', 'venv', partial]);
  const words = [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--no-deps',
    '--disable-pip-version-check',
    '--no-cache-dir',
  ];
  run(join(partial, 'bin', 'python'), [...words, ...PACKAGES]);
  placeStub();
  renameSync(partial, whole);
}

if (!existsSync(whole)) {
  const python = process.platform === 'linux' && process.arch === 'x64' ? findPython() : undefined;
  if (python === undefined) {
    say(
      `no inference server for the tests of kserve: it needs x86-64 Linux and Python ${PYTHON_VERSIONS.join(', ')}`,
    );
  } else install(python);
}
