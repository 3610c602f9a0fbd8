// Which providers really work here: each is tried with a session, since the list of what was compiled in says little.
import { EdgeDetectError } from '#core';
import type { Probe } from '#devices';
import { ElementType, graph, model, node, serialize, valueInfo } from '#onnx';
import { cudaHint } from './missing-library.ts';
import { disableTelemetry } from './no-telemetry.ts';
import { openOrtNodeSession } from './ort-node.ts';
import { type Provider, providerName } from './session.ts';

const CANDIDATES: readonly Provider[] = [{ kind: 'cpu' }, { kind: 'cuda', index: 0 }];

export async function probeProviders(): Promise<readonly Probe[]> {
  const probes: Probe[] = [];
  for (const provider of CANDIDATES) probes.push(await probeProvider(provider));
  return probes;
}

async function probeProvider(provider: Provider): Promise<Probe> {
  disableTelemetry();
  const ort = await import('onnxruntime-node'); // here, because loading it costs every program that never asks
  const name = providerName(provider);
  const compiledIn = ort.listSupportedBackends().some((backend) => backend.name === provider.kind);
  if (!compiledIn) {
    const reason = `onnxruntime-node ${ort.env.versions.node ?? ''} has no ${provider.kind} for this platform`;
    return {
      name,
      status: 'missing',
      reason,
      hint: cudaHint(),
    };
  }
  try {
    const session = await openOrtNodeSession(tinyModel(), 'the probe', { provider, threads: 1 });
    await session.run(Float32Array.of(1, -1), { name: 'x', shape: [2] });
    await session.close();
    return { name, status: 'available', detail: `onnxruntime-node ${ort.env.versions.node ?? ''}` };
  } catch (error) {
    if (!(error instanceof EdgeDetectError)) throw error;
    return {
      name,
      status: 'missing',
      reason: error.message.replace(`${name} is not usable here: `, ''),
      hint: cudaHint(),
    };
  }
}

function tinyModel(): Uint8Array {
  const shape = [valueInfo('x', ElementType.FLOAT, [2])];
  const outputs = [valueInfo('y', ElementType.FLOAT, [2])];
  return serialize(model(graph({ nodes: [node('Relu', ['x'], ['y'])], inputs: shape, outputs })));
}
