// Names for hardware decoding, as arguments for ffmpeg. The picture comes back to system memory in every case.
import { ConfigError } from '#core';

/** `codec` is what the file holds, or h264 for a live source, whose codec is not known beforehand. */
const PRESETS: Readonly<Record<string, (codec: string) => readonly string[]>> = {
  none: () => [],
  auto: () => ['-hwaccel', 'auto'],
  cuda: () => ['-hwaccel', 'cuda'],
  vaapi: () => ['-hwaccel', 'vaapi'],
  qsv: () => ['-hwaccel', 'qsv'],
  videotoolbox: () => ['-hwaccel', 'videotoolbox'],
  /** Jetson, with an ffmpeg that was built with the nvmpi patches. */
  'jetson-nvmpi': (codec) => ['-c:v', `${codec}_nvmpi`],
  /** Jetson, with NVIDIA's own ffmpeg package. */
  'jetson-nvv4l2': (codec) => ['-c:v', `${codec}_nvv4l2dec`],
};

/**
 * @param value a preset, or ffmpeg's own arguments (`-hwaccel drm -c:v h264_v4l2m2m`)
 * @throws ConfigError naming the presets
 */
export function hwaccelArguments(value: string | undefined, codec = 'h264'): readonly string[] {
  if (value === undefined) return [];
  if (value.startsWith('-')) return value.trim().split(/\s+/);
  const preset = Object.hasOwn(PRESETS, value) ? PRESETS[value] : undefined;
  if (preset !== undefined) return preset(codec);
  throw new ConfigError(`hwaccel=${value}: there is no such preset`, {
    hint: `use one of ${Object.keys(PRESETS).join(', ')}, or ffmpeg's own arguments, beginning with "-"`,
  });
}
