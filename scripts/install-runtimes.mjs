// Installs the older releases of ONNX Runtime that exported files must load in as well (older-runtimes.json), for
// test/export/readers.test.ts, which skips those that are not here. Nothing else of the project sees them.
//   node scripts/install-runtimes.mjs
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const versions = JSON.parse(readFileSync(new URL('older-runtimes.json', import.meta.url), 'utf8'));
const cache = fileURLToPath(new URL('../node_modules/.cache/edge-detect-runtimes/', import.meta.url));

/** A folder appears under its version only when it is whole. */
function install(version) {
  const partial = join(cache, `.partial-${version}`);
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(partial, { recursive: true });
  writeFileSync(join(partial, 'package.json'), '{ "private": true }\n');
  const words = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'];
  const { status, error } = spawnSync('npm', [...words, `onnxruntime-node@${version}`], {
    cwd: partial,
    stdio: ['ignore', 'inherit', 'inherit'],
    // The CPU library is in the package; what its script would fetch besides is for CUDA.
    env: { ...process.env, ONNXRUNTIME_NODE_INSTALL: 'skip' },
  });
  if (status !== 0) {
    rmSync(partial, { recursive: true, force: true });
    throw new Error(
      `npm could not install onnxruntime-node ${version} (${error?.message ?? `exit code ${status}`})`,
    );
  }
  dropOtherPlatforms(join(partial, 'node_modules', 'onnxruntime-node', 'bin'));
  renameSync(partial, join(cache, version));
}

/** Each package carries the libraries of every platform, 100 to 290 MB. */
function dropOtherPlatforms(bin) {
  for (const api of readdirSync(bin)) {
    for (const platform of readdirSync(join(bin, api))) {
      for (const arch of readdirSync(join(bin, api, platform))) {
        if (platform !== process.platform || arch !== process.arch)
          rmSync(join(bin, api, platform, arch), { recursive: true });
      }
    }
  }
}

for (const version of versions) {
  if (existsSync(join(cache, version))) continue;
  process.stderr.write(`[setup] installing ONNX Runtime ${version} beside the pinned one\n`);
  install(version);
}
