// A temporary folder of one test file: models, pictures and results, removed afterwards.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import sharp from 'sharp';
import type { Size } from '#core';
import type { ModelProto } from '#onnx';
import { type CliOptions, type CliResult, jsonLines, runCli } from './cli.ts';
import { modelBytes } from './tiny-models.ts';

export interface Corners {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
}

export interface FoundBox {
  readonly name: string;
  readonly class: number;
  readonly confidence: number;
  readonly score_var?: number;
  readonly box: Corners;
}

/** A line of `json=true`. */
export interface PictureLine {
  readonly source?: string;
  readonly stream?: string;
  readonly width: number;
  readonly height: number;
  readonly detections: readonly FoundBox[];
}

export class RunFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'cli-'));

  join(...parts: string[]): string {
    return join(this.path, ...parts);
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }

  /** Writes a file, with its folder, and gives its path. */
  async write(name: string, content: Uint8Array | string): Promise<string> {
    const path = this.join(name);
    await mkdir(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  }

  writeModel(name: string, model: ModelProto): Promise<string> {
    return this.write(name, modelBytes(model));
  }

  /** Runs the command line inside this folder. */
  run(words: readonly string[], options: CliOptions = {}): Promise<CliResult> {
    return runCli(words, { cwd: this.path, ...options });
  }

  /** Runs `predict json=true save=False`, expects success, and gives its lines with what was said. */
  async predict(
    ...words: string[]
  ): Promise<{ readonly lines: readonly PictureLine[]; readonly stderr: string }> {
    const { code, stdout, stderr } = await this.run(['predict', 'json=true', 'save=False', ...words]);
    if (code !== 0) throw new Error(`exit code ${code}: ${stderr}`);
    return { lines: jsonLines<PictureLine>(stdout), stderr };
  }
}

/** PNG of one colour. */
export function solidPng(
  { width, height }: Size,
  [r, g, b]: readonly [number, number, number],
): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background: { r, g, b } } })
    .png()
    .toBuffer();
}

/** How far two boxes differ, in px, at the side where they differ most. */
export function farthestSide(a: Corners, b: Corners): number {
  return Math.max(Math.abs(a.x1 - b.x1), Math.abs(a.y1 - b.y1), Math.abs(a.x2 - b.x2), Math.abs(a.y2 - b.y2));
}

/** What is wrong in a fault's answer: a refused command says what to do, shows no stack, and nothing on stdout. */
export function faultsOfRefusal({ code, stdout, stderr }: CliResult, wantedCode: number): string[] {
  return [
    ...(code === wantedCode ? [] : [`exit code ${code} instead of ${wantedCode}: ${stderr}`]),
    ...(/^error: \S/m.test(stderr) ? [] : [`no line of error: ${stderr}`]),
    ...(/^ {2}what to do: \S/m.test(stderr) ? [] : [`no word on what to do: ${stderr}`]),
    ...(/^\s+at .*[:(]\d+|fault of edge-detect|onnxruntime_src|node:internal/m.test(stderr)
      ? [`a stack trace or native words: ${stderr}`]
      : []),
    ...(stdout === '' ? [] : [`data on stdout: ${stdout.slice(0, 200)}`]),
  ];
}
