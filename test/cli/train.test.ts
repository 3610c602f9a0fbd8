// `edge-detect train` as a person types it: refusals in words, a model that `stream` runs at once, and an end that can be
// gone on from, however it came.
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openModel } from '#runtime';
import { loadCheckpoint } from '../../training/checkpoint.ts';
import { type CliResult, jsonLines } from '../support/cli.ts';
import { faultsOfRefusal, RunFolder } from '../support/run-folder.ts';
import { ownModelBytes } from '../support/training-runs.ts';
import { SHAPE_NAMES, writeLabels, writeShapeSet } from '../support/training-sets.ts';

/** One plan, so that nothing is timed. */
const ONE_THREAD = ['engine=onnx', 'device=cpu', 'threads=1', 'sessions=1'];

let folder: RunFolder;
let temporary: string;

beforeAll(async () => {
  folder = new RunFolder();
  temporary = folder.join('temporary');
  mkdirSync(temporary);
  await folder.write('own.onnx', ownModelBytes(SHAPE_NAMES));
  await writeShapeSet(folder.join('set'), { train: 8, val: 3 });
});

afterAll(() => folder.remove());

interface TrainOptions {
  readonly cwd?: string;
  /** Called once, when so many epochs are told of. */
  readonly afterEpochs?: readonly [epochs: number, act: (child: ChildProcess) => void];
}

function train(words: readonly string[], { cwd, afterEpochs }: TrainOptions = {}): Promise<CliResult> {
  return folder.run(['train', ...words], {
    ...(cwd !== undefined && { cwd }),
    env: { TMPDIR: temporary },
    onStart(child) {
      if (afterEpochs === undefined) return;
      const [epochs, act] = afterEpochs;
      let said = '';
      let acted = false;
      child.stderr?.on('data', (text: string) => {
        said += text;
        if (acted || (said.match(/^ +\d+ +\d+ s /gm) ?? []).length < epochs) return;
        acted = true;
        act(child);
      });
    },
  });
}

/** A head on a host of our own: epochs of some hundredths of a second. */
const host = (...words: string[]) => [
  'data=set/data.yaml',
  'model=own.onnx',
  'variants=0',
  'batch=4',
  ...ONE_THREAD,
  ...words,
];

describe('a train command that cannot be run', () => {
  for (const [title, words, code, said] of [
    ['has no data=', ['model=edge-n'], 3, /train needs data=/],
    ['has no model=', ['data=set/data.yaml'], 3, /train needs model=/],
    [
      'names a model that is not there',
      ['data=set/data.yaml', 'model=no.onnx'],
      5,
      /no model file .*no\.onnx/,
    ],
    [
      'names a PyTorch file',
      ['data=set/data.yaml', 'model=best.pt'],
      5,
      /best\.pt is a PyTorch checkpoint[\s\S]*yolo export model=.*best\.pt format=onnx/,
    ],
    ['names a set that is not there', ['data=no.yaml', 'model=edge-n'], 4, /no\.yaml: it does not exist/],
    [
      'freezes what is random',
      ['data=set/data.yaml', 'model=edge-n', 'freeze=backbone'],
      3,
      /nothing worth freezing[\s\S]*leave freeze= away/,
    ],
    ['wants passes of no dropout', host('mc_passes=4'), 3, /needs dropout[\s\S]*dropout=0\.1/],
    [
      'wants an engine that is not installed',
      ['data=set/data.yaml', 'model=own.onnx', 'engine=tfjs-node', 'variants=0'],
      6,
      /tfjs-node/,
    ],
    ['has a typing error', host('epoch=3'), 2, /no option 'epoch'[\s\S]*did you mean epochs= \?/],
    ['has a value out of range', host('lrf=2'), 3, /lrf/],
    ['has an unknown level', host('freeze=head'), 3, /freeze.*towers/s],
    ['resumes what is no run', ['resume=set'], 4, /no weights\/last\.state/],
  ] as const) {
    it(`${title}: says so and what to do, exit code ${code}, and leaves no folder`, async () => {
      await folder.write('best.pt', 'PK\u0003\u0004 archive/data.pkl');
      const result = await train([...words, 'project=refused']);
      expect(faultsOfRefusal(result, code)).toEqual([]);
      expect(result.stderr).toMatch(said);
      expect(entries('refused')).toEqual([]);
      expect(leftovers()).toEqual([]);
    }, 60_000);
  }

  it('has labels that would teach something wrong: exit code 4, and the list', async () => {
    await writeShapeSet(folder.join('wrong'), { train: 3, val: 1 });
    await writeLabels(folder.join('wrong'), 'train', 'train000', ['5 0.5 0.5 0.2 0.2']);
    await writeLabels(folder.join('wrong'), 'train', 'train001', ['0 0.5 0.5']);
    const result = await train(['data=wrong/data.yaml', 'model=own.onnx', 'project=refused']);
    expect(faultsOfRefusal(result, 4)).toEqual([]);
    expect(result.stderr).toMatch(/2 errors in the labels/);
    expect(result.stderr).toMatch(/train000\.txt:1[\s\S]*class 5/);
    expect(result.stderr).toMatch(/train001\.txt:1/);
    expect(entries('refused')).toEqual([]);
  });
});

/** What this program left among the temporary files; ONNX Runtime writes logs of its own there. */
function leftovers(): string[] {
  return entries('temporary').filter((name) => name.startsWith('edge-detect'));
}

function entries(name: string): string[] {
  try {
    return readdirSync(folder.join(name));
  } catch {
    return [];
  }
}

describe('a run', () => {
  it('gives a model that stream runs at once, with the variance of every score', async () => {
    const result = await train(host('epochs=3', 'name=good', 'lr0=0.02'));
    expect(result.stderr).toMatch(/8 training and 3 validation pictures, 3 classes: square, disc, bar/);
    expect(result.code).toBe(0);
    const best = result.stdout.trim();
    expect(best).toMatch(/good\/weights\/best\.onnx$/);
    expect(result.stderr).toContain(`edge-detect stream model=${best}`);
    const streamed = await folder.run([
      'stream',
      `model=${best}`,
      'source=set/images/val/val000.png',
      'conf=0.001',
    ]);
    expect(streamed.code).toBe(0);
    const [line] = jsonLines<{ detections: { confidence: number; score_var: number }[] }>(streamed.stdout);
    expect(line!.detections.length).toBeGreaterThan(0);
    for (const { confidence, score_var } of line!.detections) {
      expect(score_var).toBeGreaterThan(0);
      expect(score_var).toBeLessThanOrEqual(confidence * (1 - confidence) + 1e-6);
    }
    expect(leftovers()).toEqual([]);
  }, 90_000);

  it('of one class says once that it has no class branch', async () => {
    const { code, stderr } = await train(host('epochs=1', 'single_cls=True', 'name=single'));
    expect(code).toBe(0);
    expect(stderr.match(/no class branch and no BS-GRA/g)).toHaveLength(1);
  }, 60_000);

  it('that diverges ends with exit code 4 and leaves no number that is none', async () => {
    const { code, stderr } = await train(
      host('epochs=60', 'lr0=1e6', 'freeze=none', 'optimizer=SGD', 'name=wild'),
    );
    expect(code).toBe(4);
    expect(stderr).toMatch(
      /not finite (?:3 times|after 3 epochs) in a row \(epoch \d+, step \d+\); the last batch held .*\.png/,
    );
    expect(stderr).toMatch(/what to do: the last good checkpoint stays.*lr0=/);
    expect(readFileSync(folder.join('runs/detect/wild/results.csv'), 'utf8')).not.toMatch(/nan|inf/i);
  }, 60_000);
});

describe('a run that is stopped', () => {
  it('by Ctrl-C: code 130, says how to go on, leaves no cache; and goes on from any folder', async () => {
    const stopped = await train(host('epochs=400', 'patience=0', 'name=stopped'), {
      afterEpochs: [2, (child) => child.kill('SIGINT')],
    });
    expect(stopped.code).toBe(130);
    expect(stopped.stderr).toMatch(
      /go on with: edge-detect train resume=runs\/detect\/stopped\nstopped by SIGINT\n$/,
    );
    expect(leftovers()).toEqual([]);
    const done = Number((await stateOf('stopped'))['epoch']);
    const resumed = await train([`resume=${folder.join('runs/detect/stopped')}`, `epochs=${done + 2}`], {
      cwd: temporary,
    });
    expect(resumed.stderr).toMatch(new RegExp(`resumed after epoch ${done}\n`));
    expect(resumed.code).toBe(0);
    const again = await train(['resume=runs/detect/stopped']);
    expect(faultsOfRefusal(again, 3)).toEqual([]);
    expect(again.stderr).toMatch(/this run is complete[\s\S]*extend it with epochs=/);
    const other = await train(['resume=runs/detect/stopped', 'epochs=900', 'model=other.onnx']);
    expect(faultsOfRefusal(other, 3)).toEqual([]);
    expect(other.stderr).toMatch(/the run has model=.*own\.onnx, and now it is model=other\.onnx/);
    const faster = await train(['resume=runs/detect/stopped', 'epochs=900', 'lr0=0.1', 'data=set/data.yaml']);
    expect(faster.stderr).toMatch(/the run has lr0=0\.002, and now it is lr0=0\.1/);
  }, 90_000);

  it('by kill -9 at any moment: checkpoint and best model are whole, and the run goes on', async () => {
    let words = host('epochs=2000', 'patience=0', 'name=killed', 'batch=8');
    let before = 0;
    for (const delayMs of [0, 7, 23, 61]) {
      const { signal } = await train(words, {
        afterEpochs: [2, (child) => setTimeout(() => child.kill('SIGKILL'), delayMs)],
      });
      expect(signal).toBe('SIGKILL');
      const header = await stateOf('killed');
      const epoch = Number(header['epoch']);
      expect(epoch).toBeGreaterThanOrEqual(before + 2);
      expect(header['rows']).toHaveLength(epoch);
      before = epoch;
      const best = await openModel(folder.join('runs/detect/killed/weights/best.onnx'), {
        uncertainty: 'none',
      });
      await Promise.all(best.sessions.map((session) => session.close()));
      words = ['resume=runs/detect/killed'];
    }
    const last = await train([...words, `epochs=${before + 1}`]);
    expect(last.code).toBe(0);
    const lines = readFileSync(folder.join('runs/detect/killed/results.csv'), 'utf8').trim().split('\n');
    expect(lines).toHaveLength(before + 2);
  }, 120_000);

  it('before its first epoch: says that there is nothing to go on with', async () => {
    await writeShapeSet(folder.join('many'), { train: 400, side: 32 });
    const words = ['data=many/data.yaml', 'model=own.onnx', 'variants=20', ...ONE_THREAD, 'name=early'];
    // A run that was killed outright has left its folder; what counts is what this one makes.
    const before = leftovers();
    const stopped = await folder.run(['train', ...words], {
      env: { TMPDIR: temporary },
      onStart: (child) => {
        const timer = setInterval(() => {
          if (leftovers().length === before.length) return;
          clearInterval(timer);
          setTimeout(() => child.kill('SIGINT'), 200);
        }, 20);
      },
    });
    expect(stopped.code).toBe(130);
    expect(stopped.stderr).toMatch(/stopped before an epoch was done: start again/);
    expect(leftovers()).toEqual(before);
    expect(entries('runs/detect')).not.toContain('early');
  }, 60_000);

  async function stateOf(name: string): Promise<Readonly<Record<string, unknown>>> {
    return (await loadCheckpoint(folder.join('runs/detect', name, 'weights/last.state'))).header;
  }
});

describe('memory', () => {
  it('does not grow with the epochs: 30 over 200 cached pictures', async () => {
    await writeShapeSet(folder.join('two-hundred'), { train: 200, val: 8 });
    const rss: number[] = [];
    const words = ['data=two-hundred/data.yaml', 'model=own.onnx', 'variants=0', 'batch=16', ...ONE_THREAD];
    const { code } = await folder.run(['train', ...words, 'epochs=30', 'patience=0', 'name=memory'], {
      env: { TMPDIR: temporary },
      onStart: (child) => {
        child.stderr?.on('data', (text: string) => {
          if (/^ +\d+ +\d+ s /m.test(text)) rss.push(rssMegabytes(child.pid ?? 0));
        });
      },
    });
    expect(code).toBe(0);
    expect(rss.length).toBeGreaterThan(20);
    // Garbage comes and goes, so halves are compared by their least values: a leak raises both.
    const later = rss.slice(10);
    const half = Math.floor(later.length / 2);
    const growth = Math.min(...later.slice(half)) - Math.min(...later.slice(0, half));
    expect(growth).toBeLessThan(25);
  }, 90_000);

  function rssMegabytes(pid: number): number {
    return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
  }
});
