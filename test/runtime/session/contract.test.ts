// Every kind of session on this machine, held to the one contract.
import { openOrtNodeSession } from '#runtime';
import { describeSessionContract } from './session-contract.ts';

const CPU = { kind: 'cpu' } as const;

describeSessionContract('ort-node', {
  open: (model, { threads }) => openOrtNodeSession(model, 'model.onnx', { provider: CPU, threads }),
  limits: { child: { provider: CPU } },
});
