/**
 * `node scripts/summarize-tests.ts RESULTS [FAILED CHECK...]`: adds up what the vitest projects reported in
 * `RESULTS/<project>.json` and `.exit`, and ends with the line `N passed, N failed, N skipped`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECTS, summarize, type VitestReport } from './test-summary.ts';

const [folder, ...failedChecks] = process.argv.slice(2);
if (folder === undefined) throw new Error('expected a folder of results');

const reports = PROJECTS.map((project) => ({
  project,
  report: read(`${project}.json`, (text) => JSON.parse(text) as VitestReport),
  exitCode: read(`${project}.exit`, Number),
}));
const summary = summarize(reports, failedChecks);

process.stdout.write('\n');
for (const line of summary.remarks) process.stdout.write(`${line}\n`);
process.stdout.write(`${summary.passed} passed, ${summary.failed} failed, ${summary.skipped} skipped\n`);
process.exitCode = summary.failed === 0 ? 0 : 1;

/** Undefined when the file is missing or broken: the run ended before it could say anything. */
function read<T>(name: string, parse: (text: string) => T): T | undefined {
  try {
    return parse(readFileSync(join(folder as string, name), 'utf8'));
  } catch (error) {
    process.stderr.write(`${name}: ${(error as Error).message}\n`);
    return undefined;
  }
}
