// Exports a model: passes, gate, and a file that is there whole or not at all.
import { join } from 'node:path';
import { ConfigError } from '#core';
import { type ModelProto, pictureInput, serialize, viewGraph } from '#onnx';
import { writeWholeFile } from '#runtime';
import { type ExportPaths, exportPaths } from './export-paths.ts';
import { deepstreamTexts, expectDeepstreamFolder, writeDeepstreamFiles } from './formats/deepstream.ts';
import { buildEngine } from './formats/engine.ts';
import { DISTILLED_FLOORS, GATE_FLOORS, type GateFloors } from './gate/floors.ts';
import { type Gated, runGate } from './gate/gate.ts';
import { describePictures, type GateModelOptions } from './gate/gate-predictions.ts';
import { gateReport } from './gate/page.ts';
import { gateRefusal } from './gate/refusal.ts';
import { type ModelManifest, withManifest } from './manifest.ts';
import { measureOn } from './measure.ts';
import { type ExportSource, fileFacts, withExportSource } from './open-source.ts';
import { withOwnMetadata } from './own-metadata.ts';
import { type Draft, type ExportPass, type Measure, planFinish, planPasses } from './plan.ts';
import type { TensorRanges } from './precision/ranges.ts';
import { refitCalibrator } from './refit-calibrator.ts';
import type { ExportRequest } from './settings.ts';

export interface ExportContext {
  readonly signal?: AbortSignal;
  /** What is being done, and how far it is: the name of a pass, `ranges`, `gate: source`, `gate: export`. */
  readonly onStage?: (stage: string, done?: number, total?: number) => void;
  /** What the builder of an engine says. */
  readonly onLine?: (line: string) => void;
}

export interface Exported {
  readonly paths: ExportPaths;
  readonly manifest: ModelManifest;
  /** Of the file that was written. */
  readonly bytes: number;
  /** What the format wants beside it. */
  readonly files: readonly string[];
  /** What the user should know of them, in sentences. */
  readonly remarks: readonly string[];
}

/**
 * Runs the passes, holds the result against the source on the user's pictures, and writes model, manifest and report.
 * @throws ModelError where the source is no detector known here, a pass cannot express it, or the gate refuses (the
 * report is written then, the model is not); DataError where pictures or a place to write are missing; ConfigError for
 * impossible choices; the reason of the signal
 */
export async function exportModel(request: ExportRequest, context: ExportContext = {}): Promise<Exported> {
  const paths = await exportPaths(request);
  if (request.settings.format === 'deepstream') await expectDeepstreamFolder(paths.model);
  return withExportSource(request, async (source) => {
    const built = await buildArtefact(request, source, context);
    const { artefact, gated, notes } = await judge(request, source, built, context);
    const { reference: _, ...gate } = gated;
    const finished = await runPasses(
      planFinish(request.settings, source),
      { ...built.draft, model: artefact },
      context,
    );
    const passes = [...built.passes, ...finished.passes];
    const { draft } = finished;
    const manifest = await manifestOf(
      request,
      source,
      { ...built, draft, passes, model: draft.model, notes },
      gate,
    );
    await writeWholeFile(paths.report, gateReport(manifest, gate.worst));
    if (!gate.passed && request.force !== true) throw gateRefusal(paths, gate);
    const content = serialize(withManifest(draft.model, manifest));
    context.signal?.throwIfAborted();
    await writeWholeFile(paths.model, content);
    await writeWholeFile(paths.manifest, `${JSON.stringify(manifest, null, 2)}\n`);
    const more = await writeFormat(request, paths, { manifest, draft }, context);
    return { paths, manifest, bytes: content.length, ...more };
  });
}

/**
 * What the format wants beside the model.
 * @throws DeviceError where an engine is asked for and TensorRT is not here: the model stays, to be taken to the device
 */
async function writeFormat(
  { settings, trtexec }: ExportRequest,
  { model }: ExportPaths,
  { manifest, draft }: { readonly manifest: ModelManifest; readonly draft: Draft },
  { signal, onLine }: ExportContext,
): Promise<Pick<Exported, 'files' | 'remarks'>> {
  const { precision } = settings;
  if (settings.format === 'deepstream') {
    const rows = draft.rows ?? { endToEnd: false, known: [] };
    const facts = { model, contract: draft.contract, classNames: manifest.classes, precision, ...rows };
    const { labels, config } = await writeDeepstreamFiles(facts);
    return { files: [labels, config], remarks: deepstreamTexts(facts).notes };
  }
  if (settings.format === 'onnx') return { files: [], remarks: [] };
  const { engine, record, wrapper, notes, reused } = await buildEngine(
    { model, precision, ...(trtexec !== undefined && { trtexec }) },
    { ...(signal && { signal }), ...(onLine && { onLine }) },
  );
  const remarks = [...(reused ? ['an engine of the same key lay there already'] : []), ...notes];
  return { files: [engine, record, wrapper], remarks };
}

interface Built {
  readonly model: ModelProto;
  readonly draft: Draft;
  readonly passes: ModelManifest['passes'];
  readonly measured: TensorRanges | undefined;
  readonly notes: readonly string[];
}

async function buildArtefact(
  request: ExportRequest,
  source: ExportSource,
  { signal, onStage }: ExportContext,
): Promise<Built> {
  const warnings: string[] = [];
  let measured: TensorRanges | undefined;
  const measure = rangesOf(request, source, {
    ...(signal && { signal }),
    onPicture: (done) => onStage?.('ranges', done),
    onMeasured: (ranges) => {
      measured = ranges;
      warnings.push(...ranges.warnings);
    },
  });
  const start: Draft = { model: source.model, contract: source.contract, decoded: source.isDecoded };
  const plan = planPasses(request.settings, source, measure);
  const { draft, passes } = await runPasses(plan, start, {
    ...(signal && { signal }),
    ...(onStage && { onStage }),
  });
  const isOwn = source.finding.layout.kind === 'edge-detect';
  const { contract, decoded, rows } = draft;
  const model = withOwnMetadata(draft.model, {
    contract,
    classNames: source.classNames,
    ...(isOwn && !decoded ? {} : { decoded }),
    ...(rows && { rows: { suppressed: rows.endToEnd, known: rows.known } }),
  });
  if (measured && request.calibration === undefined) {
    warnings.push('ranges were measured on the pictures of the gate: calibration= names others');
  }
  return { model, draft, passes, measured, notes: [...source.notes, ...warnings] };
}

async function runPasses(
  plan: readonly ExportPass[],
  start: Draft,
  { signal, onStage }: ExportContext,
): Promise<Pick<Built, 'draft' | 'passes'>> {
  const passes: { name: string; note?: string }[] = [];
  let draft = start;
  for (const { name, run } of plan) {
    signal?.throwIfAborted();
    onStage?.(name);
    const { note, ...next } = await run(draft);
    draft = next;
    passes.push({ name, ...(note === undefined ? {} : { note }) });
  }
  return { draft, passes };
}

/** Float16 needs the ranges to see what would overflow, int8 to choose its scales. */
function rangesOf(
  { settings, pictures, calibration, threads }: ExportRequest,
  source: ExportSource,
  events: Pick<Parameters<typeof measureOn>[0], 'signal' | 'onPicture' | 'onMeasured'>,
): Measure {
  const { quantise } = settings;
  const frames = calibration ?? (pictures.kind === 'frames' ? pictures : undefined);
  if (frames === undefined) {
    return () => {
      throw new ConfigError('there are no pictures to measure the ranges of activations on', {
        hint: 'name a folder of pictures with calibration=, other ones than those of the gate',
      });
    };
  }
  return measureOn({
    frames,
    input: source.inputSize,
    batch: source.batch,
    method: quantise?.method ?? 'min-max',
    ...(threads !== undefined && { threads }),
    ...events,
  });
}

interface Judged {
  readonly artefact: ModelProto;
  readonly gated: Gated;
  readonly notes: readonly string[];
}

async function judge(
  request: ExportRequest,
  source: ExportSource,
  built: Built,
  { signal, onStage }: ExportContext,
): Promise<Judged> {
  const path = join(source.folder, 'export.onnx');
  const question = {
    reference: request.reference ?? source.path,
    referenceOptions: source.options,
    artefact: path,
    artefactOptions: artefactOptions(request),
    pictures: request.pictures,
    floors: floorsOf(request),
  };
  const watch = (stage: string) => ({
    ...(signal && { signal }),
    onPicture: (done: number, total?: number) => onStage?.(stage, done, total),
  });
  await writeWholeFile(path, serialize(built.model));
  const first = await runGate(question, watch('gate'));
  if (request.settings.precision !== 'int8')
    return { artefact: built.model, gated: first, notes: built.notes };
  onStage?.('calibrator');
  const refitted = await refitCalibrator(built.model, path, request, signal ? { signal } : {});
  const notes = [...built.notes, ...refitted.notes];
  if (refitted.model === undefined) return { artefact: built.model, gated: first, notes };
  await writeWholeFile(path, serialize(refitted.model));
  const second = await runGate(question, watch('gate again'), first.reference);
  return { artefact: refitted.model, gated: second, notes };
}

/** The file says the rest itself. */
function artefactOptions({ threads }: ExportRequest): GateModelOptions {
  return threads === undefined ? {} : { threads };
}

function floorsOf({ settings, reference, floors }: ExportRequest): GateFloors {
  const own = GATE_FLOORS[settings.precision];
  const distilled =
    reference === undefined
      ? {}
      : Object.fromEntries(
          Object.entries(DISTILLED_FLOORS).map(([name, value]) => {
            const key = name as keyof GateFloors;
            return [name, key === 'minFound' ? Math.min(own[key], value) : Math.max(own[key], value)];
          }),
        );
  return { ...own, ...distilled, ...floors };
}

async function manifestOf(
  { reference, settings, pictures, force }: ExportRequest,
  source: ExportSource,
  { model, draft, passes, measured, notes }: Built,
  { worst: _, ...gate }: Omit<Gated, 'reference'>,
): Promise<ModelManifest> {
  const input = pictureInput(model);
  const { quantise } = settings;
  return {
    version: 1,
    source: await fileFacts(source.file),
    ...(reference === undefined ? {} : { reference: await fileFacts(reference) }),
    format: settings.format,
    precision: settings.precision,
    input: {
      name: input.name,
      dtype: input.dtype,
      shape: (viewGraph(model).shape(input.name) ?? []).map((axis) => axis ?? '?'),
      preprocess: draft.contract,
    },
    classes: source.classNames,
    passes,
    ...(quantise && {
      quantisation: {
        placement: quantise.placement,
        method: measured?.method ?? quantise.method,
        weightBits: quantise.weightBits,
        pictures: measured?.pictures ?? 0,
      },
    }),
    gate: { ...gate, forced: !gate.passed && force === true, on: describePictures(pictures) },
    notes,
  };
}
