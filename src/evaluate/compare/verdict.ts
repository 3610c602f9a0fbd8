// The verdict of a comparison in one paragraph, made of its figures: each with its interval and its n.
import { type Effect, type Estimate, type Figure, sureSign } from '#core';
import type { SliceComparison } from './compare.ts';
import { PAIRED_WORDS } from './figure-words.ts';

/** Where cameras and the pool of all pictures point in opposite directions. */
export function signWarnings({ first, second, effects }: SliceComparison): string[] {
  return Object.entries(effects).flatMap(([name, effect]: [string, Effect]) => {
    const { pooled, within } = effect;
    if (!effect.signsDisagree || pooled.kind === 'none' || within.kind === 'none') return [];
    const unsure = sureSign(pooled) === 0 && sureSign(within) === 0;
    const caution = unsure ? '; neither interval excludes 0: it may be chance' : '';
    return (
      `${first} to ${second}, ${name}: pooled ${signed(pooled)}, but within cameras ${signed(within)}: ` +
      `the slices hold the cameras in other shares, so read the figure within cameras (Simpson's paradox)${caution}`
    );
  });
}

/** Says only what an interval supports, and what is missing. */
export function verdictOf(comparison: SliceComparison, { clips }: { readonly clips: boolean }): string {
  const sentences = [
    confidenceSentence(comparison, clips ? '' : ' within cameras'),
    ...qualitySentences(comparison),
    scoreSentence(comparison),
  ];
  const { first, second, warnings } = comparison;
  const caution =
    warnings.length === 0 ? [] : [`Cameras and pool disagree in sign in ${warnings.length} of the figures.`];
  return `${first} against ${second}: ${[...sentences, ...caution].join(' ')}`;
}

function confidenceSentence(
  { objects, tracks, samePictures, effects, second }: SliceComparison,
  within: string,
): string {
  for (const pairing of [samePictures, tracks, objects]) {
    if (pairing === null) continue;
    const [what, drift] = [PAIRED_WORDS[pairing.pairedBy], pairing.byPicture];
    if (drift.kind === 'none') return `no verdict on confidence in ${what} (${drift.reason}).`;
    const { meanDrop } = drift;
    const loose = `${pairing.unpaired[0]} and ${pairing.unpaired[1]} unpaired`;
    const lost = `${drift.lost} lost, ${drift.gained} gained`;
    return (
      `in ${what}, confidence ${direction(turnedSign(meanDrop), second)} ` +
      `(mean drop ${signed(meanDrop)}, ${drift.pairs} pairs; ${lost}; ${loose})${retained(drift.retained, drift.threshold)}.`
    );
  }
  const change = effects.meanScore.within;
  if (change.kind === 'none') return `no verdict on confidence (${change.reason}).`;
  return `without labels, the mean score${within} ${direction(sureSign(change), second)} (${signed(change)}).`;
}

function retained(figure: Figure, threshold: number): string {
  if (figure.kind === 'none') return '';
  return `; of those above ${short(threshold)}, ${share(figure)} stay above it`;
}

function qualitySentences({ effects, differences, second }: SliceComparison): string[] {
  const parts: string[] = [];
  if (effects.recall !== undefined) {
    parts.push(changeSentence('Recall at the fixed threshold', effects.recall.within, second));
  }
  if (effects.falseAlarmsPerPicture !== undefined) {
    parts.push(changeSentence('The rate of false alarms', effects.falseAlarmsPerPicture.within, second));
  }
  if (effects.signedCorrect !== undefined) {
    parts.push(changeSentence('Over-confidence (score − hit)', effects.signedCorrect.within, second));
  }
  if (differences !== null) {
    parts.push(changeSentence('AP50', differences.ap50, second));
    parts.push(changeSentence('The threshold of the best F1', differences.bestThreshold, second));
  }
  return parts;
}

function changeSentence(what: string, figure: Figure, second: string): string {
  if (figure.kind === 'none') return `${what}: no verdict (${figure.reason}).`;
  return `${what} ${direction(sureSign(figure), second)} (${signed(figure)}, ${figure.groups} pictures).`;
}

function scoreSentence({ scores, effects }: SliceComparison): string {
  const { overCameras } = scores;
  if (overCameras.kind === 'none') return `Distribution of scores: no verdict (${overCameras.reason}).`;
  const { w1, ks, values } = overCameras;
  const real = w1.value > w1.nullQuantile95 || ks.value > ks.nullQuantile95;
  return (
    `The scores of all boxes ${real ? 'are distributed differently' : 'are not shown to be distributed differently'} ` +
    `(W1 ${short(w1.value)} where chance gives ${short(w1.nullExpectation)} and 95 % of it ${short(w1.nullQuantile95)}; ` +
    `KS ${short(ks.value)} against ${short(ks.nullExpectation)} and ${short(ks.nullQuantile95)}; ` +
    `${values[0]} and ${values[1]} scores); boxes per picture ${plain(effects.boxesPerPicture.within)}.`
  );
}

function turnedSign(drop: Figure): -1 | 0 | 1 {
  const sign = sureSign(drop);
  return sign === 1 ? -1 : sign === -1 ? 1 : 0;
}

function direction(sign: -1 | 0 | 1, second: string): string {
  if (sign === 0) return 'is not shown to change';
  return sign > 0 ? `is higher in ${second}` : `is lower in ${second}`;
}

function plain(figure: Figure): string {
  return figure.kind === 'none' ? `no verdict (${figure.reason})` : signed(figure);
}

function signed(figure: Figure): string {
  if (figure.kind === 'none') return 'no verdict';
  const withSign = (value: number) => (value > 0 ? `+${short(value)}` : short(value));
  return `${withSign(figure.value)} [${withSign(figure.low)}, ${withSign(figure.high)}]`;
}

function share({ value, low, high }: Estimate): string {
  const percent = (one: number) => `${Math.round(100 * one)} %`;
  return `${percent(value)} [${percent(low)}, ${percent(high)}]`;
}

function short(value: number): string {
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 3).replace(/^-(0\.?0*)$/, '$1');
}
