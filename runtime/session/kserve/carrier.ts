// How the bytes of tensors reach the server and come back: in the messages, or through memory that both can see.
import type { ServedModel } from './served-model.ts';
import type { InferRequest, OutputTensor } from './transport.ts';

/** Serves one request at a time. */
export interface Carrier {
  /** @param parts what follows one another on the first axis */
  pack(parts: readonly Uint8Array[], shape: readonly number[], limitMs: number): Promise<InferRequest>;
  /** @returns the outputs with their bytes, which are valid until the next `pack` */
  unpack(outputs: readonly OutputTensor[]): readonly OutputTensor[];
  /** Takes back what the server was told of. */
  close(): Promise<void>;
}

export function createMessageCarrier({ input, outputs }: ServedModel): Carrier {
  const asked = outputs.map(({ name }) => ({ name }));
  const { name, datatype } = input;
  return {
    pack: async (bytes, shape) => ({ input: { name, datatype, shape, bytes }, outputs: asked }),
    unpack: (answered) => answered,
    close: async () => undefined,
  };
}
