// What people type: habitual spellings are understood, mistakes are answered by key, and results land where they belong.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonLines } from '../support/cli.ts';
import { ffmpegAvailable, ffmpegNote } from '../support/ffmpeg-available.ts';
import { faultsOfRefusal, type PictureLine, RunFolder, solidPng } from '../support/run-folder.ts';
import { constantDetector } from '../support/tiny-models.ts';

const folder = new RunFolder();

beforeAll(async () => {
  await folder.writeModel('model.onnx', constantDetector({ kind: 'yolov8' }));
  const png = await solidPng({ width: 96, height: 96 }, [24, 24, 24]);
  for (const name of ['000000000042.png', 'b.png']) await folder.write(`pictures/${name}`, png);
});

afterAll(() => folder.remove());

const BASE = ['model=model.onnx', 'source=pictures/b.png'];

interface Mistake {
  readonly words: readonly string[];
  readonly code: number;
  readonly says: RegExp;
}

const THRESHOLDS = {
  version: 1,
  score: 'raw',
  suppression: { kind: 'hard', iou: 0.7 },
  classes: { '*': 0.25 },
};

function sha256Of(name: string): string {
  return createHash('sha256')
    .update(readFileSync(folder.join(name)))
    .digest('hex');
}

async function check({ words, code, says }: Mistake): Promise<readonly string[]> {
  const result = await folder.run(words);
  const wrong = says.test(result.stderr) ? [] : [`said: ${result.stderr}`];
  return [...faultsOfRefusal(result, code), ...wrong].map((fault) => `${words.join(' ')}: ${fault}`);
}

/** Two at a time: there are two cores. */
async function checkAll(mistakes: readonly Mistake[]): Promise<readonly string[]> {
  const faults: string[] = [];
  for (let index = 0; index < mistakes.length; index += 2) {
    faults.push(...(await Promise.all(mistakes.slice(index, index + 2).map(check))).flat());
  }
  return faults;
}

const predict = (...words: string[]) => ['predict', ...BASE, ...words];

describe('mistakes', () => {
  it('in words are answered with the nearest word', async () => {
    const faults = await checkAll([
      { words: predict('cnof=0.5'), code: 2, says: /no option 'cnof'\n.*did you mean conf=/ },
      { words: predict('--max-dett', '5'), code: 2, says: /no option 'max-dett'\n.*max_det=/ },
      { words: ['pridict', ...BASE], code: 2, says: /no command 'pridict'\n.*edge-detect predict/ },
      { words: BASE, code: 2, says: /stands where a command belongs/ },
      { words: ['predict', 'b.png'], code: 2, says: /'b\.png' is not an option\n.*source=/ },
      {
        words: ['inspect', 'model=model.onnx', 'conf=0.5'],
        code: 2,
        says: /inspect has no option conf=\n.*predict, stream/,
      },
      { words: predict('classes=pesron'), code: 3, says: /classes: .*'pesron'\n.*did you mean 'person'/ },
      { words: predict('conf.persn=0.5'), code: 3, says: /conf\.persn: .*\n.*did you mean 'person'/ },
      { words: predict('nms=hrad'), code: 3, says: /nms=hrad: not one of hard, soft.*\n.*nms=hard/ },
      {
        words: predict('layout=yolov9'),
        code: 3,
        says: /layout=yolov9: not one of yolov5, .*\n.*layout=yolov/,
      },
    ]);
    expect(faults).toEqual([]);
  });

  it('in values are answered with key, value and range', async () => {
    const faults = await checkAll([
      { words: predict('conf=1.5'), code: 3, says: /conf=1\.5: expected a number from 0 to 1\n.*conf=0\.25/ },
      { words: predict('max_det=2.5'), code: 3, says: /max_det=2\.5: expected a whole number from 1/ },
      { words: predict('classes=[0,9]'), code: 3, says: /no class '9'\n.*2 classes are car, person/ },
      { words: predict('imgsz=1,2,3'), code: 3, says: /imgsz=/ },
      { words: predict('preprocess=rbg'), code: 3, says: /preprocess=rbg: 'rbg'/ },
      {
        words: predict('device=tensorrt'),
        code: 6,
        says: /tensorrt:0 is not usable here: .*\n.*ort_library=/,
      },
      { words: predict('device=tpu'), code: 3, says: /device=tpu: expected cpu, auto, .*tensorrt:0/ },
      { words: predict('names=a,b,c'), code: 3, says: /names= gives 3 names, and the head has 2 classes/ },
      { words: ['stream', ...BASE, 'raw=rgb24:64x64@25'], code: 3, says: /raw= .*source is pictures/ },
      { words: predict('names=none.yaml'), code: 3, says: /names=none\.yaml: the file cannot be read/ },
      { words: ['predict', 'source=pictures'], code: 3, says: /predict needs model=/ },
      { words: ['predict', 'model=model.onnx'], code: 3, says: /predict needs source=/ },
    ]);
    expect(faults).toEqual([]);
  });

  it('that would act on nothing are refused instead of passed over', async () => {
    const faults = await checkAll([
      { words: predict('k=0.5'), code: 3, says: /k= has no effect here: .*threshold=variance/ },
      { words: predict('tail=0.5', 'threshold=std'), code: 3, says: /tail= has no effect.*tail-mass/ },
      { words: predict('camera=gate'), code: 3, says: /camera= has no effect.*thresholds=/ },
      { words: predict('thresholds=t.json', 'nms=soft'), code: 3, says: /already decides what nms=/ },
      { words: predict('condition=dusk'), code: 3, says: /condition= has no effect.*thresholds=/ },
      {
        words: predict('thresholds=t.json', 'conf=0.3'),
        code: 3,
        says: /t\.json already decides what conf=/,
      },
      {
        words: predict('thresholds=t.json', 'conf.car=0.3'),
        code: 3,
        says: /already decides what conf\.car=/,
      },
    ]);
    expect(faults).toEqual([]);
  });

  it('in a thresholds file are answered by file and key', async () => {
    const write = (name: string, changes: object) =>
      folder.write(name, JSON.stringify({ ...THRESHOLDS, modelSha256: sha256Of('model.onnx'), ...changes }));
    await write('range.json', { classes: { '*': 0.25, car: 1.5 } });
    await write('other.json', { modelSha256: 'a'.repeat(64) });
    await write('classes.json', { classes: { '*': 0.25, lorry: 0.5 } });
    await write('calibrated.json', { score: 'calibrated' });
    await write('variance.json', { suppression: { kind: 'uncertainty', iou: 0.6, lambda: 2 } });
    const faults = await checkAll([
      {
        words: predict('thresholds=none.json'),
        code: 3,
        says: /thresholds=none\.json: the file cannot be read/,
      },
      { words: predict('thresholds=range.json'), code: 3, says: /range\.json: 'classes\.car' is 1\.5/ },
      { words: predict('thresholds=other.json'), code: 3, says: /other\.json was made for .* a{64}, but/ },
      {
        words: predict('thresholds=classes.json'),
        code: 3,
        says: /classes\.json: .*'lorry'.*\n.*car, person/,
      },
      {
        words: predict('thresholds=calibrated.json'),
        code: 3,
        says: /calibrated\.json: .*calibrated scores/,
      },
      { words: predict('thresholds=variance.json'), code: 5, says: /nms=uncertainty cannot work/ },
    ]);
    expect(faults).toEqual([]);
  });
});

describe('a thresholds file', () => {
  it('decides thresholds by class, camera and condition, and the suppression', async () => {
    const boxes = [
      { cx: 30, cy: 40, w: 20, h: 40, classId: 0, score: 0.9 },
      { cx: 30, cy: 50, w: 20, h: 20, classId: 0, score: 0.8 }, // IoU 0.5 with the first
      { cx: 70, cy: 60, w: 24, h: 16, classId: 1, score: 0.7 },
    ];
    await folder.writeModel('overlap.onnx', constantDetector({ kind: 'yolov8', boxes }));
    const file = {
      ...THRESHOLDS,
      modelSha256: sha256Of('overlap.onnx'),
      suppression: { kind: 'hard', iou: 0.4 },
      classes: { '*': 0.25, person: 0.75 },
      conditions: { dusk: { person: 0.6 } },
      cameras: { gate: { classes: { car: 0.95 }, conditions: {} } },
    };
    await folder.write('site.json', JSON.stringify(file));
    const scoresWith = async (...words: string[]) => {
      const { lines } = await folder.predict('model=overlap.onnx', 'source=pictures/b.png', ...words);
      return lines[0]?.detections.map(({ confidence }) => confidence);
    };
    const [without, day] = await Promise.all([scoresWith(), scoresWith('thresholds=site.json')]);
    const [dusk, gate] = await Promise.all([
      scoresWith('thresholds=site.json', 'condition=dusk'),
      scoresWith('thresholds=site.json', 'condition=dusk', 'camera=gate'),
    ]);
    expect({ without, day, dusk, gate }).toEqual({
      without: [0.9, 0.8, 0.7],
      day: [0.9],
      dusk: [0.9, 0.7],
      gate: [0.7],
    });
  });
});

describe('habitual spellings', () => {
  const namesOf = async (...words: string[]) =>
    (await folder.predict(...BASE, ...words)).lines[0]?.detections.map(({ name }) => name);

  it('select the same', async () => {
    const spellings = [
      ['classes=[0, 1]', 'conf=0.8', 'half=False', 'int8=None', 'agnostic_nms=True'],
      ['--classes', '0,1', '--conf-thres', '0.8', '--agnostic-nms'],
      ['classes=person,car', 'conf.person=0.8', 'max_det=1', 'iou=None'],
      ['classes=(car)'],
    ];
    const [first, second] = await Promise.all(spellings.slice(0, 2).map((words) => namesOf(...words)));
    const [third, fourth] = await Promise.all(spellings.slice(2).map((words) => namesOf(...words)));
    expect([first, second, third, fourth]).toEqual([['car'], ['car'], ['car'], ['car']]);
  });

  it('of precision say that they change nothing', async () => {
    const { stderr } = await folder.predict(...BASE, 'half=True', 'save_conf=True');
    expect(stderr).toMatch(/half=True changes nothing here/);
    expect(stderr).toMatch(/save_conf=True changes nothing without save_txt=True/);
  });

  it('--help answers for each command', async () => {
    const { code, stdout } = await folder.run(['predict', '--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/--conf <number>/);
  });
});

describe('results', () => {
  const all = ['save_txt=True', 'save_conf=True', 'save_json=True', 'save_csv=True', 'json=True'];
  const files = (...parts: string[]) => readdirSync(folder.join('out', ...parts)).sort();

  it('lie in run folders that count up, in the habitual formats', async () => {
    const words = ['predict', 'model=model.onnx', 'source=pictures', 'project=out', ...all];
    const first = await folder.run(words);
    expect(first.code).toBe(0);
    expect(first.stderr).toMatch(/results in .*out\/predict/);
    expect(jsonLines<PictureLine>(first.stdout)).toHaveLength(2);
    expect(files('predict')).toEqual([
      '000000000042.png',
      'b.png',
      'labels',
      'predictions.csv',
      'predictions.json',
    ]);
    expect(readFileSync(folder.join('out/predict/labels/b.txt'), 'utf8')).toBe(
      '0 0.3125 0.416667 0.208333 0.3125 0.9\n1 0.729167 0.625 0.25 0.166667 0.7\n',
    );
    expect(JSON.parse(readFileSync(folder.join('out/predict/predictions.json'), 'utf8'))).toEqual([
      { image_id: 42, category_id: expect.any(Number), bbox: [20, 25, 20, 30], score: 0.9 },
      { image_id: 42, category_id: expect.any(Number), bbox: [58, 52, 24, 16], score: 0.7 },
      { image_id: 'b', category_id: expect.any(Number), bbox: [20, 25, 20, 30], score: 0.9 },
      { image_id: 'b', category_id: expect.any(Number), bbox: [58, 52, 24, 16], score: 0.7 },
    ]);
    const csv = readFileSync(folder.join('out/predict/predictions.csv'), 'utf8').trim().split('\n');
    expect(csv[0]).toMatch(/^stream,frame,pts_s,class,name,confidence,x1,y1,x2,y2/);
    expect(csv).toHaveLength(5);
    expect(csv[3]).toMatch(/^pictures\/b\.png,1,,0,car,0\.9,20,25,40,55/);

    const plain = ['predict', ...BASE, 'project=out'];
    expect((await folder.run(plain)).stderr).toContain('out/predict2');
    expect(files('predict2')).toEqual(['b.png']);
    const [again, named] = await Promise.all([
      folder.run([...plain, 'exist_ok=True', 'save_txt=True']),
      folder.run([...plain, 'name=night']),
    ]);
    expect([again.code, named.code]).toEqual([0, 0]);
    expect(files()).toEqual(['night', 'predict', 'predict2']);
    // Without save_conf there are five columns.
    expect(readFileSync(folder.join('out/predict/labels/b.txt'), 'utf8').split('\n')[0]).toBe(
      '0 0.3125 0.416667 0.208333 0.3125',
    );
  });

  it('never overwrite what they are made of', async () => {
    const before = readFileSync(folder.join('pictures/b.png'));
    const words = ['predict', 'model=model.onnx', 'source=pictures', 'save=True'];
    const faults = await checkAll([
      {
        words: [...words, 'project=.', 'name=pictures', 'exist_ok=True'],
        code: 3,
        says: /would overwrite pictures\/0+42\.png: it lies in the run folder/,
      },
      {
        words: [...words, 'output=x.mp4'],
        code: 3,
        says: /output=x\.mp4 is a video, and pictures is of still/,
      },
    ]);
    expect(faults).toEqual([]);
    expect(readFileSync(folder.join('pictures/b.png')).equals(before)).toBe(true);
    expect(existsSync(folder.join('x.mp4'))).toBe(false);
  });

  it.skipIf(!ffmpegAvailable)(`nor the clip${ffmpegNote}`, async () => {
    const clip = folder.join('clip.mp4');
    const drawn = ['-f', 'lavfi', '-i', 'color=gray:s=64x64:r=5:d=0.4', '-pix_fmt', 'yuv420p', clip];
    execFileSync('ffmpeg', ['-v', 'error', ...drawn]);
    const before = readFileSync(clip);
    symlinkSync('clip.mp4', folder.join('link.mp4'));
    await folder.write('mixed/a.png', readFileSync(folder.join('pictures/b.png')));
    await folder.write('mixed/b.mp4', before);
    const stream = (...words: string[]) => ['stream', 'model=model.onnx', 'json=False', ...words];
    const faults = await checkAll([
      {
        words: stream('source=clip.mp4', 'output=clip.mp4'),
        code: 3,
        says: /clip\.mp4 is the source itself/,
      },
      {
        words: stream('source=clip.mp4', 'output=link.mp4'),
        code: 3,
        says: /link\.mp4 is the source itself/,
      },
      {
        words: stream('source=mixed', 'output=y.mp4'),
        code: 3,
        says: /y\.mp4 is a video, and mixed\/a\.png/,
      },
    ]);
    expect(faults).toEqual([]);
    expect(readFileSync(clip).equals(before)).toBe(true);
  });

  it('that cannot be written end the run with the path', async () => {
    await folder.write('occupied', 'a file');
    const [blocked, unwritten] = await Promise.all([
      folder.run(predict('project=occupied')),
      folder.run(predict('save=False', 'project=never')),
    ]);
    expect(faultsOfRefusal(blocked, 4)).toEqual([]);
    expect(blocked.stderr).toContain('occupied/predict');
    expect(unwritten.code).toBe(0);
    expect(existsSync(folder.join('never'))).toBe(false);
  });
});
