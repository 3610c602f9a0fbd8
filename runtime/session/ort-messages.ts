// The words that a session's thread and its owner exchange.
import type { HeadTensor } from '#core';
import type { InputArray, Provider, SessionInput } from './session.ts';

export interface OpenMessage {
  readonly type: 'open';
  readonly model: Uint8Array<ArrayBuffer>;
  readonly provider: Provider;
  readonly threads: number;
  readonly externalDataFolder?: string;
}

export interface RunMessage {
  readonly type: 'run';
  readonly id: number;
  readonly input: InputArray;
  readonly spec: SessionInput;
}

export type ToWorker = OpenMessage | RunMessage | { readonly type: 'close' };

export type FromWorker =
  | { readonly type: 'opened'; readonly outputNames: readonly string[] }
  | { readonly type: 'failed'; readonly id?: number; readonly message: string; readonly input?: InputArray }
  | {
      readonly type: 'result';
      readonly id: number;
      readonly input: InputArray;
      readonly outputs: readonly (readonly [string, HeadTensor])[];
      readonly inferenceMs: number;
    };
