/** Adds up test reports so that nothing that went wrong can be missed. */
export const PROJECTS = ['unit', 'executable'] as const;

/** The part of vitest's JSON report that is used. */
export interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message?: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

export interface ProjectReport {
  readonly project: string;
  /** Undefined when it wrote none. */
  readonly report: VitestReport | undefined;
  readonly exitCode: number | undefined;
}

export interface Summary {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** What a reader needs to know beside the numbers. */
  readonly remarks: readonly string[];
}

export function summarize(reports: readonly ProjectReport[], failedChecks: readonly string[]): Summary {
  const remarks = failedChecks.map((name) => `failed check: ${name}`);
  let passed = 0;
  let failed = failedChecks.length;
  let skipped = 0;
  for (const { project, report, exitCode } of reports) {
    const counted = report === undefined ? undefined : countOf(report);
    passed += counted?.passed ?? 0;
    skipped += counted?.skipped ?? 0;
    remarks.push(...(counted?.remarks ?? []));
    // A project that failed without a failed test: no report, an error outside of tests, a crash.
    const failedTests = counted?.failed ?? 0;
    const unexplained = failedTests === 0 && (report === undefined || exitCode !== 0);
    if (unexplained) remarks.push(`failed: tests of ${project} ended with ${exitCode ?? 'no exit code'}`);
    failed += failedTests + (unexplained ? 1 : 0);
  }
  return { passed, failed, skipped, remarks };
}

function countOf(report: VitestReport): Summary {
  const remarks: string[] = [];
  let failed = report.numFailedTests;
  for (const file of report.testResults) {
    for (const { status, fullName } of file.assertionResults) {
      if (status === 'failed') remarks.push(`failed: ${file.name}: ${fullName}`);
      else if (status !== 'passed') remarks.push(`skipped: ${file.name}: ${fullName}`);
    }
    // A file that could not be loaded has no tests that could fail.
    if (file.status === 'failed' && !file.assertionResults.some(({ status }) => status === 'failed')) {
      failed += 1;
      remarks.push(`failed: ${file.name}: ${(file.message ?? 'could not be run').split('\n')[0]}`);
    }
  }
  return { passed: report.numPassedTests, failed, skipped: report.numPendingTests + report.numTodoTests, remarks };
}
