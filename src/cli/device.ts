// `device=` as people write it, and which of them is used.
import { ConfigError } from '#core';
import type { Provider } from '#runtime';

/**
 * `cpu`; `0`, `cuda`, `cuda:0` and `gpu` for a CUDA device; `auto`.
 * @throws ConfigError for anything else, and for devices that are not part of this version
 */
export function parseDevice(text: string): Provider | 'auto' {
  const word = text.toLowerCase();
  if (word === 'auto') return 'auto';
  if (word === 'cpu' || word === '-1') return { kind: 'cpu' };
  const cuda = /^(?:(?:cuda|gpu)(?::(\d+))?|(\d+))$/.exec(word);
  if (cuda !== null) return { kind: 'cuda', index: Number(cuda[1] ?? cuda[2] ?? 0) };
  if (/^(tensorrt|trt|dla|kserve|mps|npu|openvino|xpu|intel)/.test(word)) {
    throw new ConfigError(`device=${text} is not part of this version`, {
      hint: 'use device=cpu, device=0 for CUDA on x86-64 Linux, or device=auto',
    });
  }
  throw new ConfigError(`device=${text}: expected cpu, auto, or the number of a CUDA device`, {
    hint: 'write device=cpu or device=0',
  });
}
