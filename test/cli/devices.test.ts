import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../support/cli.ts';

describe('edge-detect devices', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'devices-'));
    writeFileSync(join(folder, 'libonnxruntime.so.1'), 'VERS_1.23.0');
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('prints the same in lines and as JSON: what there is, and the next command', async () => {
    const lines = await runCli(['devices']);
    expect([lines.code, lines.stderr]).toEqual([0, '']);
    expect(lines.stdout).toMatch(/^provider +cpu +usable: onnxruntime-node/m);
    expect(lines.stdout).toMatch(/^program +gstreamer /m);
    expect(lines.stdout).toMatch(/^next +\S/m);
    const library = join(folder, 'libonnxruntime.so.1');
    const { code, stdout } = await runCli(['devices', 'json=True', `ort_library=${library}`]);
    expect(code).toBe(0);
    const report = JSON.parse(stdout) as Record<string, Record<string, unknown>>;
    expect(Object.keys(report)).toEqual(['host', 'machine', 'advice', 'providers', 'programs']);
    expect(report['machine']?.['ort']).toEqual({ folder, version: '1.23.0', providers: [] });
  });

  it('prints the recipe of a board that is not at hand, and the nearest name for a slip', async () => {
    const recipe = await runCli(['devices', 'profile=orin-nano']);
    expect([recipe.code, recipe.stderr]).toEqual([0, '']);
    expect(recipe.stdout).toMatch(/^Jetson Orin Nano: Ampere, compute capability 8.7/);
    expect(recipe.stdout).toMatch(/^edge-detect stream .*device=tensorrt:0$/m);
    const json = await runCli(['devices', 'profile=thor', 'json=True']);
    expect(JSON.parse(json.stdout)).toMatchObject({ profile: { id: 'thor', computeCapabilities: [110] } });
    const slip = await runCli(['devices', 'profile=orin-nono']);
    expect(slip.code).toBe(3);
    expect(slip.stderr).toMatch(/did you mean profile=orin-nano \?/);
  });

  it('names GStreamer where something else is called so', async () => {
    const stub = join(folder, 'gst-launch-1.0');
    writeFileSync(stub, '#!/bin/sh\necho something else\n');
    chmodSync(stub, 0o755);
    const { code, stdout } = await runCli(['devices'], { env: { GST_LAUNCH_PATH: stub } });
    expect(code).toBe(0);
    expect(stdout).toMatch(/gstreamer not usable: .*gst-launch-1.0 does not answer like gst-launch-1.0/);
  });
});
