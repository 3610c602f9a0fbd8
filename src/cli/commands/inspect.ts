// `edge-detect inspect`: what a model file is and what it can say about its uncertainty, or what a data set holds and
// what is wrong with it.
import { ConfigError, DataError, type HeadKind, ModelError } from '#core';
import { lintDataset, loadDataset } from '#data/datasets';
import { type ModelManifest, readManifest } from '#export';
import { describeModel, loadModelFile, type ModelDescription, planTaps } from '#onnx';
import { openModel, readNames } from '#runtime';
import type { Config } from '../config.ts';
import { datasetLines, datasetReport, parseFaultLimit } from '../dataset-lines.ts';
import { inspectLines } from '../inspect-lines.ts';
import { defined } from '../open.ts';
import { print, printJson } from '../output.ts';

export async function inspect(config: Config): Promise<void> {
  const [data, model] = [config.text('data'), config.text('model')];
  if ((data === undefined) === (model === undefined)) {
    throw new ConfigError(`inspect takes one of model= or data=${data === undefined ? '' : ', not both'}`, {
      hint: 'write edge-detect inspect model=yolo.onnx, or edge-detect inspect data=data.yaml',
    });
  }
  if (data !== undefined) await inspectDataset(data, config);
  else await inspectModel(config.required('model'), config);
}

async function inspectDataset(path: string, config: Config): Promise<void> {
  const limit = parseFaultLimit(config.text('faults'));
  const pictures = config.text('pictures') ?? 'headers';
  const names = config.text('names');
  const dataset = await loadDataset(
    path,
    defined('classNames', names === undefined ? undefined : await readNames(names)),
  );
  const report = await lintDataset(dataset, {
    openPictures: pictures !== 'skip',
    decodePictures: pictures === 'decode',
  });
  if (config.flag('json')) printJson(datasetReport(dataset, report));
  else for (const line of datasetLines(dataset, report, limit, config.flag('verbose') ?? false)) print(line);
  const errors = report.faults.filter(({ severity }) => severity === 'error').length;
  if (errors > 0) {
    throw new DataError(
      `data=${path}: ${errors} ${errors === 1 ? 'error' : 'errors'} that would make training wrong`,
      {
        hint: 'correct what is listed as error; warnings and notices do not stop training',
      },
    );
  }
}

async function inspectModel(path: string, config: Config): Promise<void> {
  const { description, manifest, failure } = await describe(path, config);
  if (config.flag('json')) printJson({ file: path, ...description, ...(manifest && { export: manifest }) });
  else {
    const how = { verbose: config.flag('verbose') ?? false, ...(manifest && { manifest }) };
    for (const line of inspectLines(path, description, how)) print(line);
  }
  if (failure !== undefined) throw failure;
}

/** A file that is no detector known here is described all the same, and then refused. */
async function describe(
  path: string,
  config: Config,
): Promise<{
  readonly description: ModelDescription & { readonly sha256: string };
  /** Of a file that this program exported. */
  readonly manifest?: ModelManifest;
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
    const manifest = readManifest(model.metadata);
    return {
      description: { ...description, sha256: file.sha256, classNames, assumed: model.assumed },
      ...(manifest && { manifest }),
    };
  } catch (failure) {
    if (!(failure instanceof ModelError)) throw failure;
    const file = await loadModelFile(path);
    const description = describeModel(file.model, { taps: planTaps(file.model) });
    return { description: { ...description, sha256: file.sha256 }, failure };
  }
}
