// `device=` as people write it, and which of them is used.
import { ConfigError } from '#core';
import type { Provider } from '#runtime';

const WORDS: Readonly<Record<string, 'cuda' | 'tensorrt' | 'dla'>> = {
  '': 'cuda',
  cuda: 'cuda',
  gpu: 'cuda',
  tensorrt: 'tensorrt',
  trt: 'tensorrt',
  dla: 'dla',
};

/**
 * `cpu`; `0`, `cuda`, `cuda:0` and `gpu` for a CUDA device; `tensorrt:0`, `trt`; `dla:0`; `webgpu`;
 * `kserve://host:port/model`; `auto`.
 * @throws ConfigError for anything else
 */
export function parseDevice(text: string): Provider | 'auto' {
  const word = text.toLowerCase();
  if (word === 'auto') return 'auto';
  if (word === 'cpu' || word === '-1') return { kind: 'cpu' };
  if (word === 'webgpu') return { kind: 'webgpu' };
  if (/^kserve(\+(grpc|http)s?)?:\/\//.test(word)) return { kind: 'kserve', url: text };
  const [, name = '', index] =
    /^(?:(cuda|gpu|tensorrt|trt|dla)(?::(\d+))?)$/.exec(word) ?? /^()(\d+)$/.exec(word) ?? [];
  const kind = WORDS[name];
  if (kind !== undefined && (name !== '' || index !== undefined)) return { kind, index: Number(index ?? 0) };
  throw new ConfigError(`device=${text}: expected ${DEVICES}`, { hint: 'write device=cpu or device=0' });
}

const DEVICES =
  'cpu, auto, the number of a CUDA device, tensorrt:0, dla:0, webgpu or kserve://host:port/model';
