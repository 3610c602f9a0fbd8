// Every kind of session on this machine, held to the one contract.

import { describe, it } from 'vitest';
import { openOrtFfiSession, openOrtNodeSession } from '#runtime';
import { OLDER_RUNTIMES } from '../../support/older-runtimes.ts';
import { BUNDLED, ortLibrary } from '../../support/ort-libraries.ts';
import { describeSessionContract } from './session-contract.ts';

const CPU = { kind: 'cpu' } as const;

describeSessionContract('ort-node', {
  open: (model, { threads }) => openOrtNodeSession(model, 'model.onnx', { provider: CPU, threads }),
  limits: { child: { provider: CPU } },
});

for (const version of [BUNDLED, ...OLDER_RUNTIMES]) {
  const library = ortLibrary(version);
  const name = `ort-ffi on ${version}`;
  if (library === undefined) {
    describe.skip(`${name}: node scripts/install-runtimes.mjs has not put it here`, () => {
      it('keeps the contract', () => undefined);
    });
    continue;
  }
  describeSessionContract(name, {
    open: (model, { threads }) =>
      openOrtFfiSession(model, 'model.onnx', { provider: CPU, threads, ortLibrary: library }),
    limits: { child: { provider: CPU, ortLibrary: library } },
  });
}
