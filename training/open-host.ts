// A model file as a host for our head: read, understood, made float32, and cut.
import { basename } from 'node:path';
import { ModelError } from '#core';
import type { HeadedModel, ModelProto, StoredLogitRanges } from '#onnx';
import {
  dequantise,
  isHalfPrecision,
  isQuantised,
  nameFile,
  normalizeInputs,
  readLogitRanges,
  reheadHost,
  toFloat32,
} from '#onnx';
import { openModel } from '#runtime';
import type { TrainOptions } from './options.ts';

export interface OpenHost {
  readonly headed: HeadedModel;
  readonly sha256: string;
  /** Classes of the file, for telling whether its own are trained further. */
  readonly classNames: readonly string[];
  /** That the file states for its class logits. */
  readonly logitRanges?: StoredLogitRanges;
  readonly notes: readonly string[];
}

/**
 * @throws ModelError for anything that is no detector known here, cannot be made float32, or cannot be cut where asked
 */
export async function openHost(options: TrainOptions, classNames: readonly string[]): Promise<OpenHost> {
  const { model: path, imageSize } = options;
  const opened = await openModel(path, { uncertainty: 'none', ...(imageSize && { imageSize }) });
  await Promise.all(opened.sessions.map((session) => session.close()));
  try {
    const notes: string[] = [];
    const host = plainFloat(normalizeInputs(opened.file.model), notes);
    const headed = reheadHost(host, {
      classNames,
      preprocess: opened.preprocess.contract,
      imageSize: opened.inputSize,
      bins: options.bins,
      adapter: options.adapter,
      dropout: options.dropout,
      freeze: options.freeze,
      classLaw: options.classLaw,
      seed: options.loop.seed,
      host: { name: basename(path), sha256: opened.file.sha256 },
    });
    const logitRanges = readLogitRanges(opened.metadata);
    return {
      headed,
      sha256: opened.file.sha256,
      classNames: opened.classNames,
      ...(logitRanges && { logitRanges }),
      notes: [...notes, ...headed.notes],
    };
  } catch (error) {
    throw error instanceof ModelError ? nameFile(path, error) : error;
  }
}

/** Quantised and half-precision graphs have no gradient: they are widened, and that is said. */
function plainFloat(model: ModelProto, notes: string[]): ModelProto {
  let plain = model;
  if (isQuantised(plain)) {
    const { model: dequantised, replaced } = dequantise(plain);
    notes.push(`the host is quantised: ${replaced} layers were turned back into float32 before training`);
    plain = dequantised;
  }
  if (isHalfPrecision(plain)) {
    notes.push('the host is float16: it was widened to float32 before training');
    plain = toFloat32(plain);
  }
  return plain;
}
