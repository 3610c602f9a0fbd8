// Installs the packed package in an empty folder, as on a machine that has nothing but Node, npm and ffmpeg, and runs
// it there. Needs a built dist/ and the registry that npm is set up for; takes minutes, so it is no part of `npm test`.
//   node scripts/try-package.mjs [--keep]
import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const keep = process.argv.includes('--keep');
const folder = mkdtempSync(join(tmpdir(), 'edge-detect-bare-'));
// What npm scripts of this repository leave in the environment would not be there.
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(npm_|INIT_CWD|NODE_PATH|ORT_DYLIB_PATH)/.test(name)),
);
/** GPU files of onnxruntime-node are no matter here. */
environment.ONNXRUNTIME_NODE_INSTALL = 'skip';

class Failed extends Error {}

function run(words, { cwd = folder, env = environment } = {}) {
  const start = performance.now();
  const [command, ...rest] = words;
  const result = spawnSync(command, rest, { cwd, env, encoding: 'utf8', maxBuffer: 1 << 26 });
  if (result.status !== 0)
    throw new Failed(
      `'${words.join(' ')}' ended with ${result.error?.message ?? result.status}\n${result.stdout ?? ''}${result.stderr ?? ''}`,
    );
  return { ...result, seconds: (performance.now() - start) / 1000 };
}

function say(what, seconds, more = '') {
  process.stdout.write(`${what.padEnd(46)} ${seconds.toFixed(1).padStart(6)} s  ${more}\n`);
}

function expect(isTrue, message) {
  if (!isTrue) throw new Failed(message);
}

function megabytes(path) {
  const bytes = readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce(
      (sum, { parentPath, path: older, name }) => sum + statSync(join(parentPath ?? older, name)).size,
      0,
    );
  return (bytes / 1e6).toFixed(1);
}

function pack() {
  const { stdout, seconds } = run(
    ['npm', 'pack', '--ignore-scripts', '--json', '--pack-destination', folder],
    { cwd: root, env: process.env },
  );
  const [{ filename, size, unpackedSize, files }] = JSON.parse(stdout);
  say(
    'npm pack',
    seconds,
    `${(size / 1e6).toFixed(2)} MB, unpacked ${(unpackedSize / 1e6).toFixed(2)} MB, ${files.length} files`,
  );
  return filename;
}

/** In a folder of its own, without a lock file and without what only development needs. */
function install(filename) {
  writeFileSync(join(folder, 'package.json'), '{"private":true}\n');
  const { seconds } = run(['npm', 'install', '--omit=dev', '--no-audit', '--no-fund', `./${filename}`]);
  const packages = join(folder, 'node_modules');
  say('npm install --omit=dev', seconds, `node_modules ${megabytes(packages)} MB`);
  // Optional as a whole cannot be left out: sharp's own binaries are. koffi is what must not be needed on a CPU.
  const koffi = ['koffi', '@koromix'].map((name) => join(packages, name));
  expect(koffi.some(existsSync), 'koffi was not installed, so its absence cannot be tried');
  for (const path of koffi) rmSync(path, { recursive: true, force: true });
  // A service cannot write where the package lies.
  cpSync(join(packages, 'edge-detect', 'samples'), join(folder, 'samples'), { recursive: true });
}

function runCommands(version) {
  const said = run(['npx', '--no-install', 'edge-detect', '--version']);
  expect(said.stdout.includes(version), `--version said '${said.stdout.trim()}', expected ${version}`);
  say('edge-detect --version', said.seconds, said.stdout.trim());
  const devices = run(['npx', '--no-install', 'edge-detect', 'devices']);
  say('edge-detect devices', devices.seconds, devices.stdout.split('\n')[0]);
  const model = 'model=samples/model/edge-n-street.onnx';
  const predicted = run([
    'npx',
    '--no-install',
    'edge-detect',
    'predict',
    model,
    'source=samples/clips/day.mp4',
    'conf=0.25',
  ]);
  expect(existsSync(join(folder, 'runs', 'detect', 'predict')), 'predict left no run folder');
  say(
    'edge-detect predict on a clip (koffi absent)',
    predicted.seconds,
    `runs ${megabytes(join(folder, 'runs'))} MB`,
  );
  const streamed = run([
    'npx',
    '--no-install',
    'edge-detect',
    'stream',
    model,
    'source=samples/clips/night.mp4',
    'conf=0.25',
  ]);
  const lines = streamed.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const boxes = lines.reduce((sum, { detections }) => sum + detections.length, 0);
  expect(boxes > 0, 'stream found nothing in a clip full of cars');
  say('edge-detect stream on a clip', streamed.seconds, `${lines.length} frames, ${boxes} boxes`);
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** As after `npm install --omit=optional`: pictures need what npm calls optional, and that must be said. */
function tryWithoutSharp() {
  const binaries = join(folder, 'node_modules', '@img');
  renameSync(binaries, `${binaries}-away`);
  const words = ['predict', 'model=samples/model/edge-n-street.onnx', 'source=samples/clips/day.mp4'];
  const { status, stderr } = spawnSync('npx', ['--no-install', 'edge-detect', ...words], {
    cwd: folder,
    env: environment,
    encoding: 'utf8',
  });
  renameSync(`${binaries}-away`, binaries);
  expect(
    status === 6 && stderr.includes('--omit=optional'),
    `without the binaries of sharp predict ended with ${status}:\n${stderr}`,
  );
}

/** The sample site as it ships: a camera that is not there, a clip, and a camera that is off; no broker. */
async function runSite() {
  const port = await freePort();
  const path = join(folder, 'samples', 'site', 'site.yaml');
  writeFileSync(path, readFileSync(path, 'utf8').replace('port: 8080', `port: ${port}`));
  const start = performance.now();
  // Without npx between: signals must reach the program itself.
  const program = join(folder, 'node_modules', '.bin', 'edge-detect');
  const child = spawn(program, ['stream', `config=${path}`], {
    cwd: folder,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (said += text));
  const ended = new Promise((resolve) => child.once('exit', (code) => resolve(code)));
  try {
    const read = (where) => fetch(`http://127.0.0.1:${port}${where}`).then((response) => response.text());
    const until = Date.now() + 60_000;
    for (let frames = 0; frames < 5; await sleep(200)) {
      expect(Date.now() < until && child.exitCode === null, `the site looked at no frames:\n${said}`);
      const metrics = await read('/metrics').catch(() => '');
      frames = Number(/^edge_detect_frames_total\{camera="yard"\} (\d+)/m.exec(metrics)?.[1] ?? 0);
    }
    expect((await read('/healthz')).includes('ok'), 'the site is not healthy');
    say('edge-detect stream config= to 5 frames', (performance.now() - start) / 1000);
  } finally {
    child.kill('SIGINT');
  }
  const end = performance.now();
  const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
  const code = await ended;
  clearTimeout(timer);
  expect(code === 130, `after SIGINT the site ended with ${code}, expected 130:\n${said}`);
  say('SIGINT to its end', (performance.now() - end) / 1000, `exit code ${code}`);
  const events = join(folder, 'samples', 'site', 'events', 'events.jsonl');
  const lines = readFileSync(events, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(
    lines.some(({ kind, state }) => kind === 'camera' && state === 'live'),
    'no camera went live',
  );
  process.stdout.write(`${lines.length} events; said on the way:\n${said.replace(/^/gm, '  ')}\n`);
}

try {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  process.stdout.write(
    `Node ${process.version}, npm ${run(['npm', '--version']).stdout.trim()}, in ${folder}\n`,
  );
  install(pack());
  runCommands(version);
  tryWithoutSharp();
  await runSite();
} catch (error) {
  if (!(error instanceof Failed)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
} finally {
  if (!keep) rmSync(folder, { recursive: true, force: true });
}
