// Makes a YOLO data set of street scenes: pictures by sun, clouds, dusk and night, with exact boxes.
//   node dist/samples/dataset/main.js out=runs/streets [pictures=600] [size=320x192] [cameras=24] [seed=1]
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EdgeDetectError, UsageError } from 'edge-detect';
import { type DatasetRequest, planTakes } from './plan.ts';
import { writeDataset } from './write.ts';

const USAGE = 'out=FOLDER [pictures=600] [size=320x192] [cameras=24] [seed=1]';

interface Request extends DatasetRequest {
  readonly out: string;
}

function parseRequest(words: readonly string[]): Request {
  const given = new Map(words.map((word) => word.split(/=(.*)/s, 2) as [string, string | undefined]));
  const known = ['out', 'pictures', 'size', 'cameras', 'seed'];
  const stray = [...given.keys()].find((key) => !known.includes(key));
  if (stray !== undefined) throw new UsageError(`there is no option '${stray}'`, { hint: `say ${USAGE}` });
  const out = given.get('out');
  if (out === undefined || out === '')
    throw new UsageError('no folder to write to', { hint: `say ${USAGE}` });
  const size = /^(\d+)x(\d+)$/.exec(given.get('size') ?? '320x192');
  const [width, height] = [Number(size?.[1]), Number(size?.[2])];
  if (!(width >= 32 && height >= 32 && width <= 4096 && height <= 4096)) {
    throw new UsageError(`size=${given.get('size')} is not WIDTHxHEIGHT within 32 to 4096`, {
      hint: 'for example size=320x192',
    });
  }
  const whole = (key: string, fallback: number, least: number): number => {
    const text = given.get(key) ?? String(fallback);
    if (/^\d{1,6}$/.test(text) && Number(text) >= least) return Number(text);
    throw new UsageError(`${key}=${text} is not a whole number of at least ${least}`, {
      hint: `say ${USAGE}`,
    });
  };
  const pictures = whole('pictures', 600, 3);
  const cameras = whole('cameras', Math.max(3, Math.min(60, Math.round(pictures / 25))), 3);
  return { out, pictures, cameras, size: { width, height }, seed: whole('seed', 1, 0) };
}

async function main(words: readonly string[]): Promise<void> {
  const request = parseRequest(words);
  if (existsSync(join(request.out, 'data.yaml'))) {
    throw new UsageError(`${request.out} holds a data set already`, {
      hint: 'name another folder, or remove it',
    });
  }
  const takes = planTakes(request);
  const started = performance.now();
  const written = await writeDataset(request.out, takes, (count) => {
    if (count % 50 === 0 || count === request.pictures)
      process.stderr.write(`${count}/${request.pictures} pictures\n`);
  });
  const seconds = (performance.now() - started) / 1000;
  const { train, val, test } = written.pictures;
  const { width, height } = request.size;
  console.log(`${join(request.out, 'data.yaml')}: ${width}x${height}, ${request.cameras} cameras`);
  console.log(`${train} pictures to train, ${val} to validate, ${test} to test, in ${seconds.toFixed(0)} s`);
  console.log(
    Object.entries(written.objects)
      .map(([name, count]) => `${count} ${name}`)
      .join(', '),
  );
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof EdgeDetectError)) throw error;
  console.error(`${error.message}\n${error.hint}`);
  process.exitCode = error.exitCode;
}
