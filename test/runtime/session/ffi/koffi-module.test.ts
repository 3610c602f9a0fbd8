// Our own words for koffi are held to its types by the compiler, and to the module itself here.
import koffi from 'koffi';
import { expect, it } from 'vitest';
import type { KoffiModule } from '../../../../runtime/session/ffi/api.ts';

it('koffi is what we say that it is', () => {
  const used: KoffiModule = koffi;
  for (const name of ['config', 'load', 'proto', 'address', 'decode'] as const)
    expect(used[name]).toBeTypeOf('function');
  expect(used.decode.string).toBeTypeOf('function');
  expect(used.config().async_stack_size).toBeTypeOf('number');
});
