// What `predict` and `stream` share: open, run, sum up.
import { ConfigError } from '#core';
import type { DetectionResult, FrameSource, OpenDetector, RunSummary } from '#runtime';
import { locateFfmpeg, openSource, runDetections } from '#runtime';
import type { Config } from '../config.ts';
import { readLight } from '../light.ts';
import { defined, openConfiguredDetector } from '../open.ts';
import { say } from '../output.ts';
import { sayEvent, startProgress, summaryLine } from '../report.ts';
import { openSinks, type SinkDefaults } from '../sinks.ts';
import { readTracking, startTracking } from '../tracking.ts';

export interface RunDefaults extends SinkDefaults {
  /** Told of each result after the sinks have it. */
  readonly onResult?: (result: DetectionResult) => void;
}

export async function runCommand(config: Config, signal: AbortSignal, defaults: RunDefaults): Promise<void> {
  config.required('model');
  readTracking(config); // what it refuses is known before a model is read
  const { source, detector } = await openBoth(config);
  try {
    await runWith(config, signal, source, detector, defaults);
  } finally {
    await detector.close();
  }
}

/** Side by side: ffmpeg looks at the source while the model is read. A fault of the source is the one to report. */
async function openBoth(
  config: Config,
): Promise<{ readonly source: FrameSource; readonly detector: OpenDetector }> {
  const opening = openConfiguredDetector(config);
  opening.catch(() => undefined);
  try {
    const source = await openConfiguredSource(config);
    return { source, detector: await opening };
  } catch (error) {
    await opening.then((detector) => detector.close()).catch(() => undefined);
    throw error;
  }
}

async function runWith(
  config: Config,
  signal: AbortSignal,
  source: FrameSource,
  detector: OpenDetector,
  defaults: RunDefaults,
): Promise<void> {
  const tracking = readTracking(config);
  const track = tracking && startTracking(tracking, config, { source, detector });
  const light = await readLight(config, source, detector);
  const { sinks, needsFull } = await openSinks(config, source, defaults);
  const progress = startProgress(config.number('max_frames') ?? source.frameCount);
  let frames = 0;
  try {
    const summary = await runDetections({
      source,
      detector,
      sinks,
      signal,
      full: needsFull,
      onEvent: sayEvent,
      ...defined('track', track),
      ...defined('light', light),
      ...defined('maxFrames', config.number('max_frames')),
      onResult(result) {
        progress.advance(++frames);
        defaults.onResult?.(result);
      },
      onBroken(summary) {
        progress.stop();
        // A camera is always ended by Ctrl-C: what it gave until then is still the result.
        if (signal.aborted) saySummary(summary);
      },
    });
    progress.stop();
    saySummary(summary);
  } finally {
    progress.stop();
  }
}

function saySummary(summary: RunSummary): void {
  say(summaryLine(summary));
  if (summary.outputs.length > 0) say(`results in ${summary.outputs.join(', ')}`);
}

export async function openConfiguredSource(config: Config): Promise<FrameSource> {
  const ffmpeg = config.text('ffmpeg');
  const streamBuffer = config.flag('stream_buffer');
  const buffer = config.text('buffer') ?? (streamBuffer === true ? 'all' : undefined);
  const spec = config.required('source');
  if (config.text('raw') !== undefined && spec !== '-') {
    throw new ConfigError(`raw= describes what comes through a pipe, and the source is ${spec}`, {
      hint: 'write source=-, or leave raw= away',
    });
  }
  return openSource(spec, {
    ...defined('stride', config.number('vid_stride')),
    ...defined('buffer', buffer as 'newest' | 'all' | undefined),
    ...defined('stallSeconds', config.number('stall')),
    ...defined('retries', config.number('retries')),
    ...defined('rtspTransport', config.text('rtsp_transport') as 'tcp' | 'udp' | undefined),
    ...defined('hwaccel', config.text('hwaccel')),
    ...defined('decoder', config.text('decoder') as 'ffmpeg' | 'gstreamer' | undefined),
    ...defined('raw', config.text('raw')),
    ...defined('deinterlace', config.flag('deinterlace')),
    ...defined('squarePixels', config.flag('square_pixels')),
    ...defined('maxPixels', config.number('max_pixels')),
    ...(ffmpeg === undefined ? {} : { ffmpeg: await locateFfmpeg({ ffmpeg }) }),
  });
}
