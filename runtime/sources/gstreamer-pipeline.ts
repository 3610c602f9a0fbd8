// Writes the pipelines for gst-launch-1.0: where pictures come from, who decodes and scales them, and how they reach
// this process (gdppay, so that each carries its time; gst-launch-1.0 itself writes to standard output).
import type { Size } from '#core';
import type { Gstreamer } from './gstreamer-locate.ts';

export type GstreamerInput =
  | {
      readonly kind: 'file';
      readonly path: string;
      /** The file says that its picture is to be turned by 90 or 270 degrees. */
      readonly turned: boolean;
    }
  | {
      readonly kind: 'rtsp';
      readonly url: string;
      readonly transport: 'tcp' | 'udp' | 'udp_multicast' | 'http';
    }
  /** A camera at a Jetson's CSI connector, through the image signal processor. */
  | {
      readonly kind: 'csi';
      readonly sensor: number;
      readonly size: Size;
      readonly framesPerSecond: number;
      /** `flip-method` of nvvidconv: 0 as it is, 2 upside down. */
      readonly flip: number;
    };

export interface PipelinePlan {
  readonly input: GstreamerInput;
  readonly content: Size;
  readonly full: boolean;
  /** Jetson's decoder and scaler; else software. */
  readonly hardware: boolean;
}

/** The element whose caps tell the size of the input; gst-launch-1.0 prints them with -v. */
export const SIZE_PROBE = 'picture';
/** Silence that ends an RTSP connection even if this process was killed. µs. */
const BACKSTOP = 5_000_000;
const HARDWARE = ['nvv4l2decoder', 'nvvidconv'];

/** Jetson's own elements where they are installed: each alone is of no use. */
export function hasHardwareDecoder({ elements }: Gstreamer): boolean {
  return HARDWARE.every((name) => elements.has(name));
}

export function pipelineElements({
  input,
  hardware,
}: Omit<PipelinePlan, 'content' | 'full'>): readonly string[] {
  const source = { file: 'filesrc', rtsp: 'rtspsrc', csi: 'nvarguscamerasrc' }[input.kind];
  const decode = input.kind === 'csi' ? [] : hardware ? ['parsebin', 'nvv4l2decoder'] : ['decodebin'];
  const scale = hardware ? ['nvvidconv', 'videoconvert'] : ['videoconvert', 'videoscale'];
  const turn = input.kind === 'file' ? ['videoflip'] : [];
  return [source, ...decode, ...turn, ...scale, 'capsfilter', 'identity', 'tee', 'queue', 'gdppay', 'fdsink'];
}

/** Arguments for gst-launch-1.0. Scaled RGB pictures come through fd 3, whole I420 pictures through fd 4. */
export function pipelineArguments(plan: PipelinePlan): readonly string[] {
  const head = ['-v', ...sourceWords(plan), '!', 'identity', `name=${SIZE_PROBE}`];
  const content = [...contentWords(plan), ...sinkWords(3)];
  if (!plan.full) return [...head, '!', ...content];
  const full = [...fullWords(plan), ...sinkWords(4)];
  // The queues give each branch its thread; three pictures, so that neither waits for the other at once.
  const queue = ['queue', 'max-size-buffers=3', 'max-size-bytes=0', 'max-size-time=0', '!'];
  return [
    ...head,
    '!',
    'tee',
    'name=both',
    'both.',
    '!',
    ...queue,
    ...content,
    'both.',
    '!',
    ...queue,
    ...full,
  ];
}

function sourceWords({ input, hardware }: PipelinePlan): readonly string[] {
  const decode = hardware ? ['parsebin', '!', 'nvv4l2decoder'] : ['decodebin'];
  switch (input.kind) {
    case 'file': {
      // In software turning comes first; Jetson's memory cannot be turned by videoflip, so there it comes last.
      const turn = hardware ? [] : ['!', ...TURN];
      return ['filesrc', `location=${quoted(input.path)}`, '!', ...decode, ...turn];
    }
    case 'rtsp':
      return [
        ...['rtspsrc', `location=${quoted(input.url)}`, `protocols=${RTSP_PROTOCOLS[input.transport]}`],
        ...['latency=200', `tcp-timeout=${BACKSTOP}`, `timeout=${BACKSTOP}`],
        ...['!', 'application/x-rtp,media=video', '!', ...decode],
      ];
    case 'csi':
      return [
        ...['nvarguscamerasrc', `sensor-id=${input.sensor}`, '!'],
        `video/x-raw(memory:NVMM),format=NV12,width=${input.size.width},height=${input.size.height},framerate=${input.framesPerSecond}/1`,
      ];
  }
}

const RTSP_PROTOCOLS = { tcp: 'tcp', udp: 'udp', udp_multicast: 'udp-mcast', http: 'http' } as const;
const TURN = ['videoflip', 'video-direction=auto'];

function contentWords(plan: PipelinePlan): readonly string[] {
  const rgb = ['videoconvert', '!', 'video/x-raw,format=RGB'];
  const { width, height } = stored(plan, plan.content);
  if (plan.hardware) {
    // nvvidconv writes no RGB, so RGBA becomes RGB after the picture is small.
    const small = `video/x-raw,format=RGBA,width=${width},height=${height}`;
    return [...converter(plan.input), '!', small, '!', ...turnLast(plan.input), ...rgb];
  }
  const small = `video/x-raw,width=${width},height=${height}`;
  // Of its filters, Mitchell comes nearest to ffmpeg's bilinear one when a picture shrinks (largest difference 20 of 255
  // at half the size; 50 with GStreamer's bilinear, which leaves rows out).
  return ['videoscale', 'method=mitchell', 'add-borders=false', '!', small, '!', ...rgb];
}

function fullWords({ input, hardware }: PipelinePlan): readonly string[] {
  const planar = 'video/x-raw,format=I420';
  return hardware
    ? [...converter(input), '!', planar, ...(input.kind === 'file' ? ['!', ...TURN] : [])]
    : ['videoconvert', '!', planar];
}

function converter(input: GstreamerInput): readonly string[] {
  return input.kind === 'csi' && input.flip !== 0
    ? ['nvvidconv', `flip-method=${input.flip}`]
    : ['nvvidconv'];
}

function turnLast(input: GstreamerInput): readonly string[] {
  return input.kind === 'file' ? [...TURN, '!'] : [];
}

/** Before it is turned, a picture that will be turned is scaled to the turned size. */
function stored({ input, hardware }: PipelinePlan, { width, height }: Size): Size {
  const turnsLater = hardware && input.kind === 'file' && input.turned;
  return turnsLater ? { width: height, height: width } : { width, height };
}

function sinkWords(fd: number): readonly string[] {
  return ['!', 'gdppay', '!', 'fdsink', `fd=${fd}`, 'sync=false'];
}

/** A value of a property that gst-launch-1.0's own parser takes as it is. */
function quoted(value: string): string {
  return `"${value.replace(/["\\]/g, '\\$&')}"`;
}
