// `inspect data=` as users run it: what a set holds, every fault with file and line, and an exit code that says enough.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { faultsOfRefusal, RunFolder, solidPng } from '../support/run-folder.ts';

const folder = new RunFolder();
const ROW = '0 0.5 0.5 0.2 0.2\n';

beforeAll(async () => {
  for (const [index, stem] of ['a', 'b', 'c'].entries()) {
    const png = await solidPng({ width: 64, height: 64 }, [index * 80, 0, 0]);
    await folder.write(`good/images/${stem}.png`, png);
    await folder.write(`bad/images/${stem}.png`, png);
  }
  await folder.write('good/labels/a.txt', `${ROW}1 0.1 0.1 0.3 0.1 0.3 0.4 0.1 0.4\n`);
  await folder.write('good/labels/b.txt', '');
  await folder.write('good/data.yaml', 'train: images\nnames: [car, bus]\n');
  await folder.write('bad/labels/a.txt', `${ROW}5 0.5 0.5 0.2 0.2\n`);
  await folder.write('bad/labels/b.txt', `${ROW}x\nx 1\nx 2\nx 3\nx 4\nx 5\nx 6\n`);
  await folder.write('bad/data.yaml', 'train: images\nnames: [car, bus]\n');
});

afterAll(() => folder.remove());

describe('inspect data=', () => {
  it('prints splits, classes and faults with file and line', async () => {
    const { code, stdout, stderr } = await folder.run(['inspect', 'data=good/data.yaml']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('format        YOLO, 2 classes');
    expect(stdout).toContain(
      'train         3 pictures: 1 labelled, 2 background (1 with empty labels, 1 without label file); 2 objects',
    );
    expect(stdout).toMatch(/^ +1 {2}bus +1$/m);
    expect(stdout).toContain('faults        0 errors, 0 warnings, 2 notices');
    expect(stdout).toMatch(
      /^ {2}\S+good\/labels\/a\.txt:2 a polygon of 4 points → turned into its bounding box$/m,
    );
  });

  it('ends with 4 where there are errors, after saying all of them', async () => {
    const { code, stdout, stderr } = await folder.run(['inspect', 'data=bad/data.yaml']);
    expect(code).toBe(4);
    expect(stderr).toMatch(
      /^error: data=bad\/data\.yaml: 8 errors that would make training wrong\n {2}what to do: /,
    );
    expect(stdout).toContain('error broken-row: 7 in 1 file');
    expect(stdout).toContain('… and 2 more (faults=all)');
    expect(stdout).toContain('class 5 in 1 row');
    const all = await folder.run(['inspect', 'data=bad/data.yaml', 'faults=all', 'pictures=skip']);
    expect(all.stdout.match(/labels\/b\.txt:\d+ /g)).toHaveLength(7);
    const few = await folder.run(['inspect', 'data=bad/data.yaml', 'faults=1']);
    expect(few.stdout).toContain('… and 6 more (faults=all)');
  });

  it('knows CVAT, OpenImages and labelme by what stands in their files', async () => {
    const picture = 'good/images/a.png';
    const cvat =
      '<annotations><image name="a.png"><box label="car" xtl="1" ytl="2" xbr="30" ybr="40"/></image></annotations>';
    await folder.write('good/cvat/annotations.xml', cvat);
    await folder.write(
      'good/boxes/boxes.csv',
      'ImageID,LabelName,XMin,XMax,YMin,YMax\na,car,0,0.5,0,0.5\na,car,x,1,0,1\n',
    );
    const shapes = [{ label: 'car', shape_type: 'rectangle', points: [[1, 2]] }];
    await folder.write('good/labelme/a.json', JSON.stringify({ imagePath: `../../${picture}`, shapes }));
    const of = async (place: string) => {
      const { code, stdout } = await folder.run(['inspect', `data=good/${place}`]);
      return [
        code,
        /format +(.*)/.exec(stdout)?.[1],
        /^ {2}\S*?(good\S*:\d+|good\S* shape 1).*$/m.exec(stdout)?.[1],
      ];
    };
    expect(await of('cvat')).toEqual([0, 'CVAT XML, 1 class', undefined]);
    expect(await of('boxes/boxes.csv')).toEqual([4, 'OpenImages CSV, 1 class', 'good/boxes/boxes.csv:3']);
    expect(await of('labelme')).toEqual([4, 'labelme JSON, 0 classes', 'good/labelme/a.json shape 1']);
  });

  it('gives all of it as JSON', async () => {
    const { code, stdout } = await folder.run(['inspect', 'data=bad', '--json']);
    expect(code).toBe(4);
    const report = JSON.parse(stdout) as { faults: { kind: string; line?: number }[]; splits: object[] };
    expect(report).toMatchObject({
      source: 'bad',
      format: 'yolo',
      classNames: ['car', 'bus'],
      classKeys: [0, 1],
    });
    expect(report.splits).toMatchObject([{ name: 'train', pictures: 3, labelled: 2, perClass: [2, 0] }]);
    const rows = report.faults.filter(({ kind }) => kind === 'broken-row');
    expect(rows.map(({ line }) => line)).toEqual([2, 3, 4, 5, 6, 7, 8]);
  });

  it('refuses what is no data set, and two things at once', async () => {
    expect(faultsOfRefusal(await folder.run(['inspect', 'data=absent.yaml']), 4)).toEqual([]);
    expect(faultsOfRefusal(await folder.run(['inspect', 'data=good', 'model=x.onnx']), 3)).toEqual([]);
    expect(faultsOfRefusal(await folder.run(['inspect', 'data=good', 'faults=some']), 3)).toEqual([]);
    const neither = await folder.run(['inspect']);
    expect(faultsOfRefusal(neither, 3)).toEqual([]);
    expect(neither.stderr).toContain('model= or data=');
  });
});
