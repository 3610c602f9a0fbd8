// What may be asked of a site by a message: cameras on and off, and least scores.
import type { SiteControl } from '../../run-site.ts';
import type { SiteThresholds } from '../../site.ts';
import { DEFAULT_CLASS, thresholdWord, topicWord } from './topics.ts';

/** What is wrong with a command, in words for whoever sent it. */
export class CommandFault extends Error {}

/** What of a running site is asked and changed by messages. */
export type MessageControl = Pick<SiteControl, 'cameras' | 'waiting' | 'setEnabled' | 'useCamera' | 'camera'>;

export interface CommandContext {
  readonly control: MessageControl;
  /** Of the model. */
  readonly classNames: readonly string[];
}

/**
 * @param levels of the topic behind the prefix: `<camera>/enabled/set` or `<camera>/threshold/<class>/set`
 * @returns the camera that was changed
 * @throws CommandFault; nothing has changed then
 */
export function obey(
  levels: readonly string[],
  payload: string,
  { control, classNames }: CommandContext,
): string {
  const [place = '', what, word = ''] = levels;
  const camera = control.cameras.find(({ name }) => topicWord(name) === place)?.name;
  if (camera === undefined) throw new CommandFault(`there is no camera ${place}`);
  const text = payload.trim();
  if (what === 'enabled') control.setEnabled(camera, toSwitch(text));
  else setThreshold(control, camera, toClass(word, classNames), toScore(text));
  return camera;
}

/** A least score that holds in every light, whatever a thresholds file says of it. */
function withThreshold(
  { base, classes, conditions, ...rest }: SiteThresholds,
  className: string,
  score: number,
): SiteThresholds {
  const isDefault = className === '*';
  const put = (scores: ReadonlyMap<string, number>) => new Map(scores).set(className, score);
  return {
    ...rest,
    base: isDefault ? score : base,
    classes: !isDefault || classes.has('*') ? put(classes) : classes,
    conditions: new Map([...conditions].map(([state, scores]) => [state, put(scores)])),
  };
}

function setThreshold(control: MessageControl, name: string, className: string, score: number): void {
  const camera = control.camera(name);
  if (camera === undefined) throw new CommandFault(`there is no camera ${name}`);
  control.useCamera({ ...camera, thresholds: withThreshold(camera.thresholds, className, score) });
}

function toSwitch(text: string): boolean {
  if (/^on$/i.test(text)) return true;
  if (/^off$/i.test(text)) return false;
  throw new CommandFault(`expected ON or OFF, found '${shorten(text)}'`);
}

function toScore(text: string): number {
  const score = /^\d*\.?\d+(e-?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
  if (score >= 0 && score <= 1) return score;
  throw new CommandFault(`expected a number from 0 to 1, found '${shorten(text)}'`);
}

function toClass(word: string, classNames: readonly string[]): string {
  if (word === DEFAULT_CLASS) return '*';
  const name = classNames.find((className) => thresholdWord(className) === word);
  if (name !== undefined) return name;
  throw new CommandFault(
    `the model has no class ${shorten(word)}; it has ${shorten(classNames.join(', '), 300)}, and ${DEFAULT_CLASS} stands for the others`,
  );
}

/** Whoever sends a megabyte gets little of it back. */
export function shorten(text: string, most = 64): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
