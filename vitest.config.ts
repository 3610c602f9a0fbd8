import { defineConfig } from 'vitest/config';
import { SkipReporter } from './test/support/skip-reporter.ts';

const conditions = ['@edge-detect/source', 'module', 'node', 'import', 'default'];

/** Where CI wants the results as JSON. */
const outputFile = process.env['EDGE_DETECT_TEST_REPORT'];
const jsonReport: [string, Record<string, unknown>][] =
  outputFile === undefined ? [] : [['json', { outputFile }]];

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
    reporters: ['default', new SkipReporter(), ...jsonReport],
    maxWorkers: 2,
  },
});
