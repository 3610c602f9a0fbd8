// Classes of GPUs in workstations and servers, oldest first.
import type { DeviceProfile } from './profile.ts';

const MATRIX = 'docs.nvidia.com: TensorRT and TensorRT-RTX support matrices, hardware and precision';

const FP16_640 = {
  precision: 'fp16',
  imgsz: 640,
  why: 'tensor cores double the rate of fp32; measure int8 with edge-detect bench before you use it',
} as const;

const COMMON = {
  kind: 'workstation',
  dlaCores: 0,
  // It differs from model to model of one class.
  nvenc: 'probe',
  recommended: FP16_640,
  speeds: [],
  sources: [MATRIX],
} as const;

export const WORKSTATIONS: readonly DeviceProfile[] = [
  {
    ...COMMON,
    id: 'turing',
    name: 'Turing (RTX 20, T4)',
    aliases: ['rtx-20', 't4'],
    architecture: 'Turing',
    computeCapabilities: [75],
    gpuNames: /RTX 20\d\d|GTX 16\d\d|\bT4\b|\bT1000\b|Quadro RTX|TITAN RTX/i,
  },
  {
    ...COMMON,
    id: 'ampere',
    name: 'Ampere (RTX 30, A-series)',
    aliases: ['rtx-30', 'a100', 'a10'],
    architecture: 'Ampere',
    computeCapabilities: [80, 86],
    gpuNames: /RTX 30\d\d|RTX A\d{3,4}|\bA(?:2|10|16|30|40|100|800)G?\b/i,
    speeds: [
      {
        model: 'YOLOv8m with tracker and overlay',
        precision: 'fp16',
        framesPerSecond: 264,
        of: 'pipeline',
        source: 'insight-platform/Savant docs/performance.md, RTX A4000',
      },
    ],
  },
  {
    ...COMMON,
    id: 'ada',
    name: 'Ada (RTX 40, L4, L40)',
    aliases: ['rtx-40', 'l4', 'l40'],
    architecture: 'Ada',
    computeCapabilities: [89],
    gpuNames: /RTX 40\d\d|RTX \d{4} Ada|\bL(?:4|20|40S?)\b/i,
  },
  {
    ...COMMON,
    id: 'hopper',
    name: 'Hopper (H100, H200)',
    aliases: ['h100', 'h200', 'gh200'],
    architecture: 'Hopper',
    computeCapabilities: [90],
    gpuNames: /\bG?H(?:20|100|200|800)\b/i,
  },
  {
    ...COMMON,
    id: 'blackwell',
    name: 'Blackwell (RTX 50, B200)',
    aliases: ['rtx-50', 'b200'],
    architecture: 'Blackwell',
    computeCapabilities: [100, 120],
    gpuNames: /RTX 50\d\d|RTX PRO \d+ Blackwell|\bG?B(?:100|200|300)\b/i,
  },
];
