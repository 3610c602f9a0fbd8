// Our head on the towers of a detector whose parts are known: the cut, the trainable graph, and what must be said.
import { ConfigError } from '#core';
import type { ModelProto } from '../proto/onnx_pb.ts';
import type { HeadSite } from './build-head.ts';
import { buildHead } from './build-head.ts';
import { cutAt } from './freeze.ts';
import type { HostHead, HostLevel } from './host-head.ts';
import { makeTrainablePart } from './trainable-part.ts';
import type { FreezeLevel, HeadedModel, HeadSpec } from './types.ts';

interface PutHead {
  readonly detector: {
    readonly model: ModelProto;
    /** Name of the picture input. */
    readonly picture: string;
    readonly head: HostHead;
    readonly opset: number;
  };
  /** Levels are filled in. */
  readonly spec: Omit<HeadSpec, 'levels'>;
  readonly freeze: FreezeLevel;
  readonly seed: number;
  readonly host?: NonNullable<HeadedModel['host']>;
}

/** @throws ModelError where the freeze level does not work, ConfigError for choices out of range */
export function putHead({ detector, spec, freeze, seed, host }: PutHead): HeadedModel {
  checkChoices(spec);
  const { model, picture, head, opset } = detector;
  const cut = cutAt(model, { name: picture, ...spec.input }, head, freeze);
  const pieces = head.levels.map((level, index) =>
    buildHead(siteOf(level, head), index, {
      ...spec,
      classCount: spec.classNames.length,
      seed,
      ...(head.learnt ? { initial: head.learnt.values } : {}),
    }),
  );
  const whole = { ...spec, levels: pieces.map(({ level }) => level) };
  return {
    spec: whole,
    freeze,
    ...(cut.frozen ? { frozen: cut.frozen } : {}),
    pictureInput: picture,
    cuts: {
      ...head.cuts,
      levels: head.levels.map(({ classTower, boxTower }) => ({ classTower, boxTower })),
    },
    opset,
    trainable: makeTrainablePart(cut, pieces, whole, opset),
    ...(host ? { host } : {}),
    notes: notesOf(spec, head),
  };
}

function checkChoices({ classNames, bins, adapter, dropout }: Omit<HeadSpec, 'levels'>): void {
  const refuse = (key: string, value: number, expected: string) => {
    throw new ConfigError(`${key}=${value} is not possible`, { hint: `expected ${expected}` });
  };
  if (classNames.length === 0) refuse('classes', 0, 'one class at least');
  if (!Number.isInteger(bins) || bins < 2) refuse('bins', bins, 'a whole number of 2 or more');
  if (!Number.isInteger(adapter) || adapter < 0) {
    refuse('adapter', adapter, '0 (linear) or a whole number of channels');
  }
  if (!(dropout >= 0 && dropout < 1)) refuse('dropout', dropout, 'a probability from 0 to below 1');
}

function siteOf(level: HostLevel, { shapes }: HostHead): HeadSite {
  const channelsOf = (name: string) => shapes.get(name)?.[1] ?? 0;
  return {
    ...level,
    classChannels: channelsOf(level.classTower),
    boxChannels: channelsOf(level.boxTower),
  };
}

function notesOf({ classNames }: Pick<HeadSpec, 'classNames'>, { family, boxCode }: HostHead): string[] {
  const [only] = classNames;
  const plain = `the boxes of the host (${family}) have no distribution over their sides: no variance of the boxes`;
  return [
    ...(classNames.length === 1
      ? [`one class (${only}): no class layer, the score is the quality alone`]
      : []),
    ...(boxCode.kind === 'dfl' ? [] : [plain]),
  ];
}
