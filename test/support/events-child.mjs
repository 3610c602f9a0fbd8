// A program that writes numbered events without pause until it is killed, and says each number once `accept` has
// returned. From the built package, as a user's program would.
import { writeSync } from 'node:fs';
import { createEventsFile } from '../../dist/runtime/site/sinks/events-file.js';

const [path] = process.argv.slice(2);
const file = createEventsFile({ path, maxBytes: 20_000, keep: 100_000, onNotice: () => undefined });
for (let number = 0; ; number++) {
  file.accept({ kind: 'notice', atMs: 0, camera: 'gate', message: `${number}` });
  writeSync(1, `${number}\n`);
}
