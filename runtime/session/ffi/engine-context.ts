// ONNX files that stand for a built engine (`export format=engine` writes them): what must be true before one is loaded.
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ModelError } from '#core';
import { deserialize, graphOf } from '#onnx';
import { keyDifferences, parseEngineRecord } from '../engine-record.ts';
import { engineElsewhere } from '../ort-errors.ts';
import type { Provider } from '../session.ts';

/** ONNX Runtime reads them since 1.17. */
const LEVEL = 17;
const OPERATOR = 'EPContext';

/** @returns the name of the engine file beside it; undefined for every other model */
export function engineOfWrapper(model: Uint8Array): string | undefined {
  // A search through the bytes, because taking a large model apart would be for nothing.
  if (!Buffer.from(model.buffer, model.byteOffset, model.byteLength).includes(OPERATOR)) return undefined;
  const node = graphOf(deserialize(model)).node.find(({ opType }) => opType === OPERATOR);
  const path = node?.attribute.find(({ name }) => name === 'ep_cache_context')?.s;
  return node === undefined ? undefined : new TextDecoder().decode(path);
}

/** A wrapper holds names and no weights. */
const MOST_WRAPPER_BYTES = 2 ** 20;

/** Whether a model file stands for a built engine; false also for a file that cannot be read, which opening will say. */
export async function isEngineWrapper(path: string): Promise<boolean> {
  const size = (await stat(path).catch(() => undefined))?.size ?? Number.POSITIVE_INFINITY;
  if (size > MOST_WRAPPER_BYTES) return false;
  try {
    return engineOfWrapper(await readFile(path)) !== undefined;
  } catch {
    return false;
  }
}

/** What this machine is, as far as it is known before a session is opened. */
export interface EngineHost {
  readonly level: number;
  readonly version: string;
  readonly tensorrt: string | undefined;
  readonly gpu: string | undefined;
  readonly computeCapability: string | undefined;
}

/**
 * @param wrapper path of the ONNX file
 * @param engine as `engineOfWrapper` gives it
 * @throws ModelError where it cannot run there: another device, another TensorRT, an engine that is absent, cut off or
 * not the one that its record is about
 */
export async function expectLoadableEngine(
  { wrapper, engine }: { readonly wrapper: string; readonly engine: string },
  provider: Provider,
  host?: EngineHost,
): Promise<void> {
  if (provider.kind !== 'tensorrt') {
    throw engineElsewhere(wrapper);
  }
  if (host !== undefined && host.level < LEVEL) {
    throw new ModelError(
      `${wrapper} stands for an engine; ONNX Runtime reads such files since 1.${LEVEL}, and this is ${host.version}`,
      {
        hint: 'give the .onnx file that the engine was built from: this device builds and keeps its own',
      },
    );
  }
  const path = join(dirname(wrapper), engine);
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new ModelError(`${wrapper}: its engine ${engine} is not beside it`, { hint: REBUILD, cause });
  });
  if (bytes.length === 0) throw new ModelError(`${path} is empty`, { hint: REBUILD });
  const text = await readFile(`${path}.json`, 'utf8').catch(() => undefined);
  if (text === undefined) return;
  const { key, engine: facts } = parseEngineRecord(text, `${path}.json`);
  if (bytes.length !== facts.bytes) {
    throw new ModelError(
      `${path} has ${bytes.length} bytes of ${facts.bytes}: it is cut off or another file`,
      {
        hint: REBUILD,
      },
    );
  }
  if (createHash('sha256').update(bytes).digest('hex') !== facts.sha256) {
    throw new ModelError(`${path} is not the file that ${basename(path)}.json is about`, { hint: REBUILD });
  }
  const here = {
    ...key,
    tensorrt: host?.tensorrt ?? key.tensorrt,
    gpu: host?.gpu ?? key.gpu,
    computeCapability: host?.computeCapability ?? key.computeCapability,
  };
  const differences = keyDifferences(key, here);
  if (differences.length === 0) return;
  throw new ModelError(`${path} was built elsewhere: ${differences.join('; ')}`, { hint: REBUILD });
}

const REBUILD =
  'build it again on this device: export format=engine, or device=tensorrt:0 with the .onnx file';
