// What follows from a site once it is read: its classes held against the model, its changes, its secrets hidden.
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { checkClasses } from '../../../runtime/site/check-classes.ts';
import { diffSite } from '../../../runtime/site/diff-site.ts';
import { redactSite } from '../../../runtime/site/redact-site.ts';
import { parsed, refusal, siteText } from './site-text.ts';

describe('the classes of a site', () => {
  const text = siteText(
    "thresholds: {'*': 0.3, cra: 0.5, conditions: {night: {buss: 0.2}}}\n",
    `    classes: [car, persn]
    objects: {filters: {'*': {}, dog: {}}}
    zones: {z: {coordinates: "0,0,1,0,1,1", objects: [persn]}}
    lines: {l: {from: [0, 0], to: [1, 1], objects: [car]}}
`,
  );

  it('are those of the model, or each stray is told with its place and the nearest', () => {
    const { message, hint } = refusal(() => checkClasses(parsed(text), ['person', 'car', 'bus']));
    expect(message.split('\n')).toEqual([
      "site.yaml:5:20: cameras.gate.classes.1: the model has no class 'persn'; did you mean 'person'?",
      "site.yaml:6:34: cameras.gate.objects.filters.dog: the model has no class 'dog'",
      "site.yaml:7:55: cameras.gate.zones.z.objects.0: the model has no class 'persn'; did you mean 'person'?",
      "site.yaml:9:24: thresholds.cra: the model has no class 'cra'; did you mean 'car'?",
      "site.yaml:9:55: thresholds.conditions.night.buss: the model has no class 'buss'; did you mean 'bus'?",
    ]);
    expect(hint).toBe('its classes are person, car, bus');
  });

  it('are right where the model has them all', () => {
    expect(() => checkClasses(parsed(text), ['persn', 'car', 'buss', 'cra', 'dog'])).not.toThrow();
  });
});

describe('a changed site', () => {
  const site = (rest = '', camera = '') => parsed(siteText(rest, camera)).site;
  const zones = '    zones: {z: {coordinates: "0,0,1,0,1,1"}}\n';

  it('asks for nothing where nothing is different', () => {
    expect(diffSite(site('fps: 5\n', zones), site('fps: 5\n', zones))).toEqual([]);
    expect(diffSite(site('fps: 5\n'), site('', '    fps: 5\n'))).toEqual([]);
  });

  it.each([
    ['conf: 0.4\n', '', 'thresholds'],
    ['thresholds: {car: 0.4}\n', '', 'thresholds'],
    ['objects: {filters: {car: {min_area: 0.1}}}\n', '', 'filters'],
    ['', zones, 'zones'],
    ['', '    lines: {l: {from: [0, 0], to: [1, 1]}}\n', 'lines'],
    ['classes: [car]\n', '', 'classes'],
    ['review: {max_std: 0.2}\n', '', 'review'],
    ['light: auto\n', '', 'light'],
    ['', '    enabled: false\n', 'enabled'],
    ['fps: 5\n', '', 'framesPerSecond'],
    ['min_frames: 5\n', '', 'minFrames'],
  ])('takes over at once: %s%s', (rest, camera, key) => {
    const after = site(rest, camera);
    expect(diffSite(site(), after)).toEqual([{ kind: 'camera-live', camera: after.cameras[0], keys: [key] }]);
  });

  it('sees a corner of a zone that has moved', () => {
    const moved = site('', zones.replace('1,0', '0.9,0'));
    expect(diffSite(site('', zones), moved)).toMatchObject([{ kind: 'camera-live', keys: ['zones'] }]);
  });

  it('opens only the camera again whose source is another', () => {
    const two = (source: string) =>
      parsed(`model: m\ncameras: {a: {source: 0}, b: {source: ${source}, fps: 3}}\n`).site;
    const after = two('2');
    expect(diffSite(two('1'), after)).toEqual([
      { kind: 'camera-restart', camera: after.cameras[1], keys: ['source'] },
    ]);
  });

  it('names cameras that came and went, whatever their order', () => {
    const of = (cameras: string) => parsed(`model: m\ncameras: {${cameras}}\n`).site;
    const after = of('c: {source: 3}, a: {source: 1}');
    expect(diffSite(of('a: {source: 1}, b: {source: 2}'), after)).toEqual([
      { kind: 'camera-removed', name: 'b' },
      { kind: 'camera-added', camera: after.cameras[0] },
    ]);
  });

  it('needs a new process for what all cameras share', () => {
    expect(diffSite(site(), site('device: auto\nmqtt: {host: h}\nserver: {}\niou: 0.5\n'))).toEqual([
      { kind: 'process-restart', keys: ['device', 'iou', 'mqtt', 'server'] },
    ]);
  });
});

describe('a site that is printed', () => {
  it('holds no secret, and everything else', () => {
    const text = siteText(
      'mqtt: {host: h, user: geheim1, password: geheim2}\nserver: {token: geheim34}\nwebhook: {url: "https://h/geheim5"}\ndevice: kserve://u:geheim6@h/m\n',
      '    fps: 5\n',
    ).replace('rtsp://h/1', 'rtsp://geheim7:geheim8@h/1?token=geheim9');
    const { site } = parsed(text);
    expect(inspect(site, { depth: 9 }).match(/geheim\d/g)).toHaveLength(8);
    const redacted = redactSite(site);
    expect(inspect(redacted, { depth: 9 })).not.toContain('geheim');
    expect(redacted.cameras[0]).toEqual({ ...site.cameras[0], source: 'rtsp://***@h/1?token=***' });
    expect(redacted.mqtt).toEqual({ ...site.mqtt, username: '***', password: '***' });
    expect(redacted.webhook?.url).toBe('https://h/***');
  });

  it('has no secret where it has none', () => {
    const { site } = parsed(siteText('mqtt: {host: h}\nserver: {}\n'));
    expect(redactSite(site)).toEqual(site);
  });
});
