// Lists every skipped test at the end of a run: a skip that nobody reads is a test that nobody has.
import type { Reporter, TestModule } from 'vitest/node';

export class SkipReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped = modules.flatMap((module) =>
      [...module.children.allTests('skipped')].map((test) => `${module.relativeModuleId}: ${test.fullName}`),
    );
    if (skipped.length === 0) return;
    console.log(`\nSkipped (${skipped.length}):\n${skipped.map((name) => `  ${name}`).join('\n')}\n`);
  }
}
