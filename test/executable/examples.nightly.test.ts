/** The other examples, as the README has them. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { isRealDataMissing } from '../data/place.ts';
import { type Example, example, expectMarks, why } from './example-runs.ts';
import { openPlace, resultOf } from './harness.ts';

/** In async mode a model depends on what comes first: the worst of three has to reach the marks. */
const threeTimes = (run: Example): Example[] => [run, run, run];

const EXAMPLES: readonly Example[] = [
  {
    file: 'a9a-sync.yaml',
    mode: 'sync',
    records: 32_561,
    passes: 10,
    marks: { accuracy: 0.848, auc: 0.9, logloss: 0.326 },
  },
  // The same census as CSV: the marks of a9a.
  {
    file: 'adult-lr.yaml',
    mode: 'async',
    records: 32_561,
    passes: 10,
    marks: { accuracy: 0.848, auc: 0.9, logloss: 0.326 },
  },
  {
    file: 'adult-lr.yaml',
    mode: 'sync',
    records: 32_561,
    passes: 10,
    marks: { accuracy: 0.848, auc: 0.9, logloss: 0.326 },
    sets: ['training.mode=sync', 'training.batchSize=16', 'data.recordsPerTask=250'],
  },
  {
    file: 'adult-ffm.yaml',
    mode: 'async',
    records: 32_561,
    passes: 5,
    marks: { accuracy: 0.852, auc: 0.909, logloss: 0.312 },
  },
  ...['adult-wide-deep.yaml', 'adult-deepfm.yaml'].flatMap((file): Example[] => {
    const run = { file, records: 32_561, passes: 5, marks: { accuracy: 0.85, auc: 0.903 } };
    const sets = ['training.mode=sync', 'training.batchSize=16', 'data.recordsPerTask=250'];
    return [...threeTimes({ ...run, mode: 'async' }), { ...run, mode: 'sync', sets }];
  }),
  { file: 'a9a-fm.yaml', mode: 'async', records: 32_561, passes: 10, marks: { accuracy: 0.848, auc: 0.9 } },
  { file: 'mnist-softmax.yaml', mode: 'async', records: 60_000, passes: 5, marks: { accuracy: 0.915 } },
  ...threeTimes({ file: 'mnist-mlp.yaml', mode: 'async', records: 60_000, passes: 10, marks: { accuracy: 0.975 } }),
  {
    file: 'mnist-mlp.yaml',
    mode: 'sync',
    records: 60_000,
    passes: 10,
    marks: { accuracy: 0.975 },
    sets: ['training.mode=sync', 'training.batchSize=16'],
  },
  { file: 'mnist-sync.yaml', mode: 'sync', records: 60_000, passes: 5, marks: { accuracy: 0.915 } },
];

describe.skipIf(isRealDataMissing)(`examples on real data${why}`, () => {
  test.each(EXAMPLES)('$file, $mode', expectMarks);
});

test('criteo-shaped-deepfm.yaml stops early, and keeps a model that is far better than none', async () => {
  const place = openPlace();
  const text = readFileSync(example('criteo-shaped-deepfm.yaml'), 'utf8');
  const [, making, more] = /^# +paddlet (data synth .*)\\\n# +(.*)$/m.exec(text)!;
  await place.json(...`${making}${more}`.trim().split(/ +/));
  const file = example('criteo-shaped-deepfm.yaml');
  const result = await resultOf(place.start('run', ['run', file, '--data-dir', 'examples', '--json']));
  const { best, isStoppedEarly } = result.evaluation!;
  expect(isStoppedEarly).toBe(true);
  expect(result.passes).toBeLessThan(10);
  expect(result.records).toMatchObject({ applied: result.passes * 200_000, bad: 0, lost: 0 });
  // Two evaluations that are no better, and the pass that is trained while the second of them is made.
  expect(result.passes).toBe(best!.passes + 3);
  // Without a model: 0.5 and 0.671. The planted model has 0.782 and 0.544.
  expect(best!.metrics.auc).toBeGreaterThan(0.735);
  expect(best!.metrics.auc).toBeLessThan(0.782);
  expect(best!.metrics.logloss).toBeLessThan(0.59);
});

test.each(['synth-fm.yaml', 'synth-fm-ftrl.yaml'])(
  '%s comes within 0.01 of the AUC of the planted model',
  async (job) => {
    const place = openPlace();
    await place.json('data', 'synth', '--output', 'synth');
    const result = await resultOf(place.start('run', ['run', example(job), '--data-dir', '.', '--json']));
    const planted = JSON.parse(readFileSync(place.path('synth/planted.json'), 'utf8')) as { test: { auc: number } };
    expect(result.records).toMatchObject({ applied: 600_000, lost: 0 });
    expect(result.metrics.test?.auc).toBeGreaterThan(planted.test.auc - 0.01);
  },
);
