import { expect, test } from 'vitest';
import { type ProjectReport, summarize, type VitestReport } from '../../scripts/test-summary.ts';

const counts = { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0, testResults: [] };
const ran = (report: Partial<VitestReport> | undefined, exitCode: number | undefined = 0): ProjectReport => ({
  project: 'unit',
  report: report === undefined ? undefined : { ...counts, ...report },
  exitCode,
});

test('adds up the projects', () => {
  const reports = [ran({ numPassedTests: 5, numPendingTests: 1 }), ran({ numPassedTests: 7, numTodoTests: 2 })];
  expect(summarize(reports, [])).toMatchObject({ passed: 12, failed: 0, skipped: 3 });
});

test('failed tests and failed checks are failures', () => {
  const assertionResults = [{ status: 'failed', fullName: 'adds' }];
  const testResults = [{ name: 'a.test.ts', status: 'failed', assertionResults }];
  const summary = summarize([ran({ numPassedTests: 5, numFailedTests: 1, testResults }, 1)], ['types', 'lint']);
  expect(summary).toEqual({
    passed: 5,
    failed: 3,
    skipped: 0,
    remarks: ['failed check: types', 'failed check: lint', 'failed: a.test.ts: adds'],
  });
});

test('a file that cannot be loaded is a failure', () => {
  const testResults = [{ name: 'b.test.ts', status: 'failed', message: 'cannot find x\n  at', assertionResults: [] }];
  expect(summarize([ran({ numPassedTests: 5, testResults }, 1)], [])).toMatchObject({
    passed: 5,
    failed: 1,
    remarks: ['failed: b.test.ts: cannot find x'],
  });
});

test.each([
  ['no report', ran(undefined, 1)],
  ['no report and no exit code', ran(undefined, undefined)],
  ['an error outside of tests', ran({ numPassedTests: 5 }, 1)],
  ['an end by a signal', ran({ numPassedTests: 5 }, 137)],
])('%s is a failure', (_what, report) => {
  expect(summarize([report], []).failed).toBe(1);
});
