// Sessions on an inference server, over each protocol, held to the contract of all sessions.
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe } from 'vitest';
import type { Session } from '#runtime';
import { prepareSession } from '../../../runtime/session/open-session.ts';
import { longRuns } from '../../support/long-runs.ts';
import { doubledModel, slowModel } from '../../support/session-models.ts';
import { InferenceServer, serverInstalled } from './kserve-server.ts';
import { describeSessionContract } from './session-contract.ts';

const note = serverInstalled ? '' : ' (skipped: scripts/install-inference-server.mjs was not run)';

describe.skipIf(!serverInstalled)(`on an inference server${note}`, async () => {
  // The address of the model that a child process runs is needed before the tests are registered.
  const server = await InferenceServer.create();
  const known = new Map<string, Promise<boolean>>();

  beforeAll(async () => {
    await server.add('slow', slowModel().bytes);
    await server.add('doubled', doubledModel());
    await server.start();
  }, 60_000);
  afterAll(() => server.end());

  /** Every graph of the suite becomes a model of the server; what is none leaves it without. */
  async function nameOf(model: Uint8Array): Promise<string> {
    const name = `m${createHash('sha256').update(model).digest('hex').slice(0, 12)}`;
    const served = known.get(name) ?? server.add(name, model).then(() => server.load(name));
    known.set(
      name,
      served.catch(() => false),
    );
    return (await known.get(name)) ? name : 'doubled';
  }

  async function open(model: Uint8Array, protocol: 'grpc' | 'http'): Promise<Session> {
    const provider = { kind: 'kserve', url: server[protocol](await nameOf(model)) } as const;
    const options = { provider, threads: 1 };
    return prepareSession(options).open(model, 'model.onnx', options);
  }

  for (const protocol of ['grpc', 'http'] as const) {
    describeSessionContract(`kserve over ${protocol}`, {
      open: (model) => open(model, protocol),
      // The buffers of HTTP/2 grow for the first few thousand runs, then no more (12 000 runs: 0.2 MiB of heap in the last 10 000):
      // EDGE_DETECT_LONG_TESTS=1 goes that far.
      limits: {
        runs: longRuns ? 5000 : 1500,
        growthMiB: 32,
        child: { provider: { kind: 'kserve', url: server[protocol]('slow') } },
      },
    });
  }
});
