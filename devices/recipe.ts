// What to do with a board, for those who have it not at hand yet: from the box to the first detection.
import { JETPACKS, LIBRARY_FOLDER } from './profiles/jetpacks.ts';
import type { DeviceProfile, JetPack, PublishedSpeed } from './profiles/profile.ts';

export interface Recipe {
  readonly profile: DeviceProfile;
  readonly jetpacks: readonly JetPack[];
  /** In order. Lines beginning with `# ` are for people. */
  readonly steps: readonly string[];
  readonly unverified: string;
}

export function recipeOf(profile: DeviceProfile): Recipe {
  const jetpacks = (profile.jetpacks ?? []).flatMap((id) => JETPACKS.filter((row) => row.id === id));
  return {
    profile,
    jetpacks,
    steps: profile.kind === 'jetson' ? jetsonSteps(profile, jetpacks[0]) : workstationSteps(profile),
    unverified:
      'these steps follow public documentation and reports named below; none was run on this device by us. edge-detect devices on the board says what it finds',
  };
}

const LIBRARY = `${LIBRARY_FOLDER}/libonnxruntime.so`;

function jetsonSteps(profile: DeviceProfile, jetpack: JetPack | undefined): readonly string[] {
  if (jetpack === undefined) return [];
  const { recipe } = jetpack;
  if (recipe.kind === 'none')
    return [`# ${recipe.why}`, ...recipe.instead.map((text) => `# instead: ${text}`)];
  const { precision, imgsz } = profile.recommended;
  return [
    `# 1. JetPack ${jetpack.id} (L4T ${jetpack.l4t.at(-1)}), by the SDK Manager or the SD card image; then, on the board:`,
    'sudo apt-get update && sudo apt-get install nvidia-jetpack ffmpeg gstreamer1.0-tools gstreamer1.0-plugins-bad',
    '# 2. Node 20 for arm64 (nodejs.org), then:',
    'npm install -g edge-detect',
    `# 3. ONNX Runtime with CUDA and TensorRT: ${recipe.what}`,
    ...recipe.commands,
    `export ORT_DYLIB_PATH=${LIBRARY}`,
    '# 4. What is found:',
    'edge-detect devices',
    '# 5. Full clocks:',
    'sudo nvpmodel -m 0 && sudo jetson_clocks',
    `# 6. Your model for this board (${precision}, ${imgsz} px: ${profile.recommended.why}):`,
    `edge-detect export model=model.onnx imgsz=${imgsz}${precision === 'fp16' ? ' half=True' : ''}${opset(jetpack)} out=board.onnx`,
    '# 7. A camera: CSI, USB (source=0) or RTSP (add decoder=gstreamer):',
    'edge-detect stream model=board.onnx source=csi://0 device=tensorrt:0',
  ];
}

function opset({ tensorrt }: JetPack): string {
  return tensorrt.startsWith('8.') ? ' opset=17' : '';
}

function workstationSteps(profile: DeviceProfile): readonly string[] {
  const { precision, imgsz, why } = profile.recommended;
  return [
    '# 1. A driver, CUDA 12 and cuDNN 9 for it (Debian, Ubuntu: NVIDIA CUDA repository):',
    'nvidia-smi',
    'sudo apt-get install cuda-toolkit-12 libcudnn9-cuda-12',
    '# 2. Node 20, then edge-detect and the GPU files of onnxruntime-node (x86-64 Linux):',
    'npm install -g edge-detect',
    'npm rebuild -g onnxruntime-node --onnxruntime-node-install=cuda12',
    '# 3. What is found:',
    'edge-detect devices',
    `# 4. Your model (${precision}, ${imgsz} px: ${why}):`,
    `edge-detect export model=model.onnx imgsz=${imgsz}${precision === 'fp16' ? ' half=True' : ''} out=board.onnx`,
    '# 5. A stream on CUDA; TensorRT where it is installed (device=tensorrt:0):',
    'edge-detect stream model=board.onnx source=rtsp://camera/live device=0',
  ];
}

export function recipeLines({ profile, jetpacks, steps, unverified }: Recipe): readonly string[] {
  const { name, architecture, computeCapabilities, memoryGib, dlaCores, nvenc, speeds, sources } = profile;
  const capability = computeCapabilities.map((sm) => (sm / 10).toFixed(1)).join(' or ');
  const sold = memoryGib === undefined ? '' : `, ${memoryGib.join(', ')} GB memory shared with the GPU`;
  return [
    `${name}: ${architecture}, compute capability ${capability}${sold}`,
    `  DLA: ${dlaCores === 'probe' ? 'sources disagree; edge-detect devices looks for it' : dlaCores || 'none'}; hardware encoder: ${nvenc === 'probe' ? 'look with ffmpeg -encoders' : nvenc}`,
    ...jetpacks.map(
      ({ id, l4t, cuda, tensorrt, onnxRuntime, ubuntu }, place) =>
        `  JetPack ${id}${place === 0 ? ' (recommended)' : ''}: L4T ${l4t.join(', ')}; Ubuntu ${ubuntu}; CUDA ${cuda}; TensorRT ${tensorrt}; ONNX Runtime ${onnxRuntime}`,
    ),
    ...(jetpacks[0]?.notes ?? []).map((note) => `  note: ${note}`),
    '',
    ...steps,
    '',
    ...speedLines(speeds),
    `not verified: ${unverified}`,
    `sources: ${[...new Set([...sources, ...jetpacks.flatMap((row) => row.sources)])].join('; ')}`,
  ];
}

function speedLines(speeds: readonly PublishedSpeed[]): readonly string[] {
  if (speeds.length === 0) return ['speed: no published figure'];
  return [
    'speed, as published by others:',
    ...speeds.map(
      ({ model, precision, framesPerSecond, of, source }) =>
        `  ${String(framesPerSecond).padStart(4)} fps  ${model}, ${precision}, ${of === 'network' ? 'network alone' : 'whole pipeline'} (${source})`,
    ),
  ];
}
