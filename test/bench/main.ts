// npm run bench [decode|evaluate|stream|start|soak|train|cost|sessions] [rounds]: measures and prints; ratios within one run, raw rounds shown.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { measureCost } from './cost.ts';
import { measureDecode, measureInputWriter } from './decode.ts';
import { measureEvaluate } from './evaluate.ts';
import { measureSessions } from './sessions.ts';
import { measureCurve } from './site/curve.ts';
import { measureDay } from './site/days.ts';
import { measureEndurance } from './site/endurance.ts';
import { measureSoak } from './soak.ts';
import { measureStart } from './start.ts';
import { type Clip, machineName, measureStream } from './stream.ts';
import { measureTrain, TRAIN_SETTINGS } from './train.ts';

const data =
  process.env['EDGE_DETECT_TEST_DATA'] ?? fileURLToPath(new URL('../../../../shared/data', import.meta.url));
const model = join(data, 'models/yolox_nano.onnx');

function ffmpeg(...args: string[]): void {
  const { status, stderr } = spawnSync('ffmpeg', ['-v', 'error', '-y', ...args], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
}

function makeClips(folder: string): readonly Clip[] {
  const looped = join(folder, 'udacity_looped_720p.mp4');
  ffmpeg('-stream_loop', '13', '-i', join(data, 'video/udacity_test_video.mp4'), '-c', 'copy', '-an', looped);
  const drawn = join(folder, 'testsrc2_1080p30.mp4');
  const encode = ['-c:v', 'libx264', '-preset', 'medium', '-crf', '23', '-pix_fmt', 'yuv420p'];
  ffmpeg('-f', 'lavfi', '-i', 'testsrc2=size=1920x1080:rate=30', '-t', '20', ...encode, drawn);
  return [
    { name: 'ozlu_street 640x352', path: join(data, 'video/ozlu_street.mp4') },
    { name: 'udacity_test_video looped 1280x720', path: looped },
    { name: 'testsrc2 1920x1080', path: drawn },
  ];
}

async function benchStream(rounds: number): Promise<void> {
  if (!existsSync(model)) return console.log('stream: skipped, the test data is absent');
  const folder = mkdtempSync(join(tmpdir(), 'edge-detect-bench-'));
  try {
    for (const clip of makeClips(folder))
      console.log(JSON.stringify(await measureStream(model, clip, rounds)));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const [what = 'all', rounds = '5'] = process.argv.slice(2);
const wanted = (name: string) => what === 'all' || what === name;
console.log(`# ${machineName()}, ${new Date().toISOString()}`);
if (wanted('decode')) {
  for (const figure of measureDecode()) console.log(JSON.stringify(figure));
  console.log(
    JSON.stringify({
      name: 'write a 640x360 picture into a 640x640 float32 input',
      medianMs: measureInputWriter(),
    }),
  );
}
if (wanted('evaluate')) console.log(JSON.stringify(measureEvaluate(Number(rounds))));
if (wanted('start'))
  console.log(JSON.stringify(await measureStart(model, join(data, 'video/ozlu_street.mp4'))));
if (wanted('stream')) await benchStream(Number(rounds));
if (wanted('train')) {
  for (const setting of TRAIN_SETTINGS)
    console.log(JSON.stringify(await measureTrain(setting, Math.min(Number(rounds), 3))));
}
if (wanted('cost')) {
  for (const host of ['yolox_nano', 'yolov8n_640_int8dyn']) {
    const path = join(data, `models/${host}.onnx`);
    if (!existsSync(path)) console.log(`cost: ${host} skipped, the test data is absent`);
    else console.log(JSON.stringify(await measureCost(path, host, Math.max(30, Number(rounds)))));
  }
}
if (wanted('sessions')) {
  for (const host of ['yolox_nano', 'nanodet_m_320']) {
    const path = join(data, `models/${host}.onnx`);
    if (!existsSync(path)) console.log(`sessions: ${host} skipped, the test data is absent`);
    else console.log(JSON.stringify(await measureSessions(path, host, Number(rounds))));
  }
}
// By name only: each takes minutes to half an hour.
if (what === 'site-curve') {
  await measureCurve(Number(rounds) * 6, (point) => console.log(JSON.stringify(point)));
}
if (what === 'site-endurance')
  console.log(
    JSON.stringify(await measureEndurance(Number(rounds), (record) => console.log(JSON.stringify(record)))),
  );
if (what === 'site-day') console.log(JSON.stringify(await measureDay()));
if (wanted('soak')) console.log(JSON.stringify(await measureSoak()));
