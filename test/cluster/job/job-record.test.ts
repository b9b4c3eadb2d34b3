/** `/job` of another version is refused by name. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import { batchPlanId, JOB_RECORD_VERSION, parseJobRecord } from '../../../src/cluster/job/job-record.ts';
import { ROOT } from '../../source-files.ts';
import { aJob, recordOf } from './stored-job.ts';

const KEY = '/paddlet/a/job';

function refusal(record: object): PaddletError {
  try {
    parseJobRecord(KEY, JSON.stringify(record));
  } catch (error) {
    if (error instanceof PaddletError) return error;
    throw error;
  }
  throw new Error('it was taken');
}

it.each([1, 2, JOB_RECORD_VERSION + 1])(
  'a record of version %i is refused with both versions and a way out',
  (version) => {
    // Of version 1: the batch plan id was called `cut`.
    const error = refusal({ version, id: 'x', created: 1, dataDir: '/', cut: 'c', job: {} });
    expect(error).toMatchObject({ code: 'VersionMismatch', details: { found: version, expected: JOB_RECORD_VERSION } });
    expect(error.message).toBe(
      `expected version ${JOB_RECORD_VERSION} of the job record at ${KEY}, got version ${version}`,
    );
    expect(error.hint).toContain('--fresh');
  },
);

it('a record that version 1 wrote is refused', () => {
  const record = JSON.parse(readFileSync(join(ROOT, 'test/golden/store/v1-job.json'), 'utf8')) as object;
  expect(refusal(record)).toMatchObject({
    code: 'VersionMismatch',
    details: { found: 1, expected: JOB_RECORD_VERSION },
  });
});

it.each([{}, { version: 'x' }])('%o is no record', (record) => {
  expect(refusal(record)).toMatchObject({ code: 'StoreValueInvalid' });
});

it('of its own version, a field that is wrong is named', () => {
  expect(refusal({ version: JOB_RECORD_VERSION, id: 'x' }).message).toMatch(`${KEY}: id: `);
});

it('the batch plan is another one where records are shuffled, and the same where only tasks are', () => {
  const planOf = (shuffle: 'tasks' | 'records'): string => batchPlanId(aJob({ data: { shuffle } }), 'digest');
  expect(planOf('records')).not.toBe(planOf('tasks'));
  expect(planOf('tasks')).toBe(batchPlanId(aJob(), 'digest'));
});

it('the batch plan is another one where labels have weights, and the same where they have none', () => {
  const planOf = (labelWeights: boolean): string => batchPlanId(aJob({ data: { labelWeights } }), 'digest');
  expect(planOf(true)).not.toBe(planOf(false));
  expect(planOf(false)).toBe(batchPlanId(aJob(), 'digest'));
});

it('the batch plan is another one where gradients are clipped, and by another norm', () => {
  const planOf = (training: object): string => batchPlanId(aJob({ training }), 'digest');
  const [one, two] = [1, 2].map((maxGradientNorm) => planOf({ onBadGradient: 'clip', maxGradientNorm }));
  const fail = planOf({ onBadGradient: 'fail' });
  expect(new Set([one, two, fail]).size).toBe(3);
  expect(fail).toBe(batchPlanId(aJob(), 'digest'));
});

it('the batch plan is another one with a largest norm alone, and with what a bad gradient does', () => {
  const plans = [{ maxGradientNorm: 1 }, { maxGradientNorm: 1, onBadGradient: 'clip' }, {}];
  expect(new Set(plans.map((training) => batchPlanId(aJob({ training }), 'digest'))).size).toBe(3);
});

it('the batch plan is another one with other weights of classes, however they are ordered', () => {
  const planOf = (classWeights: object): string => batchPlanId(aJob({ training: { classWeights } }), 'digest');
  expect(new Set([planOf({ 1: 2 }), planOf({ 1: 3 }), batchPlanId(aJob(), 'digest')]).size).toBe(3);
  expect(planOf({ 1: 2, 0: 3 })).toBe(planOf({ 0: 3, 1: 2 }));
});

it.each<[string, object[], string]>([
  ['none', [], 'expected statistics of the columns x, q, got none'],
  [
    'in another order',
    [{ name: 'q', bounds: [1] }, { name: 'x' }],
    'expected statistics of the columns x, q, got q, x',
  ],
  ['without bounds', [{ name: 'x' }, { name: 'q' }], 'expected the quantile bounds of column q'],
  [
    'with bounds for nothing',
    [
      { name: 'x', bounds: [1] },
      { name: 'q', bounds: [1] },
    ],
    'expected the quantile bounds of column x',
  ],
  [
    'with bounds out of order',
    [{ name: 'x' }, { name: 'q', bounds: [2, 1] }],
    'expected the quantile bounds of column q',
  ],
])('statistics have to be those of the number columns: %s', (_, statistics, message) => {
  const columns = { x: 'number', q: { type: 'number', quantiles: 4 }, y: 'label' };
  const all = statistics.map((one) => ({ present: 1, missing: 0, mean: 0, deviation: 1, min: 0, max: 1, ...one }));
  const job = aJob({ data: { format: 'csv', columns } });
  const record = recordOf(job, { train: { columns: { fields: 3, statistics: all as never } } });
  expect(refusal(record)).toMatchObject({ code: 'StoreValueInvalid', message: expect.stringContaining(message) });
});
