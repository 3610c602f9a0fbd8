import { defineConfig } from 'vitest/config';

const conditions = ['@edge-detect/source', 'module', 'node', 'import', 'default'];

// Tests of the sources run from TypeScript; worker threads and the command line run from `dist`
// (Node 20 loads no TypeScript in a Worker), so the build comes first: see scripts/bootstrap.mjs.
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    pool: 'forks',
    maxWorkers: 2,
  },
});
