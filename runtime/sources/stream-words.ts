// Turns ffmpeg's last words into a sentence for the one who runs the stream, and into the next thing to do.

export interface StreamTrouble {
  readonly reason: string;
  readonly hint: string;
}

/** First match wins. The order goes from the particular to the general. */
const WORDS: readonly (readonly [pattern: RegExp, reason: string, hint: string])[] = [
  [
    /(?:returned|failed:|error) 401\b|\bUnauthorized\b/,
    '401 Unauthorized: check user and password',
    'write them as scheme://user:password@host/…, special characters as %40 (@), %3A (:), %2F (/)',
  ],
  [
    /(?:returned|failed:|error) 403\b|\bForbidden\b/,
    '403 Forbidden: this user may not read the stream',
    "check the user's rights in the camera's settings",
  ],
  [
    /(?:returned|failed:|error) 404\b|\bNot Found\b/,
    '404 Not Found: check the path of the stream',
    "look up the stream's path in the camera's manual or settings",
  ],
  [
    /(?:returned|failed:|error) 5(?:\d\d|XX)\b/,
    'the server has an internal fault (5xx)',
    'look at the log of the camera or the server',
  ],
  [
    /(?:returned|failed:|error) 461\b|Unsupported transport|Protocol not supported/i,
    'the camera refuses this transport',
    'try rtsp_transport=udp or rtsp_transport=tcp',
  ],
  [
    /Connection refused/,
    'connection refused: nothing listens on that address and port',
    'check host and port, and that the camera is on',
  ],
  [
    /No route to host|Network is unreachable|Host is down/,
    'the host cannot be reached from here',
    'check the network between here and the camera',
  ],
  [
    /resolve hostname|Name or service not known|nodename nor servname/,
    'the host name is not known',
    'check the spelling, or use the IP address',
  ],
  [
    /timed out|ETIMEDOUT/i,
    'no answer: the connection timed out',
    'check that the camera is on and the network works',
  ],
  [
    /Connection reset|Broken pipe/,
    'the connection was cut by the other side',
    'check whether the camera allows one more client',
  ],
  [
    /Device or resource busy/,
    'the camera is in use by another program',
    'end the other program, or name another device',
  ],
  [
    /Cannot open video device.*No such file|\/dev\/video\d+: No such file/,
    'there is no such camera',
    'list the cameras with: ls /dev/video*',
  ],
  [
    /Permission denied/,
    'reading is not permitted',
    'check the rights of the file, or for a camera add the user to the group "video"',
  ],
  [/No such file or directory/, 'there is no such file', 'check the path'],
  [/Is a directory/, 'this is a folder, not a video', 'name a file in it'],
  [
    /moov atom not found/,
    'this is not a readable video, or it was cut before its index was written',
    'copy the file again; a recording that was interrupted may be mended with untrunc',
  ],
  [
    /matches no streams|does not contain any stream|Output file .* does not contain/,
    'it has no video stream',
    'name a file with a picture track',
  ],
  [
    /Invalid data found|could not find codec parameters|misdetection possible/i,
    'this is not a readable video',
    'check it with: ffprobe FILE',
  ],
  [
    /Device setup failed|device type \w+ needed/,
    'the hardware decoder that was asked for is not usable here',
    'leave hwaccel out, or name another one; ffmpeg -hwaccels lists what this build knows',
  ],
  [
    /Decoder .* not found|Unknown decoder|decoder \(codec [^)]+\) not found/i,
    'this build of ffmpeg cannot decode it',
    'install a full build of ffmpeg',
  ],
  [
    /Unknown input format|Protocol not found/,
    'this build of ffmpeg does not know this kind of address',
    'check the spelling of the address, or install a full build of ffmpeg',
  ],
];

/** @param said what ffmpeg said last, line by line, credentials removed; '' where it said nothing */
export function explainTrouble(said: string): StreamTrouble {
  for (const [pattern, reason, hint] of WORDS) {
    if (pattern.test(said)) return { reason, hint };
  }
  const hint = 'check that the source plays: ffplay SOURCE';
  const last = said.trim().split('\n').at(-1) ?? '';
  return last === '' ? { reason: 'the stream ended', hint } : { reason: `ffmpeg says: ${last}`, hint };
}
