// What the CUDA driver and TensorRT say of themselves: an engine fits no other GPU and no other release.
import { readFile } from 'node:fs/promises';
import type { KoffiModule } from './api.ts';

export interface CudaDevice {
  readonly name: string;
  /** `8.7` */
  readonly computeCapability: string;
}

const DRIVER = process.platform === 'win32' ? 'nvcuda.dll' : 'libcuda.so.1';
/** `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `_MINOR`. */
const [MAJOR, MINOR] = [75, 76];
const NAME_BYTES = 256;

/** @returns undefined where there is no driver, or no such device */
export function readCudaDevice(koffi: KoffiModule, index: number): CudaDevice | undefined {
  try {
    const driver = koffi.load(DRIVER);
    const succeeds = (name: string, types: string[], ...values: unknown[]) =>
      driver.func(name, 'int', types)(...values) === 0;
    const number = new Int32Array(1);
    if (!succeeds('cuInit', ['uint'], 0)) return undefined;
    if (!succeeds('cuDeviceGet', ['void *', 'int'], number, index)) return undefined;
    const device = number[0];
    const words = Buffer.alloc(NAME_BYTES);
    if (!succeeds('cuDeviceGetName', ['void *', 'int', 'int'], words, NAME_BYTES, device)) return undefined;
    const [major, minor] = [MAJOR, MINOR].map((attribute) =>
      succeeds('cuDeviceGetAttribute', ['void *', 'int', 'int'], number, attribute, device)
        ? number[0]
        : undefined,
    );
    if (major === undefined || minor === undefined) return undefined;
    return { name: words.toString('utf8', 0, words.indexOf(0)), computeCapability: `${major}.${minor}` };
  } catch {
    return undefined; // no such library, or one without these functions
  }
}

/**
 * The release of TensorRT that this process has loaded by now, `10.3.0`.
 * @returns undefined where it has none, or where that cannot be told
 */
export async function readTensorrtVersion(koffi: KoffiModule): Promise<string | undefined> {
  const mapped = await readFile('/proc/self/maps', 'utf8').catch(() => '');
  const path = /\s(\/\S*\/libnvinfer\.so\S*)/.exec(mapped)?.[1];
  if (path === undefined) return undefined;
  try {
    const number = Number(koffi.load(path).func('getInferLibVersion', 'int', [])());
    // 8502 is 8.5.2, 101303 is 10.13.3: since 10.0 two digits each.
    const [large, small] = number < 10_000 ? [1000, 100] : [10_000, 100];
    return `${Math.floor(number / large)}.${Math.floor((number % large) / small)}.${number % small}`;
  } catch {
    return undefined;
  }
}
