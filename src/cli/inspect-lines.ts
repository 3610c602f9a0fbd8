// The description of a model in lines for people.
import { formatShape } from '#core';
import type { ModelManifest } from '#export';
import type { ModelDescription, TensorDescription } from '#onnx';

export function inspectLines(
  path: string,
  model: ModelDescription,
  { verbose, manifest }: { readonly verbose: boolean; readonly manifest?: ModelManifest },
): readonly string[] {
  const { head, preprocess, classNames = [] } = model;
  const opsets = Object.entries(model.opsets).map(([domain, version]) => `${domain} ${version}`);
  const sayTensors = (tensors: readonly TensorDescription[]) =>
    tensors
      .map(({ name, dtype, shape }) => `${name} ${dtype}${shape === undefined ? '' : formatShape(shape)}`)
      .join(', ');
  const field = (name: string, text: string | undefined) =>
    text === undefined || text === '' ? [] : [`${name.padEnd(13)} ${text}`];
  return [
    ...field('file', path),
    ...field('format', `ONNX IR ${model.irVersion}, opset ${opsets.join(', ')}, by ${model.producer}`),
    ...field(
      'size',
      `${model.nodeCount} nodes, ${millions(model.parameterCount)} parameters, quantisation: ${model.quantisation}`,
    ),
    ...exportLines(manifest).flatMap((line) => field('export', line)),
    ...field('description', model.description),
    ...field('licence', model.license ?? 'not stated in the file'),
    ...field('inputs', sayTensors(model.inputs)),
    ...field('outputs', sayTensors(model.outputs)),
    ...field('head', head && `${head.kind}, ${head.classCount} classes`),
    ...field(
      'classes',
      classNames.slice(0, verbose ? undefined : 8).join(', ') +
        (verbose || classNames.length <= 8 ? '' : ', …'),
    ),
    ...field('sals', model.sals?.text),
    ...(verbose ? field('class logits', logitRangeText(model)) : []),
    ...field('preprocess', preprocess && `${preprocess.text} (${preprocess.family})`),
    ...field('it can say', head && ['score', ...head.can].join(', ')),
    ...(head?.limits ?? []).flatMap((limit) => field('it cannot', limit)),
    ...(verbose
      ? [...(head?.evidence ?? []), ...model.boxDistribution].flatMap((line) => field('evidence', line))
      : []),
    ...model.assumed.flatMap((line) => field('assumed', line)),
  ];
}

function logitRangeText({ logitRanges }: ModelDescription): string | undefined {
  if (logitRanges === undefined) return undefined;
  const ranges = Object.entries(logitRanges.classes).map(
    ([name, { least, greatest }]) => `${name} ${least.toFixed(2)} to ${greatest.toFixed(2)}`,
  );
  return `in training ${ranges.join(', ')}`;
}

function millions(count: number): string {
  return count >= 1e6 ? `${(count / 1e6).toFixed(2)} million` : String(count);
}

/** What an exported file says of how it was made and how it was judged. */
function exportLines(manifest: ModelManifest | undefined): readonly string[] {
  if (manifest === undefined) return [];
  const { source, format, precision, passes, gate } = manifest;
  const verdict = gate.passed ? 'passed' : `below a floor${gate.forced ? ', forced' : ''}`;
  return [
    `${format}, ${precision}, from ${source.name} (sha256 ${source.sha256.slice(0, 12)}…)`,
    `passes: ${passes.map(({ name }) => name).join(', ')}`,
    `gate ${verdict} on ${gate.pictures} pictures of ${gate.on}`,
  ];
}
