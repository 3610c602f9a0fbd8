// Prints "N passed, N failed, N skipped" from vitest's JSON report; a failed check counts as one failure.
//   node scripts/count-results.mjs REPORT.json FAILED_CHECKS
import { readFileSync } from 'node:fs';

const [path, failedChecks] = process.argv.slice(2);
let counts = { numPassedTests: 0, numFailedTests: 1, numPendingTests: 0, numTodoTests: 0, testResults: [] };
try {
  counts = JSON.parse(readFileSync(path, 'utf8'));
} catch {
  process.stderr.write('there is no test report: the test run itself failed\n');
}
// A file that fails before its first test (a syntax error, say) has no failed test of its own.
const brokenFiles = counts.testResults.filter(
  (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
).length;
const failed = counts.numFailedTests + brokenFiles + Number(failedChecks);
const skipped = counts.numPendingTests + counts.numTodoTests;
process.stdout.write(`${counts.numPassedTests} passed, ${failed} failed, ${skipped} skipped\n`);
