/** The examples, as the README has them, reach the marks of their data sets (../shared/data/README.md). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isRealDataMissing, REAL_DATA } from '../data/place.ts';
import { ROOT } from '../source-files.ts';
import { openPlace, resultOf } from './harness.ts';

const example = (name: string): string => join(ROOT, 'examples', name);

type Mode = 'async' | 'sync';

interface Marks {
  readonly accuracy: number;
  readonly auc?: number;
  readonly logloss?: number;
}

const EXAMPLES: readonly { file: string; mode: Mode; records: number; passes: number; marks: Marks }[] = [
  {
    file: 'a9a-lr.yaml',
    mode: 'async',
    records: 32_561,
    passes: 10,
    marks: { accuracy: 0.848, auc: 0.9, logloss: 0.326 },
  },
  { file: 'a9a-fm.yaml', mode: 'async', records: 32_561, passes: 10, marks: { accuracy: 0.848, auc: 0.9 } },
  { file: 'mnist-softmax.yaml', mode: 'async', records: 60_000, passes: 5, marks: { accuracy: 0.915 } },
  {
    file: 'a9a-sync.yaml',
    mode: 'sync',
    records: 32_561,
    passes: 10,
    marks: { accuracy: 0.848, auc: 0.9, logloss: 0.326 },
  },
  { file: 'mnist-sync.yaml', mode: 'sync', records: 60_000, passes: 5, marks: { accuracy: 0.915 } },
];

const why = isRealDataMissing ? ` (no data sets in ${REAL_DATA})` : '';

describe.skipIf(isRealDataMissing)(`examples on real data${why}`, () => {
  test.each(EXAMPLES)('$file', async ({ file, mode, records, passes, marks }) => {
    const place = openPlace();
    const run = place.start('run', ['run', example(file), '--json'], { PADDLET_DATA: REAL_DATA });
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
  });
});

test.each(['synth-fm.yaml', 'synth-fm-ftrl.yaml'])(
  '%s comes within 0.01 of the AUC of the planted model',
  async (job) => {
    const place = openPlace();
    await place.json('data', 'synth', '--out', 'synth');
    const result = await resultOf(place.start('run', ['run', example(job), '--data-dir', '.', '--json']));
    const planted = JSON.parse(readFileSync(place.path('synth/planted.json'), 'utf8')) as { test: { auc: number } };
    expect(result.records).toMatchObject({ applied: 600_000, lost: 0 });
    expect(result.metrics.test?.auc).toBeGreaterThan(planted.test.auc - 0.01);
  },
);
