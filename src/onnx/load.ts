// Model files from disk: the bytes, their checksum and the parsed model, or a ModelError that says what the file is.
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ModelError } from '#core';
import { externalFiles } from './external-data.ts';
import { normalizeInputs } from './graph.ts';
import type { ModelProto } from './proto/onnx_pb.ts';
import { deserialize } from './serialize.ts';
import { sniffForeign } from './sniff.ts';

/** What the pinned ONNX Runtime loads (measured with 1.30.0). */
export const MAX_IR_VERSION = 13;
export const MAX_OPSET = 26;

export interface OnnxModelFile {
  /** As it was given. */
  readonly path: string;
  readonly bytes: Uint8Array;
  /** Of the file as it stands, lower-case hex. */
  readonly sha256: string;
  /** Its weights are views into `bytes`; initializers are taken out of the inputs. */
  readonly model: ModelProto;
  /** Absolute folder of the files with the weights; absent where the model is one file. */
  readonly externalDataFolder?: string;
}

/** @throws ModelError for everything that is not an ONNX model the runtime can take; the hint says what to do */
export async function loadModelFile(path: string): Promise<OnnxModelFile> {
  const bytes = await readModel(path);
  const model = parseModel(path, bytes);
  const folder = dirname(resolve(path));
  const files = namingFile(path, () => externalFiles(model));
  for (const { location, neededBytes } of files) await checkExternal(path, folder, location, neededBytes);
  return {
    path,
    bytes,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    model,
    ...(files.length > 0 ? { externalDataFolder: folder } : {}),
  };
}

/** Runs a step; a ModelError of it that does not name the file is thrown again with its name. */
function namingFile<T>(path: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw nameFile(path, error);
  }
}

/** The same error, or, for a ModelError that does not name the file, one that does. */
export function nameFile(path: string, error: unknown): unknown {
  if (!(error instanceof ModelError) || error.message.includes(path)) return error;
  return new ModelError(`${path}: ${error.message}`, { hint: error.hint, cause: error });
}

/**
 * The model in the bytes of a file.
 * @param path only named in messages, and looked at for its ending
 * @throws ModelError as `loadModelFile`
 */
export function parseModel(path: string, bytes: Uint8Array): ModelProto {
  const foreign = sniffForeign(path, bytes);
  if (foreign) throw new ModelError(`${path} is ${foreign.what}`, { hint: foreign.hint });
  const model = decode(path, bytes);
  checkVersions(path, model);
  return normalizeInputs(model);
}

async function readModel(path: string): Promise<Uint8Array> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (cause) {
    throw unreadable(path, cause);
  }
  if (bytes.length === 0) {
    throw new ModelError(`${path} is empty (0 bytes)`, { hint: 'copy or download the file again' });
  }
  return bytes;
}

function unreadable(path: string, cause: unknown): ModelError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      // A missing checkpoint is still answered with what has to be done in the end.
      return new ModelError(`there is no model file ${path}`, {
        hint: sniffForeign(path, new Uint8Array())?.hint ?? 'give the path of an .onnx file as model=',
        cause,
      });
    case 'EISDIR':
      return new ModelError(`${path} is a folder, expected an .onnx file`, {
        hint: 'give the file inside it as model=',
        cause,
      });
    case 'EACCES':
    case 'EPERM':
      return new ModelError(`${path} may not be read by this user`, {
        hint: 'change its permissions',
        cause,
      });
    case 'ERR_FS_FILE_TOO_LARGE':
      return new ModelError(`${path} is larger than 2 GiB, more than an ONNX file can be`, {
        hint: 'keep the weights in a second file (external data)',
        cause,
      });
    default:
      return new ModelError(`${path} cannot be read: ${cause instanceof Error ? cause.message : cause}`, {
        hint: 'check the disk and the path',
        cause,
      });
  }
}

function decode(path: string, bytes: Uint8Array): ModelProto {
  let model: ModelProto;
  try {
    model = deserialize(bytes);
  } catch (cause) {
    // Field 1, the IR version, is what every exporter writes first.
    const begins = bytes[0] === 0x08;
    throw new ModelError(
      begins
        ? `${path} is cut off or damaged: its ${bytes.length} bytes end in the middle of the model`
        : `${path} is not an ONNX file (first bytes ${firstBytes(bytes)})`,
      { hint: begins ? 'copy or download the file again' : 'give an .onnx file as model=', cause },
    );
  }
  if (!model.graph || model.irVersion === 0n) {
    throw new ModelError(`${path} holds no ONNX graph (first bytes ${firstBytes(bytes)})`, {
      hint: 'copy or export the file again; expected an ONNX model',
    });
  }
  return model;
}

function firstBytes(bytes: Uint8Array): string {
  return Array.from(bytes.subarray(0, 8), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
}

function checkVersions(path: string, model: ModelProto): void {
  const hint = 'export it again with opset 17: yolo export model=<file>.pt format=onnx opset=17';
  if (model.irVersion > MAX_IR_VERSION) {
    throw new ModelError(
      `${path} is written in ONNX IR version ${model.irVersion}; the runtime takes up to ${MAX_IR_VERSION}`,
      { hint },
    );
  }
  const main = model.opsetImport.find(({ domain }) => domain === '' || domain === 'ai.onnx');
  if (main && main.version > MAX_OPSET) {
    throw new ModelError(`${path} uses ONNX opset ${main.version}; the runtime takes up to ${MAX_OPSET}`, {
      hint,
    });
  }
}

async function checkExternal(
  path: string,
  folder: string,
  location: string,
  neededBytes: number,
): Promise<void> {
  const file = join(folder, location);
  const found = await stat(file).catch(() => undefined);
  if (!found?.isFile()) {
    throw new ModelError(`${path} keeps its weights in ${location}, which is not in ${folder}`, {
      hint: `copy ${location} into that folder under exactly that name; the two files belong together`,
    });
  }
  if (found.size < neededBytes) {
    throw new ModelError(`${file} has ${found.size} bytes, ${path} needs ${neededBytes} of it`, {
      hint: 'copy the file again: it is cut off, or belongs to another model',
    });
  }
}
