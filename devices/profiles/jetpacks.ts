// Which CUDA, TensorRT and ONNX Runtime go with which JetPack, and where a libonnxruntime.so with both comes from.
import type { JetPack } from './profile.ts';

const CONTAINERS =
  'dusty-nv/jetson-containers: jetson_containers/l4t_version.py, packages/ml/onnxruntime/config.py and build.sh';
const OPERATORS = 'onnx/onnx-tensorrt: docs/operators.md at the tag of the version';
const EPS = 'microsoft/onnxruntime: docs/build/eps.md';
/** Where every recipe puts the library, so that all commands agree. */
export const LIBRARY_FOLDER = '/opt/onnxruntime';

const BUILD = (architectures: string, version: string): readonly string[] => [
  `git clone --recursive --branch v${version} https://github.com/microsoft/onnxruntime && cd onnxruntime`,
  './build.sh --config Release --build_shared_lib --parallel 2 --skip_tests --use_tensorrt --cuda_home /usr/local/cuda ' +
    `--cudnn_home /usr/lib/aarch64-linux-gnu --tensorrt_home /usr/lib/aarch64-linux-gnu --cmake_extra_defines CMAKE_CUDA_ARCHITECTURES="${architectures}"`,
  `sudo install -D -t ${LIBRARY_FOLDER} build/Linux/Release/libonnxruntime*.so*`,
];

const FROM_WHEEL = (index: string, version: string): readonly string[] => [
  `pip3 download onnxruntime-gpu==${version} --no-deps --index-url ${index} -d ort-wheel`,
  "unzip -j -o ort-wheel/*.whl 'onnxruntime/capi/*.so*' -d ort-wheel/capi",
  `sudo install -D -t ${LIBRARY_FOLDER} ort-wheel/capi/libonnxruntime*.so*`,
];

export const JETPACKS: readonly JetPack[] = [
  {
    id: '4.6',
    l4t: ['32.6', '32.7'],
    ubuntu: '18.04',
    cuda: '10.2',
    tensorrt: '8.2',
    onnxRuntime: '1.11',
    recipe: {
      kind: 'none',
      why: 'JetPack 4 is too old: Ubuntu 18.04 has glibc 2.27, and Node 20 and its ONNX Runtime need 2.28',
      instead: [
        'use the board as a camera and let another machine detect: on that machine, edge-detect stream source=rtsp://BOARD:8554/live',
        'or run on its CPU in a container with Ubuntu 20.04 or newer: docker run -it --device /dev/video0 node:20-bookworm',
        'a Xavier takes JetPack 5.1 (flash it with the SDK Manager); a Nano or a TX2 takes nothing newer than JetPack 4.6',
      ],
    },
    notes: [],
    sources: [
      CONTAINERS,
      'OE4T/meta-tegra-community#94 prints CUDA 10.2 and TensorRT 8.2.1 of an L4T 32.7.4',
    ],
  },
  {
    id: '5.1',
    l4t: ['35.1', '35.2', '35.3', '35.4', '35.5', '35.6'],
    ubuntu: '20.04',
    cuda: '11.4',
    tensorrt: '8.5',
    onnxRuntime: '1.16.3',
    recipe: {
      kind: 'image',
      what: "the jetson-containers image of ONNX Runtime 1.16.3 for L4T 35: the library lies in its Python package's folder",
      commands: [
        `docker run --rm -v "$PWD":/out dustynv/onnxruntime:r35.4.1 sh -c 'cp $(find / -name "libonnxruntime*.so*" -not -path "/proc/*") /out'`,
        `sudo install -D -t ${LIBRARY_FOLDER} libonnxruntime*.so*`,
      ],
    },
    notes: [
      'TensorRT 8.5 reads opset 17 at most and no bytes as input: export with opset=17 uint8=False',
      'no EPContext in ONNX Runtime 1.16: engines are kept by its cache',
    ],
    sources: [CONTAINERS, OPERATORS, 'microsoft/onnxruntime#19154: EPContext came with 1.17.0'],
  },
  {
    id: '6.0',
    l4t: ['36.2', '36.3'],
    ubuntu: '22.04',
    cuda: '12.2 or 12.4',
    tensorrt: '8.6',
    onnxRuntime: '1.17 to 1.18',
    recipe: {
      kind: 'build',
      what: 'a build of ONNX Runtime 1.17 (better: update to JetPack 6.2, which has wheels)',
      commands: BUILD('87', '1.17.3'),
    },
    notes: ['TensorRT 8.6 reads opset 17 at most'],
    sources: [CONTAINERS, OPERATORS],
  },
  {
    id: '6.2',
    l4t: ['36.4', '36.5'],
    ubuntu: '22.04',
    cuda: '12.6',
    tensorrt: '10.3',
    onnxRuntime: '1.20 to 1.25',
    recipe: {
      kind: 'wheel',
      what: 'the wheel for JetPack 6 and CUDA 12.6: it carries the library besides the Python module',
      commands: FROM_WHEEL('https://pypi.jetson-ai-lab.io/jp6/cu126', '1.23.0'),
    },
    notes: [],
    sources: [CONTAINERS, 'roboflow/inference#1935', 'k2-fsa/sherpa-onnx#1630'],
  },
  {
    id: '7.1',
    l4t: ['38.2', '38.4'],
    ubuntu: '24.04',
    cuda: '13.0',
    tensorrt: '10.13',
    onnxRuntime: '1.24 to 1.25',
    recipe: {
      kind: 'build',
      what: "a build of ONNX Runtime 1.24 for sm_110 (Microsoft's own aarch64 packages name sm_89 to sm_121, and not this one)",
      commands: BUILD('110', '1.24.2'),
    },
    notes: [
      'MJPEG through nvv4l2decoder is not supported on Thor',
      'nvv4l2decoder lost its property enable-max-performance',
    ],
    sources: [CONTAINERS, 'microsoft/onnxruntime#27944', 'docs.nvidia.com/jetson/archives/r38.4', EPS],
  },
  {
    id: '7.2',
    l4t: ['39.2'],
    ubuntu: '24.04',
    cuda: '13.2',
    tensorrt: '10.16.2',
    onnxRuntime: '1.24 to 1.25',
    recipe: {
      kind: 'build',
      what: "a build of ONNX Runtime 1.24 against the host's TensorRT 10.16 (a container's 10.11 does not load here)",
      commands: BUILD('87;110', '1.24.2'),
    },
    notes: ['libnvdla_compiler.so is gone: a TensorRT that was built against it does not load'],
    sources: [
      'blakeblackshear/frigate#23582',
      'Jonah-May-OSS/wyoming-whisper-trt#1038',
      'roboflow/inference#2531',
      EPS,
    ],
  },
];

/** @param release of L4T, `36.4.3` */
export function jetPackOf(release: string): JetPack | undefined {
  const [major, minor] = release.split('.').map(Number);
  return JETPACKS.find(({ l4t }) => l4t.includes(`${major}.${minor}`)) ?? nearestOfMajor(major ?? 0);
}

/** A minor release that came after this table is taken for the newest of its major release that is known. */
function nearestOfMajor(major: number): JetPack | undefined {
  return JETPACKS.findLast(({ l4t }) => l4t.some((known) => Number(known.split('.')[0]) === major));
}
