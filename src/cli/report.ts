// What a person reads while a run goes on and when it is over.
import { SingleBar } from 'cli-progress';
import type { DetectionResult, RunSummary, SourceEvent } from '#runtime';
import { say } from './output.ts';

export function sayEvent(event: SourceEvent): void {
  switch (event.kind) {
    case 'open': {
      const rate =
        event.framesPerSecond === undefined ? '' : `, ${Number(event.framesPerSecond.toFixed(3))} fps`;
      say(`${event.source}: ${event.size.width}x${event.size.height}${rate}`);
      break;
    }
    case 'damaged':
      say(`warning: ${about(event.source, event.reason)}`);
      break;
    case 'lost':
      say(`lost ${event.source}: ${event.reason}; next try in ${(event.retryInMs / 1000).toFixed(1)} s`);
      break;
    case 'resumed':
      say(`resumed ${event.source}: ${event.size.width}x${event.size.height}`);
      break;
    case 'light': {
      const before = event.before === undefined ? '' : `, was ${event.before}`;
      say(`${event.source}: light is ${event.state}${before} (measured ${event.value.toFixed(2)})`);
      break;
    }
    case 'notice':
      say(about(event.source, event.message));
      break;
    default:
      event satisfies never;
  }
}

/** Many words name their source themselves. */
function about(source: string, words: string): string {
  return words.startsWith(`${source}:`) || words.includes(` ${source} `) ? words : `${source}: ${words}`;
}

/** One line about a run: counts, speed, time per stage, what was lost. */
export function summaryLine(summary: RunSummary): string {
  const { frames, counts, wallSeconds, stages } = summary;
  const total = [...counts.values()].reduce((sum, number) => sum + number, 0);
  const classes = [...counts].slice(0, 5).map(([name, number]) => `${name} ${number}`);
  if (counts.size > 5) classes.push('…');
  const found = `${count(total, 'box', 'boxes')}${classes.length > 0 ? ` (${classes.join(', ')})` : ''}`;
  const rate = (frames / Math.max(wallSeconds, 1e-9)).toFixed(1);
  const ms = (value: number) => value.toFixed(value < 9.95 ? 2 : 1);
  const losses = lossesOf(summary);
  return [
    `${count(frames, 'frame')}, ${found} in ${wallSeconds.toFixed(1)} s (${rate} fps)`,
    `per frame: pre ${ms(stages.pre)}, infer ${ms(stages.infer)}, post ${ms(stages.post)}, draw ${ms(stages.draw)} ms`,
    ...(losses.length > 0 ? [losses.join(', ')] : []),
  ].join('; ');
}

function lossesOf({ source, nonFiniteFrames, limitReachedFrames }: RunSummary): readonly string[] {
  const losses: readonly (readonly [number, string])[] = [
    [source.dropped, `${count(source.dropped, 'frame')} dropped`],
    [source.reconnects, count(source.reconnects, 'reconnect')],
    [source.damaged, `${source.damaged} damaged`],
    [
      nonFiniteFrames,
      `NaN or infinite values from the model in ${count(nonFiniteFrames, 'frame')} (a broken export?)`,
    ],
    [limitReachedFrames, `max_det reached in ${count(limitReachedFrames, 'frame')}`],
  ];
  return losses.filter(([number]) => number > 0).map(([, text]) => text);
}

function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : plural}`;
}

/** `bus.jpg: 4 person, 1 bus, 23.1 ms`. */
export function resultLine({ frame, detections, size, timing }: DetectionResult): string {
  const counts = new Map<string, number>();
  for (const { className } of detections) counts.set(className, (counts.get(className) ?? 0) + 1);
  const found = [...counts].map(([name, count]) => `${count} ${name}`).join(', ');
  const time = timing.preMs + timing.inferMs + timing.postMs;
  const place = frame.ptsSeconds === undefined ? '' : ` frame ${frame.index}`;
  return `${frame.source}${place} ${size.width}x${size.height}: ${found === '' ? 'nothing found' : found}, ${time.toFixed(1)} ms`;
}

export interface Progress {
  advance(frames: number): void;
  stop(): void;
}

/** A bar on stderr where a person looks at it and the end is known; nothing otherwise. */
export function startProgress(total: number | undefined): Progress {
  if (!process.stderr.isTTY || total === undefined)
    return { advance: () => undefined, stop: () => undefined };
  const bar = new SingleBar({
    format: '{bar} {value}/{total} frames, {duration_formatted}, ETA {eta_formatted}',
    stream: process.stderr,
    hideCursor: true,
    clearOnComplete: true,
    etaBuffer: 50,
  });
  bar.start(total, 0);
  return { advance: (frames) => bar.update(frames), stop: () => bar.stop() };
}
