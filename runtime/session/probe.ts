// Which providers really work here: each is tried with a session, since the list of what was compiled in says little.
import { EdgeDetectError } from '#core';
import type { Probe } from '#devices';
import { ElementType, graph, model, node, serialize, valueInfo } from '#onnx';
import { acceleratorHint } from './missing-library.ts';
import { disableTelemetry } from './no-telemetry.ts';
import { prepareSession } from './open-session.ts';
import { type Provider, providerName } from './session.ts';

const CANDIDATES: readonly Provider[] = [
  { kind: 'cpu' },
  { kind: 'cuda', index: 0 },
  { kind: 'tensorrt', index: 0 },
];

export interface ProbeOptions {
  /** The ONNX Runtime library to ask in place of the one of onnxruntime-node. */
  readonly ortLibrary?: string;
}

export async function probeProviders(options: ProbeOptions = {}): Promise<readonly Probe[]> {
  const probes: Probe[] = [];
  for (const provider of CANDIDATES) probes.push(await probeProvider(provider, options));
  return probes;
}

async function probeProvider(provider: Provider, { ortLibrary }: ProbeOptions): Promise<Probe> {
  const name = providerName(provider);
  const bundled = ortLibrary === undefined ? await readBundled() : undefined;
  if (bundled !== undefined && !bundled.providers.has(provider.kind)) {
    const reason = `${bundled.name} has no ${provider.kind} for this platform`;
    return { name, status: 'missing', reason, hint: acceleratorHint(provider) };
  }
  const options = { provider, threads: 1, ...(ortLibrary !== undefined && { ortLibrary }) };
  try {
    const session = await prepareSession(options).open(tinyModel(), 'the probe', options);
    await session.run(Float32Array.of(1, -1), { name: 'x', shape: [2] });
    await session.close();
    return { name, status: 'available', detail: session.runtime ?? bundled?.name ?? name };
  } catch (error) {
    if (!(error instanceof EdgeDetectError)) throw error;
    return {
      name,
      status: 'missing',
      reason: error.message.replace(`${name} is not usable here: `, ''),
      hint: provider.kind === 'cpu' ? error.hint : acceleratorHint(provider),
    };
  }
}

/** What onnxruntime-node says was compiled into it. */
async function readBundled(): Promise<{ readonly name: string; readonly providers: ReadonlySet<string> }> {
  disableTelemetry();
  const ort = await import('onnxruntime-node'); // here, because loading it costs every program that never asks
  return {
    name: `onnxruntime-node ${ort.env.versions.node ?? ''}`,
    providers: new Set(ort.listSupportedBackends().map((backend) => backend.name)),
  };
}

function tinyModel(): Uint8Array {
  const shape = [valueInfo('x', ElementType.FLOAT, [2])];
  const outputs = [valueInfo('y', ElementType.FLOAT, [2])];
  return serialize(model(graph({ nodes: [node('Relu', ['x'], ['y'])], inputs: shape, outputs })));
}
