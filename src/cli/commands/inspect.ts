// `edge-detect inspect`: what a model file is, and what it can say about its uncertainty.
import { type HeadKind, ModelError } from '#core';
import { describeModel, loadModelFile, type ModelDescription, planTaps } from '#onnx';
import { openModel, readNames } from '#runtime';
import type { Config } from '../config.ts';
import { inspectLines } from '../inspect-lines.ts';
import { defined } from '../open.ts';
import { print, printJson } from '../output.ts';

export async function inspect(config: Config): Promise<void> {
  const path = config.required('model');
  const { description, failure } = await describe(path, config);
  if (config.flag('json')) printJson({ file: path, ...description });
  else for (const line of inspectLines(path, description, config.flag('verbose') ?? false)) print(line);
  if (failure !== undefined) throw failure;
}

/** A file that is no detector known here is described all the same, and then refused. */
async function describe(
  path: string,
  config: Config,
): Promise<{
  readonly description: ModelDescription & { readonly sha256: string };
  readonly failure?: ModelError;
}> {
  const names = config.text('names');
  const size = config.size('imgsz');
  try {
    const model = await openModel(path, {
      ...defined('layout', config.text('layout') as HeadKind | undefined),
      ...defined('preprocess', config.text('preprocess')),
      ...defined('imageSize', size && { height: size[0], width: size[1] }),
      ...defined('classNames', names === undefined ? undefined : await readNames(names)),
    });
    await Promise.all(model.sessions.map((session) => session.close()));
    const { file, taps, finding, preprocess, classNames } = model;
    const description = describeModel(file.model, { taps, finding, preprocess });
    return { description: { ...description, sha256: file.sha256, classNames, assumed: model.assumed } };
  } catch (failure) {
    if (!(failure instanceof ModelError)) throw failure;
    const file = await loadModelFile(path);
    const description = describeModel(file.model, { taps: planTaps(file.model) });
    return { description: { ...description, sha256: file.sha256 }, failure };
  }
}
