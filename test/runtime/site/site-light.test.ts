// The light of a camera by the sun, as a site file asks for it: what is read, and every mistake with its place.
import { describe, expect, it } from 'vitest';
import { diffSite } from '../../../runtime/site/diff-site.ts';
import type { SiteSurroundings } from '../../../runtime/site/read-site.ts';
import { parsed, refusal, siteText } from './site-text.ts';

const BERLIN = 'location: {latitude: 52.52, longitude: 13.4}\n';

/** A camera of which the source is a clip; `rest` is put below it. */
const clip = (rest: string) =>
  `model: m.onnx\nlight: sun\n${BERLIN}cameras:\n  gate:\n    source: a.mp4\n${rest}`;

const around = (hysteresis: object | undefined): SiteSurroundings => ({
  thresholdsText: () =>
    JSON.stringify({
      version: 1,
      modelSha256: 'ab'.repeat(32),
      score: 'raw',
      suppression: { kind: 'hard', iou: 0.6 },
      classes: { '*': 0.4 },
      conditions: { night: { '*': 0.2 } },
      ...(hysteresis && { hysteresis }),
    }),
  faultOfFile: () => undefined,
});
const LADDER = { states: ['night', 'day'], boundaries: [5], margin: 0, holdSeconds: 0 };
const SUN = { ...LADDER, measure: 'sun' };
const PICTURE = { ...LADDER, boundaries: [0], measure: 'picture' };

describe('light: sun', () => {
  it('takes the place of all cameras, or of one', () => {
    const { site } = parsed(
      `model: m\nlight: sun\n${BERLIN}cameras:\n  a: {source: 0}\n  b: {source: 1, location: {latitude: 1.35, longitude: 103.82}}\n  c: {source: 2, light: auto}\n  d: {source: 3, light: off}\n`,
    );
    expect(site.cameras.map(({ light }) => light)).toEqual([
      { kind: 'sun', latitude: 52.52, longitude: 13.4 },
      { kind: 'sun', latitude: 1.35, longitude: 103.82 },
      'auto',
      undefined,
    ]);
  });

  it('needs the time that a clip begins at', () => {
    const { site } = parsed(clip('    start_time: 2021-03-20T18:30:00+08:00\n'));
    expect(site.cameras[0]?.light).toMatchObject({ startMs: Date.parse('2021-03-20T10:30:00Z') });
  });

  it('goes with the ladder of a thresholds file for the sun, and with none for pictures', () => {
    const text = siteText(`light: sun\n${BERLIN}thresholds: t.json\n`);
    const ladderOf = (hysteresis: object | undefined) =>
      parsed(text, {}, around(hysteresis)).site.cameras[0]?.thresholds.ladder;
    expect(ladderOf(SUN)).toMatchObject({ boundaries: [5] });
    expect(ladderOf(PICTURE)).toBeUndefined();
    expect(ladderOf(undefined)).toBeUndefined();
  });

  it('lets a changed file act on the camera alone', () => {
    const before = parsed(siteText()).site;
    const after = parsed(siteText(`light: sun\n${BERLIN}`)).site;
    expect(diffSite(before, after)).toMatchObject([{ kind: 'camera-live', keys: ['light'] }]);
  });

  it.each([
    ['no place', siteText('light: sun\n'), '5:8: light: found sun, and no location beside it or at the top'],
    [
      'no place of one camera',
      siteText('', '    light: sun\n'),
      '5:12: cameras.gate.light: found sun, and no location',
    ],
    [
      'a latitude beyond the pole',
      siteText('light: sun\nlocation: {latitude: 152.52, longitude: 13.4}\n'),
      '6:22: location.latitude: found 152.52, expected degrees from -90 to 90',
    ],
    [
      'a longitude beyond the date line',
      siteText('light: sun\nlocation: {latitude: 1.35, longitude: 183.8}\n'),
      '6:39: location.longitude: found 183.8, expected degrees from -180 to 180',
    ],
    [
      'half a place',
      siteText('light: sun\nlocation: {latitude: 1.35}\n'),
      '6:1: location.longitude: this key is missing',
    ],
    [
      'the words of the command line',
      siteText('light: sun\nlocation: {latitude: 1.35, longitude: 103.8, lat: 1}\n'),
      "6:46: location.lat: 'lat' is not a key here",
    ],
    [
      'a place as a list',
      siteText('location: [52.52, 13.4]\n'),
      '5:11: location: found a list, expected a map',
    ],
    [
      'a clip without a time',
      clip(''),
      '5:3: cameras.gate.start_time: this key is missing: a clip does not say',
    ],
    [
      'a time without a zone',
      clip("    start_time: '2021-03-20T18:30:00'\n"),
      "7:17: cameras.gate.start_time: found '2021-03-20T18:30:00', expected a time with its zone",
    ],
    [
      'a time of a camera',
      siteText(`light: sun\n${BERLIN}`, '    start_time: 2021-03-20T18:30:00Z\n'),
      '5:5: cameras.gate.start_time: this has no effect here: the frames of a camera are of now',
    ],
    [
      'a time without the sun',
      siteText('', '    start_time: 2021-03-20T18:30:00Z\n'),
      '5:5: cameras.gate.start_time: this has no effect here: it acts with light: sun',
    ],
    ['the moon', siteText('light: moon\n'), "5:8: light: found 'moon', expected 'auto', 'sun' or 'off'"],
    [
      'a light that the sun does not know',
      siteText(`light: sun\n${BERLIN}thresholds: {conditions: {rain: {car: 0.2}}}\n`),
      "thresholds.conditions.rain: 'rain' is no light state",
    ],
  ])('refuses %s', (_, text, says) => {
    const { message, hint } = refusal(() => parsed(text));
    expect(message).toContain(`${says.startsWith('thresholds') ? '' : 'site.yaml:'}${says}`);
    expect(message.split('\n')).toHaveLength(1);
    expect(hint).not.toBe('');
  });

  it('is asked for by thresholds of the sun', () => {
    const { message, hint } = refusal(() => parsed(siteText('thresholds: t.json\n'), {}, around(SUN)));
    expect(message).toContain('5:13: thresholds: its light states come from the height of the sun');
    expect(hint).toContain('light: sun');
  });
});
