// What a person should look at, as a set that the reader of data sets takes without a fault.
import { appendFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { loadDataset } from '#data/datasets';
import { createReviewSets } from '../../../../runtime/site/sinks/review-set.ts';
import type { ReviewRule, SiteThresholds } from '../../../../runtime/site/site.ts';
import { RunFolder } from '../../../support/run-folder.ts';
import { CLASSES, SeenCamera } from './seen-frames.ts';

const folder = new RunFolder();
afterAll(() => folder.remove());

const THRESHOLDS: SiteThresholds = { base: 0.3, classes: new Map(), conditions: new Map() };

function open(name: string, changes: Partial<ReviewRule> = {}, classNames: readonly string[] = CLASSES) {
  const notices: string[] = [];
  const path = folder.join(name);
  const review: ReviewRule = { maxStd: 0.1, doubtful: [0.3, 0.45], folder: path, perHour: 20, ...changes };
  const sets = createReviewSets({
    classNames,
    cameras: [{ review }, {}],
    camera: (camera) =>
      camera === 'quiet' ? { thresholds: THRESHOLDS } : { review, thresholds: THRESHOLDS },
    onNotice: (message) => notices.push(message),
  });
  return { sets, path, review, notices };
}

const filesOf = (path: string, part: string) => readdirSync(`${path}/${part}`).sort();
const tableOf = (path: string) => readFileSync(`${path}/review.csv`, 'utf8').trimEnd().split('\n');

describe('a set for review', () => {
  it('has one picture for each doubtful object, labels of all that is there, and why', async () => {
    const { sets, path, review, notices } = open('marked');
    const camera = new SeenCamera('gate', review);
    const sure = { trackId: 1, score: 0.9, std: 0.02 };
    const look = async (boxes: Parameters<SeenCamera['see']>[0]) => {
      sets.observe('gate', camera.see(boxes), camera.objects);
      await sets.close();
    };
    await look([sure]);
    expect(filesOf(path, 'images')).toEqual([]);
    const doubtful = { trackId: 2, score: 0.4, std: 0.15, classId: 2 };
    for (let frame = 0; frame < 5; frame++) await look([sure, doubtful]);
    expect(filesOf(path, 'images')).toEqual(['gate-20251201T212000200Z.jpg']);
    // A box below the least score that is no object is not there.
    await look([sure, doubtful, { trackId: 3, score: 0.35, std: 0.02, classId: 1 }]);
    expect(filesOf(path, 'images')).toHaveLength(2);
    expect(filesOf(path, 'labels')[0]).toBe('gate-20251201T212000200Z.txt');
    expect(readFileSync(`${path}/labels/gate-20251201T212000200Z.txt`, 'utf8')).toBe(
      '0 0.15 0.375 0.1 0.25\n2 0.25 0.375 0.1 0.25\n',
    );
    const table = tableOf(path);
    expect(table).toEqual([
      'file,object,class,reasons,score,std',
      expect.stringMatching(
        /^images\/gate-20251201T212000200Z\.jpg,gate-\d+-2,"traffic light",std doubtful,0\.4000,0\.1500$/,
      ),
      expect.stringMatching(/^images\/gate-\w+\.jpg,gate-\d+-3,"person",doubtful,0\.3500,0\.0200$/),
    ]);
    expect(notices).toEqual([]);

    const dataset = await loadDataset(`${path}/data.yaml`);
    expect(dataset.faults).toEqual([]);
    expect(dataset.classNames).toEqual(CLASSES);
    expect(dataset.splits.train?.map(({ objects }) => objects.length)).toEqual([2, 3]);
  });

  it('grows over restarts, keeps to its classes, and repairs a torn table', async () => {
    const first = open('again', {}, ['a: b', 'say "hi"', '# no']);
    await first.sets.close();
    appendFileSync(`${first.path}/review.csv`, 'images/gate-2026');
    expect(() => open('again')).toThrow(
      /again\/data\.yaml has the classes a: b, say "hi", # no, and the model has car/,
    );
    const { sets, path, review } = open('again', {}, ['a: b', 'say "hi"', '# no']);
    const camera = new SeenCamera('gate', review);
    sets.observe('gate', camera.see([{ trackId: 1, score: 0.4 }]), camera.objects);
    await sets.close();
    expect(tableOf(path)).toEqual([
      'file,object,class,reasons,score,std',
      expect.stringMatching(/^images\/gate-\w+\.jpg,gate-\d+-1,"car",doubtful,0\.4000,$/),
    ]);
    expect((await loadDataset(`${path}/data.yaml`)).classNames).toEqual(['a: b', 'say "hi"', '# no']);
  });

  it('takes no more than its share of a camera, and nothing where no rule is', async () => {
    const { sets, path, review } = open('share', { perHour: 3 });
    for (const name of ['gate', 'yard', 'quiet']) {
      const camera = new SeenCamera(name, review);
      for (let trackId = 1; trackId < 10; trackId++) {
        sets.observe(name, camera.see([{ trackId, score: 0.4 }]), camera.objects);
        await sets.close();
      }
    }
    const cameras = filesOf(path, 'images').map((file) => file.split('-')[0]);
    expect(cameras).toEqual(['gate', 'gate', 'gate', 'yard', 'yard', 'yard']);
  });

  it('leaves no label without its picture where the disk takes none', async () => {
    const { sets, path, review, notices } = open('full', { perHour: 1 });
    const camera = new SeenCamera('gate', review);
    rmSync(`${path}/images`, { recursive: true });
    writeFileSync(`${path}/images`, '');
    sets.observe('gate', camera.see([{ trackId: 1, score: 0.4 }]), camera.objects);
    await sets.close();
    expect(filesOf(path, 'labels')).toEqual([]);
    expect(notices).toEqual([expect.stringMatching(/cannot write .*full/)]);
    expect(() => open('full')).toThrow(/cannot write .*full/);
  });
});
