/** Runs of the examples on real data, each with the marks of its data set (../shared/data/README.md). */
import { join } from 'node:path';
import { expect } from 'vitest';
import type { JobResult } from '../../src/cluster/job/job-result.ts';
import { isRealDataMissing, REAL_DATA } from '../data/place.ts';
import { ROOT } from '../source-files.ts';
import { openPlace, resultOf } from './harness.ts';

export const example = (name: string): string => join(ROOT, 'examples', name);

interface Marks {
  readonly accuracy: number;
  readonly auc?: number;
  readonly logloss?: number;
}

export interface Example {
  readonly file: string;
  readonly mode: 'async' | 'sync';
  readonly records: number;
  readonly passes: number;
  readonly marks: Marks;
  /** Overrides of its fields. */
  readonly sets?: readonly string[];
}

/** To be added to a name. */
export const why = isRealDataMissing ? ` (no data sets in ${REAL_DATA})` : '';

export async function expectMarks(run: Example): Promise<void> {
  await testScores(run);
}

/** It reaches its marks, and every record counts once. Gives what it has reached on its test file. */
export async function testScores({
  file,
  mode,
  records,
  passes,
  marks,
  sets = [],
}: Example): Promise<JobResult['metrics']['test']> {
  const place = openPlace();
  const flags = sets.flatMap((set) => ['--set', set]);
  const run = place.start('run', ['run', example(file), '--json', ...flags], { PADDLET_DATA: REAL_DATA });
  const result = await resultOf(run);
  const total = passes * records;
  // A copy of a slow trainer's task is read twice; what counts is what was applied.
  expect(result.records).toMatchObject({ applied: total, bad: 0, discarded: 0, lost: 0 });
  expect(result.records.read).toBeGreaterThanOrEqual(total);
  expect(result).toMatchObject({ mode, passes });
  expect(result.checkpoints.map(({ index }) => index)).toEqual([0, 1]);
  const { test } = result.metrics;
  expect(test?.accuracy).toBeGreaterThanOrEqual(marks.accuracy);
  if (marks.auc !== undefined) expect(test?.auc).toBeGreaterThanOrEqual(marks.auc);
  if (marks.logloss !== undefined) expect(test?.logloss).toBeLessThanOrEqual(marks.logloss);
  return test;
}
