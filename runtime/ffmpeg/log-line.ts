// Reads what ffmpeg says on standard error: which level a line has, and whether it is worth a person's time.
import { redactCredentials } from './redact.ts';

export interface LogLine {
  /** `plain` where ffmpeg ran without `-v level+…`, or where something else wrote (the dynamic linker, a wrapper). */
  readonly level: 'fatal' | 'error' | 'warning' | 'info' | 'plain';
  /** Without the level and the writer's address, credentials removed. Info lines are handed on as they are. */
  readonly text: string;
}

const LEVEL = /\[(panic|fatal|error|warning|info|verbose|debug|trace)\] /;
const WRITER = /^\[([^\]@]+) @ 0x[0-9a-f]+\] /;

/** Normal while a decoder waits for the first key frame of a live stream. */
const WAITING_FOR_KEY_FRAME =
  /non-existing PPS|decode_slice_header|no frame!|sps_id \d+ out of range|PPS id out/;
/** A camera describes itself in lines of one letter and a value (RFC 4566), which ffmpeg shows without a level. */
const SELF_DESCRIPTION = /^[a-z]=/;
const REPEATED = /^Last message repeated \d+ times$/;

export function parseLogLine(line: string): LogLine {
  const match = LEVEL.exec(line);
  const written = match?.[1];
  if (match === null && SELF_DESCRIPTION.test(line)) return { level: 'info', text: line };
  if (match === null || written === undefined) {
    return { level: 'plain', text: redactCredentials(line.replace(WRITER, '').trim()) };
  }
  const text = line.slice(match.index + match[0].length);
  switch (written) {
    case 'panic':
    case 'fatal':
      return { level: 'fatal', text: redactCredentials(text.trim()) };
    case 'error':
    case 'warning':
      return { level: written, text: redactCredentials(text.trim()) };
    default:
      return { level: 'info', text };
  }
}

/** True for an error line that says something about the stream and not about the wait for its first picture. */
export function isTelling(line: LogLine): boolean {
  if (line.text === '' || REPEATED.test(line.text)) return false;
  return line.level !== 'info' && line.level !== 'warning' && !WAITING_FOR_KEY_FRAME.test(line.text);
}
