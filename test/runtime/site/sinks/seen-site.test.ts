// A whole site on our own clip, with everything that listens: the log, the pictures and the broker agree.
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { loadDataset } from '#data/datasets';
import { readPicture } from '#data/images';
import { openDetector } from '#runtime';
import type { SiteEvent } from '../../../../runtime/site/events.ts';
import { runSite, type SiteControl } from '../../../../runtime/site/run-site.ts';
import {
  createEventsFile,
  createMqttSink,
  createReviewSets,
  createSnapshots,
} from '../../../../runtime/site/sinks/index.ts';
import type { Site, SiteCamera } from '../../../../runtime/site/site.ts';
import { ffmpegAvailable, ffmpegNote } from '../../../support/ffmpeg-available.ts';
import { Mosquitto, mosquittoAvailable, mosquittoNote } from '../../../support/mosquitto.ts';
import { RunFolder } from '../../../support/run-folder.ts';
import { CLIP_CAMERA, sample } from '../../../support/running-site.ts';

const folder = new RunFolder();
afterAll(() => folder.remove());

const CAMERA: SiteCamera = {
  ...CLIP_CAMERA,
  name: 'day',
  review: { doubtful: [0.3, 0.6], folder: folder.join('review'), perHour: 4 },
};

describe.skipIf(!ffmpegAvailable || !mosquittoAvailable)(
  `a site with its sinks${ffmpegNote}${mosquittoNote}`,
  () => {
    it('says one thing everywhere', { timeout: 120_000 }, async () => {
      const broker = await Mosquitto.start();
      const listener = await broker.listen('edge/#');
      const detector = await openDetector(sample('model/edge-n-street.onnx'));
      const notices: string[] = [];
      const onNotice = (message: string) => notices.push(message);
      const site: Site = { model: sample('model/edge-n-street.onnx'), device: 'cpu', cameras: [CAMERA] };
      let control: SiteControl | undefined;
      const events = createEventsFile({
        path: folder.join('events.jsonl'),
        maxBytes: 1e9,
        keep: 1,
        onNotice,
      });
      const mqtt = createMqttSink({
        mqtt: { url: broker.url, topicPrefix: 'edge', clientId: 'edge-test' },
        classNames: detector.classNames,
        onNotice,
      });
      const snapshots = createSnapshots({ folder: folder.join('snapshots'), days: 7, onNotice });
      const review = createReviewSets({
        classNames: detector.classNames,
        cameras: site.cameras,
        camera: (name) => control?.camera(name),
        onNotice,
      });
      await runSite(site, {
        detector,
        sinks: [events, mqtt],
        signal: new AbortController().signal,
        onStart(running) {
          control = running;
          mqtt.start(running);
        },
        onResult(...seen) {
          snapshots.observe(...seen);
          review.observe(...seen);
        },
      });
      await Promise.all([snapshots.close(), review.close()]);
      await detector.close();
      expect(notices).toEqual([]);

      const lines = readFileSync(folder.join('events.jsonl'), 'utf8').trimEnd().split('\n');
      const said = lines.map((line) => JSON.parse(line) as SiteEvent);
      const objects = said.flatMap((event) => (event.kind === 'object' ? [event] : []));
      const heard = listener.of('edge/events').map((text) => JSON.parse(text));
      expect(heard.map(({ type, after }) => `${type} ${after.id}`)).toEqual(
        objects.map(({ type, after }) => `${type} ${after.id}`),
      );
      const retained = await broker.retained();
      expect(Object.fromEntries(retained)).toMatchObject({
        'edge/available': 'stopped',
        'edge/day/state': 'ended',
        'edge/day/all': '0',
        'edge/street/all': '0',
        'edge/day/light': 'day',
      });

      // A clip is read at full speed: some objects have gone before their picture is there, and none has two.
      const ended = objects.filter(({ type }) => type === 'end');
      const pictured = ended.flatMap(({ after }) => after.snapshot ?? []);
      expect(pictured.length).toBeGreaterThan(3);
      const files = readdirSync(folder.join('snapshots', 'day'));
      for (const file of pictured) expect(files).toContain(file.replace('day/', ''));
      const picture = await readPicture(folder.join('snapshots', pictured[0] ?? ''));
      expect(picture.size.width).toBe(detector.input.width);

      const set = await loadDataset(folder.join('review', 'data.yaml'));
      expect(set.faults).toEqual([]);
      expect(set.classNames).toEqual(detector.classNames);
      expect(set.splits.train).toHaveLength(4);
      await listener.close();
      await broker.close();
    });
  },
);
