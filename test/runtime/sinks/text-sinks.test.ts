// What is written for machines: exact form, whole lines, one file per source, words for a full disk.
import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataError } from '#core';
import { createCocoJson } from '../../../runtime/sinks/coco-json.ts';
import { createCsv } from '../../../runtime/sinks/csv.ts';
import { createJsonLines } from '../../../runtime/sinks/json-lines.ts';
import { linesToFile, linesToStream } from '../../../runtime/sinks/line-output.ts';
import { OutputClosed, outputFault } from '../../../runtime/sinks/output-fault.ts';
import { createOutputNames } from '../../../runtime/sinks/output-names.ts';
import { createRunFolder } from '../../../runtime/sinks/run-folder.ts';
import { createYoloTxt } from '../../../runtime/sinks/yolo-txt.ts';
import { CAR, result, SPLIT_CAR, SURE_CAR } from './results.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'edge-detect-sinks-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const linesOf = (path: string) => readFileSync(path, 'utf8').split('\n');

describe('JSON lines', () => {
  it('have the exact form of a stream, with uncertainty only in extra keys', async () => {
    const path = join(folder, 'deep', 'out.jsonl');
    const sink = createJsonLines(await linesToFile(path), 'stream');
    await sink.write(result({ source: 'clip.mp4', index: 7, ptsSeconds: 0.2916666667 }));
    await sink.write(result({ source: 'clip.mp4', index: 8, ptsSeconds: 0.5, detections: [SURE_CAR] }));
    await sink.write(result({ source: 'clip.mp4', index: 9, ptsSeconds: 0.75, detections: [] }));
    await sink.close();
    await sink.close();
    expect(sink.outputs).toEqual([path]);
    expect(linesOf(path)).toEqual([
      '{"stream":"clip.mp4","frame":7,"pts_s":0.291667,"width":200,"height":100,"detections":[{"name":"car","class":2,"confidence":0.82346,"box":{"x1":10.13,"y1":20,"x2":110.5,"y2":80}}]}',
      '{"stream":"clip.mp4","frame":8,"pts_s":0.5,"width":200,"height":100,"detections":[{"name":"car","class":2,"confidence":0.82346,"box":{"x1":10.13,"y1":20,"x2":110.5,"y2":80},"score_var":0.003612,"box_var":{"x1":4,"y1":9.877,"x2":0.0001235,"y2":16}}]}',
      '{"stream":"clip.mp4","frame":9,"pts_s":0.75,"width":200,"height":100,"detections":[]}',
      '',
    ]);
  });

  it('tell the epistemic part of the variance apart where the model does', async () => {
    const stream = new PassThrough();
    const sink = createJsonLines(linesToStream(stream, 'standard output'), 'stream');
    await sink.write(result({ source: 'a.mp4', ptsSeconds: 0, detections: [SPLIT_CAR, SURE_CAR] }));
    await sink.close();
    const text: string = stream.read().toString();
    expect(text).toContain('"score_var":0.003612,"score_var_epistemic":0.0001235,"box_var"');
    expect(text.match(/score_var_epistemic/g)).toHaveLength(1);
  });

  it('keep the network’s own score beside one that was calibrated', async () => {
    const stream = new PassThrough();
    const sink = createJsonLines(linesToStream(stream, 'standard output'), 'stream');
    await sink.write(
      result({ source: 'a.mp4', detections: [{ ...CAR, score: 0.5, rawScore: 0.8234567 }, CAR] }),
    );
    await sink.close();
    const text: string = stream.read().toString();
    expect(text).toContain('"confidence":0.5,"raw_confidence":0.82346,"box"');
    expect(text.match(/raw_confidence/g)).toHaveLength(1);
  });

  it('have the form of a picture', async () => {
    const stream = new PassThrough();
    const sink = createJsonLines(linesToStream(stream, 'standard output'), 'picture');
    await sink.write(result({ source: 'a/ü "x".jpg', detections: [] }));
    await sink.close();
    expect(stream.read().toString()).toBe(
      '{"source":"a/ü \\"x\\".jpg","width":200,"height":100,"detections":[]}\n',
    );
    expect(sink.outputs).toEqual([]);
    expect(stream.writableEnded).toBe(false);
  });

  it('wait for a slow reader', async () => {
    const stream = new PassThrough({ highWaterMark: 64 });
    const output = linesToStream(stream, 'slow');
    let done = false;
    const writing = output.writeLine('y'.repeat(100)).then(() => {
      done = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(done).toBe(false);
    stream.resume();
    await writing;
    expect(done).toBe(true);
  });

  it('end quietly with OutputClosed where the reader went away', async () => {
    const child = spawn('head', ['-1'], { stdio: ['pipe', 'ignore', 'ignore'] });
    const sink = createJsonLines(linesToStream(child.stdin, 'standard output'), 'stream');
    const writing = async () => {
      for (let index = 0; index < 5000; index++)
        await sink.write(result({ source: 'a.mp4', index, ptsSeconds: index }));
    };
    await expect(writing()).rejects.toBeInstanceOf(OutputClosed);
    await expect(sink.write(result({ source: 'a.mp4' }))).rejects.toBeInstanceOf(OutputClosed);
    await sink.close();
  });

  it.skipIf(!existsSync('/dev/full'))('name the file on a full disk', async () => {
    const output = await linesToFile('/dev/full');
    const fault = await output.writeLine('x').catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(DataError);
    expect((fault as DataError).message).toBe('cannot write /dev/full: no space left on the disk');
    await output.close();
  });

  it('name a place that cannot be written', async () => {
    writeFileSync(join(folder, 'file'), '');
    await expect(linesToFile(join(folder, 'file', 'out.jsonl'))).rejects.toThrow(
      /cannot write .*out\.jsonl: /,
    );
    await expect(linesToFile(folder)).rejects.toThrow(/it is a folder/);
    const denied = outputFault('/x/y', Object.assign(new Error('denied'), { code: 'EACCES' }));
    expect(denied.message).toBe('cannot write /x/y: no permission');
  });
});

describe('CSV', () => {
  it('quotes what needs it and leaves empty what the model lacks', async () => {
    const path = join(folder, 'out.csv');
    const sink = createCsv(await linesToFile(path));
    await sink.write(
      result({
        source: 'a,b.mp4',
        index: 3,
        ptsSeconds: 0.125,
        detections: [{ ...CAR, className: 'big "car"', trackId: 7 }, SURE_CAR, SPLIT_CAR],
      }),
    );
    await sink.write(result({ source: 'b.jpg', detections: [] }));
    await sink.write(result({ source: 'b.jpg' }));
    await sink.close();
    expect(linesOf(path)).toEqual([
      'stream,frame,pts_s,class,name,confidence,x1,y1,x2,y2,score_var,x1_var,y1_var,x2_var,y2_var,score_var_epistemic,track_id',
      '"a,b.mp4",3,0.125,2,"big ""car""",0.82346,10.13,20,110.5,80,,,,,,,7',
      '"a,b.mp4",3,0.125,2,car,0.82346,10.13,20,110.5,80,0.003612,4,9.877,0.0001235,16,,',
      '"a,b.mp4",3,0.125,2,car,0.82346,10.13,20,110.5,80,0.003612,4,9.877,0.0001235,16,0.0001235,',
      'b.jpg,0,,2,car,0.82346,10.13,20,110.5,80,,,,,,,',
      '',
    ]);
  });

  it('has its header also without a result', async () => {
    const path = join(folder, 'out.csv');
    const sink = createCsv(await linesToFile(path));
    await sink.close();
    expect(linesOf(path)[0]).toMatch(/^stream,frame/);
  });
});

describe('YOLO text', () => {
  it('writes clipped, normalised rows, with the confidence where asked', async () => {
    const beyond = { ...CAR, box: { x1: -50, y1: 50, x2: 100, y2: 150 } };
    const outside = { ...CAR, box: { x1: 300, y1: 0, x2: 400, y2: 50 } };
    const sink = await createYoloTxt({ folder, saveConf: true });
    await sink.write(result({ source: 'in/a.jpg', detections: [beyond, outside] }));
    await sink.write(result({ source: 'in/empty.jpg', detections: [] }));
    await sink.write(result({ source: 'in/clip.mp4', index: 12, ptsSeconds: 0.5, detections: [beyond] }));
    expect(readdirSync(join(folder, 'labels')).sort()).toEqual(['a.txt', 'clip_12.txt']);
    expect(readFileSync(join(folder, 'labels/a.txt'), 'utf8')).toBe('2 0.25 0.75 0.5 0.5 0.823457\n');
    const bare = await createYoloTxt({ folder: join(folder, 'bare'), saveConf: false });
    await bare.write(result({ source: 'a.jpg', detections: [beyond] }));
    expect(readFileSync(join(folder, 'bare/labels/a.txt'), 'utf8')).toBe('2 0.25 0.75 0.5 0.5\n');
  });

  it('keeps pictures of equal stems apart', async () => {
    const sink = await createYoloTxt({ folder, saveConf: false });
    for (const source of ['x/a.jpg', 'y/a.jpg', 'x/a.png', 'x/A.jpg', 'x/a.jpg'])
      await sink.write(result({ source }));
    expect(readdirSync(join(folder, 'labels')).sort()).toEqual(['A-4.txt', 'a-2.txt', 'a-3.txt', 'a.txt']);
  });
});

describe('names of results', () => {
  it('come from the source, fit a file system and never collide', () => {
    const names = createOutputNames();
    expect(names.nameFor('rtsp://cam.local:554/live/1?x=2', '_3.txt')).toBe('cam.local_554_live_1_3.txt');
    expect(names.nameFor('a.tar.png', '.png')).toBe('a.tar.png');
    expect(names.nameFor('b/a.tar.png', '.png')).toBe('a.tar-2.png');
    expect(names.nameFor('a.tar-2.jpg', '.png')).toBe('a.tar-2-2.png');
    expect(names.nameFor('a.tar.png', '.txt')).toBe('a.tar.txt');
    expect(Buffer.byteLength(names.nameFor(`${'ü'.repeat(120)}.jpg`, '_100000.txt'))).toBeLessThan(255);
  });
});

describe('COCO JSON', () => {
  it('is valid after close, with numeric stems as integers and extra keys', async () => {
    const path = join(folder, 'predictions.json');
    const sink = await createCocoJson({ path, categoryIds: [1, 2, 3] });
    await sink.write(result({ source: 'x/000000000139.jpg', detections: [CAR, SURE_CAR] }));
    await sink.write(result({ source: 'x/street.jpg', detections: [CAR] }));
    await sink.write(result({ source: 'x/9007199254740993.jpg', detections: [CAR] }));
    await sink.write(result({ source: 'x/clip.mp4', index: 4, ptsSeconds: 1, detections: [CAR] }));
    expect(existsSync(path)).toBe(false);
    await sink.close();
    await sink.close();
    const rows = JSON.parse(readFileSync(path, 'utf8'));
    expect(rows.map((row: { image_id: unknown }) => row.image_id)).toEqual([
      139,
      139,
      'street',
      '9007199254740993',
      'clip_4',
    ]);
    expect(rows[0]).toEqual({
      image_id: 139,
      category_id: 3,
      bbox: [10.126, 20, 100.374, 60],
      score: 0.82346,
    });
    expect(rows[1]).toMatchObject({ score_var: 0.003612, box_var: [4, 9.877, 0.0001235, 16] });
    expect(readdirSync(folder)).toEqual(['predictions.json']);
  });

  it('is an empty array without detections', async () => {
    const path = join(folder, 'predictions.json');
    const sink = await createCocoJson({ path });
    await sink.write(result({ source: 'a.jpg', detections: [] }));
    await sink.close();
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual([]);
  });
});

describe('run folders', () => {
  it('count up, and two runs at once get two', async () => {
    const options = { project: join(folder, 'runs/detect'), name: 'predict', existOk: false };
    const made = await Promise.all([1, 2, 3].map(() => createRunFolder(options)));
    expect(new Set(made).size).toBe(3);
    expect(readdirSync(options.project).sort()).toEqual(['predict', 'predict2', 'predict3']);
    expect(await createRunFolder({ ...options, existOk: true })).toBe(join(options.project, 'predict'));
    expect(await createRunFolder(options)).toBe(join(options.project, 'predict4'));
  });

  it('name what stands in the way', async () => {
    mkdirSync(join(folder, 'x'));
    writeFileSync(join(folder, 'x/file'), '');
    const options = { project: join(folder, 'x/file/runs'), name: 'predict', existOk: false };
    await expect(createRunFolder(options)).rejects.toThrow(
      /cannot write .*file.*a part of the path is a file/,
    );
  });
});
