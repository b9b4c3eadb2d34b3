/** `paddlet status` of a job that is done, whose class weights have raised the test loss. */
import { expect, test } from 'vitest';
import { put } from '../../store/support.ts';
import { runCommand } from '../run-command.ts';
import { keys, storedJob } from '../saved-job.ts';

test('the warning about a high test loss names class weights first', async () => {
  const { cwd, store, record } = await storedJob('small');
  const { job } = record;
  const training = { ...job.training, classWeights: { 1: 50 } };
  await put(store, keys.job, JSON.stringify({ ...record, job: { ...job, training } }));
  const result = {
    ...{ job: 'small', mode: 'async', passes: 1, tasks: { total: 1, done: 1, discarded: 0 } },
    records: { read: 3, applied: 3, duplicate: 0, bad: 0, discarded: 0, lost: 0 },
    metrics: { test: { records: 3, logloss: 1.5, auc: 0.9, accuracy: 0.4, rmse: 0.7 } },
    ...{ modelDigest: 'm', stateDigest: 's', recordsPerSecond: 3, elapsedSeconds: 1, checkpoints: [] },
  };
  await put(store, keys.result, JSON.stringify(result));
  const { code, out } = await runCommand(['status', 'small'], { cwd });
  expect(code).toBe(0);
  expect(out).toMatch(/^warning .*½ for every record: training\.classWeights raises the logloss of test records/m);
});
