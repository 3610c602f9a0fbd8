// Runs model files in one release of onnxruntime-node, in a process of its own: no two releases fit into one.
//   node run-in-runtime.mjs PACKAGE_FOLDER JOBS RESULTS     both files as node:v8 writes them
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { deserialize, serialize } from 'node:v8';

const [folder, jobs, results] = process.argv.slice(2);
const ort = createRequire(import.meta.url)(folder);

async function run({ path, input }) {
  const session = await ort.InferenceSession.create(path, {
    executionProviders: ['cpu'],
    intraOpNumThreads: 1,
    logSeverityLevel: 3,
  });
  const answer = await session.run({ [input.name]: new ort.Tensor(input.dtype, input.data, input.shape) });
  return Object.fromEntries(
    Object.entries(answer).map(([name, { dims, data }]) => [
      name,
      { shape: [...dims], data: Float64Array.from(data, Number) },
    ]),
  );
}

const answers = [];
for (const job of deserialize(readFileSync(jobs))) {
  try {
    answers.push({ name: job.name, outputs: await run(job) });
  } catch (error) {
    answers.push({ name: job.name, fault: error instanceof Error ? error.message : String(error) });
  }
}
writeFileSync(results, serialize(answers));
