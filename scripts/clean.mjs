// Empties `dist`, so that nothing of a deleted source stays there.
import { rmSync } from 'node:fs';

rmSync(new URL('../dist', import.meta.url), { recursive: true, force: true });
