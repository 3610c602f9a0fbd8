// Turns what gst-launch-1.0 said last into a sentence for the one who runs the stream, and into the next thing to do.
import { elementHint } from './gstreamer-locate.ts';
import { explainTrouble, type StreamTrouble } from './stream-words.ts';

/** First match wins. The order goes from the particular to the general. */
const WORDS: readonly (readonly [pattern: RegExp, reason: string, hint: string])[] = [
  [
    /nvarguscamerasrc.*(?:No cameras available|Invalid camera device|Failed to create CaptureSession|CANCELLED)|No cameras available/is,
    'the image signal processor gives no camera of this number',
    'look whether it is found: v4l2-ctl --list-devices; then restart its service: sudo systemctl restart nvargus-daemon',
  ],
  [
    /nvbuf_utils|NvMMLite|NvRmMem|insufficient memory/i,
    'the hardware of the Jetson refused the picture',
    'look at the last lines of: sudo dmesg; try decoder=ffmpeg',
  ],
  [
    /not-negotiated|could not link|cannot link|Format .* not supported/i,
    'GStreamer finds no common format for the elements',
    'name a size and rate that the camera has, as in csi://0?size=1280x720&fps=30',
  ],
  [
    /Could not determine type of stream|Stream (?:is|contains) (?:of a different type|no data)|not-linked/i,
    'this is not a readable video',
    'check it with: ffprobe FILE; or try decoder=ffmpeg',
  ],
  [
    /missing a plug-in|No decoder available|no suitable plugins/i,
    'GStreamer has no decoder for this video here',
    'sudo apt-get install gstreamer1.0-libav gstreamer1.0-plugins-bad; or try decoder=ffmpeg',
  ],
  [
    /Failed to connect|Could not (?:connect to server|open resource)/i,
    'nothing answers at that address and port',
    'check host and port, and that the camera is on',
  ],
  [
    /Could not (?:read from|receive)|Failed to read|timeout|timed out/i,
    'no answer: the connection broke or timed out',
    'check that the camera is on and the network works',
  ],
];

/** Faults that ffmpeg names alike, as the table for ffmpeg knows them. */
const SHARED =
  /\((?:401|403|404|461)\)|Connection (?:refused|reset)|Permission denied|No such file|Is a directory/i;

/** @param said what gst-launch-1.0 said last, line by line, credentials removed; '' where it said nothing */
export function explainGstreamer(said: string): StreamTrouble {
  const missing = /no element "([\w-]+)"/.exec(said)?.[1];
  if (missing !== undefined) {
    return { reason: `GStreamer has no element ${missing} here`, hint: elementHint([missing]) };
  }
  if (SHARED.test(said)) return explainTrouble(normalized(said));
  for (const [pattern, reason, hint] of WORDS) if (pattern.test(said)) return { reason, hint };
  const told = said.split('\n').find((line) => line.startsWith('ERROR: from element'));
  const hint = 'try the same source with decoder=ffmpeg';
  return told === undefined
    ? { reason: 'the stream ended', hint: 'check that the camera is on and the network works' }
    : { reason: `GStreamer says: ${told.replace(/^ERROR: from element \S+ /, '')}`, hint };
}

/** As ffmpeg would write it: `returned 401` for `Unauthorized (401)`. */
function normalized(said: string): string {
  return said
    .replace(/Resource not found\.?/g, '')
    .replace(/\((401|403|404|461)\)/g, 'returned $1')
    .replace(/No such file(?! or)/g, 'No such file or directory');
}
