// `motion:` and `clips:` of a site file: what they mean, and each mistake in them.
import { describe, expect, it } from 'vitest';
import { diffSite } from '../../../runtime/site/diff-site.ts';
import { parsed, refusal, siteText } from './site-text.ts';

const camera = (line: string) => siteText('', `    ${line}\n`);
const top = (line: string) => siteText(`${line}\n`);
const cameraOf = (text: string) => parsed(text).site.cameras[0];

describe('motion', () => {
  it('is off unless it is asked for, and a camera overrules the top', () => {
    expect(cameraOf(siteText())?.motion).toBeUndefined();
    const standard = { threshold: 10, minArea: 0.0005, masks: [], detectEverySeconds: 5 };
    expect(cameraOf(top('motion: on'))?.motion).toEqual(standard);
    expect(cameraOf(top('motion: {}'))?.motion).toEqual(standard);
    expect(cameraOf(siteText('motion: on\n', '    motion: off\n'))?.motion).toBeUndefined();
    const mask = '"0,0,1,0,1,0.1,0,0.1"';
    const own = cameraOf(
      camera(`motion: {threshold: 20, min_area: 0.01, mask: [${mask}, ${mask}], detect_every: 30}`),
    );
    const region = Float64Array.of(0, 0, 1, 0, 1, 0.1, 0, 0.1);
    expect(own?.motion).toEqual({
      threshold: 20,
      minArea: 0.01,
      masks: [region, region],
      detectEverySeconds: 30,
    });
  });

  it('is taken over while the camera runs', () => {
    const [before, after] = [parsed(siteText()).site, parsed(top('motion: on')).site];
    expect(diffSite(before, after)).toMatchObject([{ kind: 'camera-live', keys: ['motion'] }]);
  });
});

describe('clips', () => {
  it('have a folder, and the rest has defaults', () => {
    expect(parsed(siteText()).site.clips).toBeUndefined();
    const { clips } = parsed(top('clips: {folder: /clips}')).site;
    expect(clips).toEqual({ folder: '/clips', pre: 5, post: 5, longest: 120, days: 7, maxBytes: 1e10 });
    const own = '{folder: /clips, pre: 0, post: 2.5, longest: 30, days: 1, max_mb: 0.5}';
    expect(parsed(top(`clips: ${own}`)).site.clips).toEqual({
      ...{ folder: '/clips', pre: 0, post: 2.5, longest: 30, days: 1, maxBytes: 500_000 },
    });
  });
});

describe('a mistake', () => {
  it.each([
    [camera('motion: auto'), "5:13: cameras.gate.motion: found 'auto', expected 'on', 'off', or a map"],
    [camera('motion: true'), "5:13: cameras.gate.motion: found true, expected 'on', 'off', or a map"],
    [camera('motion: [0, 1]'), '5:13: cameras.gate.motion: found a list'],
    [
      top('motion: {treshold: 5}'),
      "5:10: motion.treshold: 'treshold' is not a key here; did you mean 'threshold'?",
    ],
    [top('motion: {contour_area: 10}'), "5:10: motion.contour_area: 'contour_area' is not a key here"],
    [top('motion: {threshold: 0}'), '5:21: motion.threshold: found 0, expected a difference from 1 to 255'],
    [
      top('motion: {min_area: 40}'),
      '5:20: motion.min_area: found 40, expected a share of the picture from 0 to 1',
    ],
    [
      top('motion: {detect_every: 0}'),
      '5:24: motion.detect_every: found 0, expected seconds from 0.1 to 3600',
    ],
    [top('motion: {mask: "0,0,1,1"}'), '5:16: motion.mask: found 2 corners, expected 3 or more'],
    [
      camera('motion: {mask: [[0, 0], [1, 1], [1, 0], [0, 1]]}'),
      '5:20: cameras.gate.motion.mask: found edges that cross each other',
    ],
    [top('clips: clips'), "5:8: clips: found 'clips', expected a map"],
    [top('clips: {}'), '5:1: clips.folder: this key is missing'],
    [top('clips: {folder: c, pre: 90}'), '5:25: clips.pre: found 90, expected seconds from 0 to 60'],
    [top('clips: {folder: c, post: -1}'), '5:26: clips.post: found -1, expected seconds from 0 to 60'],
    [top('clips: {folder: c, longest: 0}'), '5:29: clips.longest: found 0, expected seconds from 1 to 3600'],
    [
      top('clips: {folder: c, pre: 30, longest: 20}'),
      '5:38: clips.longest: found longest 20 s, expected more',
    ],
    [top('clips: {folder: c, days: 0}'), '5:26: clips.days: found 0, expected days above 0'],
    [top('clips: {folder: c, max_mb: lots}'), "5:28: clips.max_mb: found 'lots', expected megabytes above 0"],
    [top('clips: {folder: c, pre_capture: 5}'), "5:20: clips.pre_capture: 'pre_capture' is not a key here"],
    [
      top('clips: {folder: c}\nsnapshots: {folder: c}'),
      "5:17: clips.folder: found 'c', where snapshots is already",
    ],
    [camera('clips: {folder: c}'), "5:5: cameras.gate.clips: 'clips' is not a key here"],
  ])('in %j is one line', (text, says) => {
    const { message } = refusal(() => parsed(text));
    expect(message.split('\n')).toHaveLength(1);
    expect(message).toContain(`site.yaml:${says}`);
  });
});
