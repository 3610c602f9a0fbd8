// A program that runs a session without pause, for tests that end it in the middle of a run. It reads its job from
// standard input and works with the built package, as a user's program would.
import { readFileSync } from 'node:fs';
import { prepareSession } from '../../dist/runtime/session/open-session.js';

const { provider, ortLibrary, ending, model, spec } = JSON.parse(readFileSync(0, 'utf8'));
const options = { provider, threads: 1, ...(ortLibrary && { ortLibrary }) };
const session = await prepareSession(options).open(Buffer.from(model, 'base64'), 'slow.onnx', options);

let asked = false;
process.on('SIGINT', () => {
  asked = true;
  // What a program does that does not know better.
  if (ending === 'exit') process.exit(3);
});

let input = new Float32Array(spec.shape[0] * spec.shape[1]);
for (let run = 0; !asked; run++) {
  const running = session.run(input, spec);
  if (run > 0) process.stdout.write('.');
  ({ input } = await running);
}
await session.close();
process.exitCode = 130;
