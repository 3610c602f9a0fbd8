// Where real models, pictures and clips lie that are never committed. Tests that need them skip where they are absent.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root =
  process.env['EDGE_DETECT_TEST_DATA'] ?? fileURLToPath(new URL('../../../shared/data', import.meta.url));

/** Absolute path of a test data file such as `models/yolox_nano.onnx`, or undefined where it is absent. */
export function testData(relative: string): string | undefined {
  const path = `${root}/${relative}`;
  return existsSync(path) ? path : undefined;
}
