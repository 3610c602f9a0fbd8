// What works on this machine, what does not, and the next command to type: from the facts alone.
import type { MachineFacts } from './machine.ts';
import { profileOfBoard, profileOfGpu } from './profiles/index.ts';
import { jetPackOf, LIBRARY_FOLDER } from './profiles/jetpacks.ts';
import type { DeviceProfile, JetPack } from './profiles/profile.ts';

export interface Finding {
  /** `works`, `limited` (usable, and something to know), `missing`, or `unknown` from here. */
  readonly status: 'works' | 'limited' | 'missing' | 'unknown';
  readonly topic: string;
  readonly found: string;
  /** What to do, where there is something. */
  readonly next?: string;
}

export interface Advice {
  readonly profile?: DeviceProfile;
  readonly jetpack?: JetPack;
  readonly findings: readonly Finding[];
}

export interface Extras {
  /** As `nvpmodel -q` says it; a Jetson only. */
  readonly powerMode?: string;
  /** Elements of GStreamer; absent where it is not installed. */
  readonly elements?: ReadonlySet<string>;
}

const GIB = 2 ** 30;
const LIBRARY = `${LIBRARY_FOLDER}/libonnxruntime.so`;

export function advise(machine: MachineFacts, extras: Extras = {}): Advice {
  const { jetson } = machine;
  const profile =
    jetson === undefined
      ? machine.gpus.map(profileOfGpu).find((found) => found !== undefined)
      : profileOfBoard(jetson.compatible, jetson.board);
  const jetpack = jetson?.l4t === undefined ? undefined : jetPackOf(jetson.l4t);
  const findings = [
    ...(jetson === undefined ? gpuFindings(machine, profile) : jetsonFindings(machine, jetpack, extras)),
    ...libraryFindings(machine, jetpack),
    ...(jetson === undefined
      ? []
      : [...ortFindings(machine, profile, jetpack), ...videoFindings(extras, profile)]),
    ...cameraFindings(machine, extras),
    ...roomFindings(machine),
  ];
  return { ...(profile && { profile }), ...(jetpack && { jetpack }), findings };
}

function gpuFindings({ gpus, driver, container }: MachineFacts, profile?: DeviceProfile): readonly Finding[] {
  if (gpus.length === 0) {
    const next = container
      ? 'if the host has one: start the container with --gpus all (on a Jetson: --runtime nvidia)'
      : 'device=cpu works; device=kserve://host:port/model uses the GPU of another machine';
    return [{ status: 'missing', topic: 'gpu', found: 'no NVIDIA GPU is visible here', next }];
  }
  const found = `${gpus.join(', ')}, driver ${driver ?? 'unknown'}${profile ? ` (${profile.name})` : ''}`;
  return [{ status: 'works', topic: 'gpu', found }];
}

function jetsonFindings(
  { jetson }: MachineFacts,
  jetpack: JetPack | undefined,
  { powerMode }: Extras,
): readonly Finding[] {
  const findings: Finding[] = [];
  if (jetson?.l4t === undefined) {
    const found = 'the L4T release cannot be seen here';
    const next = 'in a container, mount it: -v /etc/nv_tegra_release:/etc/nv_tegra_release:ro';
    findings.push({ status: 'unknown', topic: 'jetpack', found, next });
  } else if (jetpack === undefined) {
    const found = `L4T ${jetson.l4t} is not in the table of this version`;
    findings.push({
      status: 'unknown',
      topic: 'jetpack',
      found,
      next: 'see edge-detect devices profile=orin-nano',
    });
  } else {
    findings.push(jetPackFinding(jetson.l4t, jetpack));
    findings.push(...jetpack.notes.map((found): Finding => ({ status: 'limited', topic: 'jetpack', found })));
  }
  if (powerMode !== undefined) findings.push(powerFinding(powerMode));
  return findings;
}

function jetPackFinding(l4t: string, { id, cuda, tensorrt, onnxRuntime, recipe }: JetPack): Finding {
  const found = `JetPack ${id} (L4T ${l4t}): CUDA ${cuda}, TensorRT ${tensorrt}, ONNX Runtime ${onnxRuntime}`;
  return recipe.kind === 'none'
    ? { status: 'missing', topic: 'jetpack', found: `${found}. ${recipe.why}`, next: recipe.instead[0] ?? '' }
    : { status: 'works', topic: 'jetpack', found };
}

function powerFinding(mode: string): Finding {
  const full = /maxn/i.test(mode);
  return {
    status: full ? 'works' : 'limited',
    topic: 'power',
    found: `power mode ${mode}`,
    ...(!full && {
      next: 'sudo nvpmodel -p --verbose lists the modes; the highest is often sudo nvpmodel -m 0; then sudo jetson_clocks',
    }),
  };
}

function libraryFindings(machine: MachineFacts, jetpack: JetPack | undefined): readonly Finding[] {
  if (machine.jetson === undefined && machine.gpus.length === 0) return [];
  const apt = machine.jetson === undefined ? undefined : 'sudo apt-get install nvidia-jetpack';
  const wanted: readonly (readonly [name: string, label: string, next: string])[] = [
    ['libcudart', 'CUDA', apt ?? 'install CUDA 12 or 13 as the driver allows'],
    ['libcudnn', 'cuDNN', apt ?? 'install cuDNN 9'],
    ['libnvinfer', 'TensorRT', apt ?? 'install TensorRT 10, for device=tensorrt:0 only'],
  ];
  const findings = wanted.map(([name, label, next]): Finding => {
    const library = machine.libraries.find((found) => found.name === name);
    if (library === undefined)
      return { status: 'missing', topic: label, found: `${name}.so is in none of the usual folders`, next };
    const version = label === 'CUDA' ? (machine.cuda ?? library.version) : library.version;
    return { status: 'works', topic: label, found: `${version || 'version unknown'}, ${library.path}` };
  });
  return [...findings, ...compilerFinding(machine, jetpack)];
}

/** Without libnvdla_compiler, the TensorRT of JetPack 5 and 6 does not load, also where no DLA is used. */
function compilerFinding(machine: MachineFacts, jetpack: JetPack | undefined): readonly Finding[] {
  const { jetson, libraries, dlaCores } = machine;
  if (jetson === undefined || !(jetpack?.id === '5.1' || jetpack?.id.startsWith('6'))) return [];
  const topic = 'DLA';
  const library = libraries.find(({ name }) => name === 'libnvdla_compiler');
  if (library === undefined) {
    const folder = jetpack.id === '5.1' ? 'tegra' : 'nvidia';
    return [
      {
        status: 'missing',
        topic,
        found: `libnvdla_compiler.so is not in /usr/lib/aarch64-linux-gnu/${folder}: TensorRT does not load without it`,
        next: 'sudo apt-get install nvidia-l4t-dla-compiler (in a container: --runtime nvidia)',
      },
    ];
  }
  if (dlaCores === 0)
    return [{ status: 'limited', topic, found: 'no DLA device node here: device=tensorrt:0 is the GPU' }];
  const found = `${dlaCores} ${dlaCores === 1 ? 'core' : 'cores'}, ${library.path}`;
  return [{ status: 'works', topic, found, next: 'it saves power, not time: device=dla:0' }];
}

function ortFindings(
  { ort }: MachineFacts,
  profile: DeviceProfile | undefined,
  jetpack: JetPack | undefined,
): readonly Finding[] {
  const topic = 'ONNX Runtime';
  const recipe = `edge-detect devices profile=${profile?.id ?? 'orin-nano'} says where a library with a GPU comes from`;
  if (jetpack?.recipe.kind === 'none') return [];
  if (ort === undefined) {
    const found = "onnxruntime-node's library for arm64 is for the CPU only, and no other is named";
    return [{ status: 'missing', topic, found, next: `${recipe}; then name it: ort_library=${LIBRARY}` }];
  }
  const version = ort.version ?? 'of unknown version';
  if (ort.providers.length === 0) {
    const found = `${version} in ${ort.folder} has no provider library beside it: CPU only`;
    return [{ status: 'missing', topic, found, next: recipe }];
  }
  const found = `${version} in ${ort.folder}, with ${ort.providers.join(' and ')}`;
  return [
    {
      status: 'works',
      topic,
      found,
      next: 'try it: edge-detect predict model=model.onnx source=picture.jpg device=tensorrt:0',
    },
  ];
}

function videoFindings({ elements }: Extras, profile: DeviceProfile | undefined): readonly Finding[] {
  const topic = 'video';
  const findings: Finding[] = [];
  const decoder = elements?.has('nvv4l2decoder') && elements.has('nvvidconv');
  if (decoder) {
    const found = 'hardware decoder: nvv4l2decoder and nvvidconv are installed';
    findings.push({
      status: 'works',
      topic,
      found,
      next: 'use it: edge-detect stream source=rtsp://… decoder=gstreamer',
    });
  } else {
    const found = 'no hardware decoder: GStreamer lacks nvv4l2decoder or nvvidconv';
    findings.push({
      status: 'missing',
      topic,
      found,
      next: 'sudo apt-get install nvidia-l4t-gstreamer gstreamer1.0-tools gstreamer1.0-plugins-bad',
    });
  }
  if (profile?.nvenc === 'no') {
    const found = `${profile.name} has no hardware encoder: save= and output= use libx264 on the CPU`;
    findings.push({ status: 'limited', topic, found });
  }
  return findings;
}

function cameraFindings({ cameras, jetson }: MachineFacts, { elements }: Extras): readonly Finding[] {
  return cameras.map((camera): Finding => {
    const found = `${camera.device}: ${camera.name}`;
    if (!camera.csi)
      return { status: 'works', topic: 'camera', found, next: `edge-detect stream source=${camera.device}` };
    const place = cameras.filter(({ csi }) => csi).indexOf(camera);
    const ready = jetson !== undefined && elements?.has('nvarguscamerasrc');
    return ready
      ? {
          status: 'works',
          topic: 'camera',
          found: `${found} (CSI)`,
          next: `edge-detect stream source=csi://${place}`,
        }
      : {
          status: 'missing',
          topic: 'camera',
          found: `${found} (CSI), and GStreamer has no nvarguscamerasrc`,
          next: 'sudo apt-get install nvidia-l4t-camera nvidia-l4t-gstreamer',
        };
  });
}

function roomFindings({ memoryBytes, jetson, diskFreeBytes }: MachineFacts): readonly Finding[] {
  const findings: Finding[] = [];
  if (memoryBytes !== undefined) {
    const { total, available, swap } = memoryBytes;
    const found = `${gib(total)} memory, ${gib(available)} available, ${gib(swap)} swap`;
    // Building an engine needs several times the memory of running it.
    const tight = jetson !== undefined && total < 9 * GIB && swap < 2 * GIB;
    findings.push({
      status: tight ? 'limited' : 'works',
      topic: 'memory',
      found: tight ? `${found}: building an engine may run out` : found,
      ...(tight && {
        next: 'sudo fallocate -l 8G /swap && sudo chmod 600 /swap && sudo mkswap /swap && sudo swapon /swap',
      }),
    });
  }
  if (diskFreeBytes !== undefined) {
    const tight = diskFreeBytes < 2 * GIB;
    findings.push({
      status: tight ? 'limited' : 'works',
      topic: 'disk',
      found: `${gib(diskFreeBytes)} free here`,
      ...(tight && { next: 'make room: an engine and its caches take hundreds of MB' }),
    });
  }
  return findings;
}

function gib(bytes: number): string {
  return `${(bytes / GIB).toFixed(1)} GiB`;
}
