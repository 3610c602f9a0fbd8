// From a fresh clone to a running demo or test suite, with nothing but Node and npm: installs what is missing,
// builds, then runs. Uses no package, so that it works before anything is installed.
//   node scripts/bootstrap.mjs demo [arguments of `edge-detect demo`]
//   node scripts/bootstrap.mjs test [arguments of vitest]
//   node scripts/bootstrap.mjs setup
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const stamp = `${root}node_modules/.edge-detect-installed`;

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

function run(command, args, { quiet = false, allowFailure = false } = {}) {
  const result = spawnSync(command, args, {
    cwd: root,
    stdio: quiet ? ['ignore', 'pipe', 'pipe'] : ['inherit', 'inherit', 'inherit'],
    encoding: 'utf8',
  });
  if (result.status !== 0 && !allowFailure) {
    if (quiet) process.stderr.write(`${result.stdout ?? ''}${result.stderr ?? ''}`);
    fail(`'${command} ${args.join(' ')}' failed (${result.error?.message ?? `exit code ${result.status}`})`);
  }
  return result;
}

function say(text) {
  process.stderr.write(`[setup] ${text}\n`);
}

function checkNode() {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < 20) fail(`Node 20 or newer is needed, this is ${process.version}.`);
}

function installPackages() {
  const lockHash = createHash('sha256')
    .update(readFileSync(`${root}package-lock.json`))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lockHash) return;
  say('installing packages (npm ci), about 20 s');
  // --include=dev: the build needs the compiler even where NODE_ENV is production.
  run('npm', ['ci', '--include=dev', '--no-audit', '--no-fund'], { quiet: true });
  writeFileSync(stamp, lockHash);
}

function build() {
  run(process.execPath, [`${root}scripts/clean.mjs`]);
  run(process.execPath, [`${root}node_modules/typescript/bin/tsc`, '-p', 'tsconfig.build.json']);
}

function has(program) {
  return spawnSync(program, ['-version'], { stdio: 'ignore' }).error === undefined;
}

function installFfmpeg() {
  if (has(process.env.FFMPEG_PATH ?? 'ffmpeg') && has(process.env.FFPROBE_PATH ?? 'ffprobe')) return;
  if (installDebianPackage('ffmpeg')) return;
  say(
    'ffmpeg is not installed: video needs the package `ffmpeg` (Debian, Ubuntu, JetPack: sudo apt-get install ffmpeg;',
  );
  say('macOS: brew install ffmpeg). Pictures work without it.');
}

/** For the tests of export alone: they skip, and say so, where it is absent. */
function installOnnxChecker() {
  const pythons = ['/usr/bin/python3', 'python3'];
  if (pythons.some((python) => spawnSync(python, ['-c', 'import onnx'], { stdio: 'ignore' }).status === 0))
    return;
  if (!installDebianPackage('python3-onnx', { allowFailure: true }))
    say('python3-onnx is not installed: no exported file will be held against the ONNX checker');
}

/** For the tests of GStreamer alone: they skip, and say so, where it is absent. */
function installGstreamer() {
  const elements = ['gdppay', 'rtspsrc', 'videoscale', 'avdec_h264'];
  if (elements.every((element) => spawnSync('gst-inspect-1.0', ['--exists', element]).status === 0)) return;
  const packages = ['tools', 'plugins-base', 'plugins-good', 'plugins-bad', 'libav'];
  const installed = installDebianPackage(packages.map((name) => `gstreamer1.0-${name}`).join(' '), {
    allowFailure: true,
  });
  if (!installed) say('GStreamer is not installed: csi:// and decoder=gstreamer will not be tested');
}

/** For the tests of MQTT alone: they skip, and say so, where it is absent. */
function installMosquitto() {
  if (existsSync('/usr/sbin/mosquitto') || has('mosquitto')) return;
  if (!installDebianPackage('mosquitto', { allowFailure: true }))
    say('mosquitto is not installed: the messages of a site will not be tested on a broker');
}

/** For the test of the page alone: it skips, and says so, where it is absent. */
function installBrowser() {
  if (['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].some(existsSync)) return;
  if (!installDebianPackage('chromium', { allowFailure: true }))
    say('chromium is not installed: the page of a site will not be looked at');
}

/**
 * @param names packages, with spaces between
 * @returns false where apt-get is not there or not allowed, and with `allowFailure` where it failed
 */
function installDebianPackage(names, { allowFailure = false } = {}) {
  const isRoot = process.getuid?.() === 0;
  const sudo = !isRoot && spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' }).status === 0;
  const apt = spawnSync('apt-get', ['--version'], { stdio: 'ignore' }).error === undefined;
  if (!apt || (!isRoot && !sudo)) return false;
  say(`installing ${names} with apt-get`);
  const [command, ...prefix] = isRoot ? ['apt-get'] : ['sudo', '-n', 'apt-get'];
  run(command, [...prefix, 'update', '-q'], { quiet: true, allowFailure: true });
  const words = [...prefix, 'install', '-y', '-q', '--no-install-recommends', ...names.split(' ')];
  return run(command, words, { quiet: true, allowFailure }).status === 0;
}

const [task, ...rest] = process.argv.slice(2);
if (!['demo', 'test', 'setup'].includes(task ?? ''))
  fail('usage: node scripts/bootstrap.mjs demo|test|setup');
checkNode();
installPackages();
build();
installFfmpeg();
if (task === 'setup') {
  installOnnxChecker();
  installGstreamer();
  installMosquitto();
  installBrowser();
}
if (task === 'demo') {
  process.exit(
    run(process.execPath, [`${root}dist/src/cli/bin.js`, 'demo', ...rest], { allowFailure: true }).status ??
      1,
  );
}
if (task === 'test') {
  const vitest = `${root}node_modules/vitest/vitest.mjs`;
  process.exit(run(process.execPath, [vitest, 'run', ...rest], { allowFailure: true }).status ?? 1);
}
