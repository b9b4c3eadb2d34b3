/** Commands that ask the pservers of a job that ends at that moment, on a store made by hand. */
import { expect, test } from 'vitest';
import { runCommand } from './run-command.ts';
import { claimByPservers, endJob, keys, storedJob } from './saved-job.ts';

/** `waits` resolves when it waits for pservers to take their shards. */
function start(folder: string, url: string, ...words: string[]) {
  const waits = Promise.withResolvers<void>();
  const onErr = (err: string): void => {
    if (err.includes('waiting for pservers')) waits.resolve();
  };
  const ended = runCommand([...words, '--store', url, '--dir', folder, '--json'], { cwd: folder, onErr });
  return { ended, waits: Promise.race([waits.promise, ended]) };
}

test('evaluate: the checkpoints of a job that ended are scored', async () => {
  const job = await storedJob();
  await claimByPservers(job);
  const { ended, waits } = start(job.folder, job.url, 'evaluate');
  await waits;
  await endJob(job);
  const { code, out, err } = await ended;
  expect(err).toContain('the job ended in the meantime');
  expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ model: 'checkpoints', records: 3 })]);
});

test('predict: the same, and each record has one score', async () => {
  const job = await storedJob();
  await claimByPservers(job);
  const { ended, waits } = start(job.folder, job.url, 'predict', '--data', 'test.libsvm', '--output', 'scores.csv');
  await waits;
  await endJob(job);
  const { code, out, err } = await ended;
  expect(err).toContain('the job ended in the meantime');
  expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ model: 'checkpoints', records: 3 })]);
});

test.each([
  [['evaluate'], 7, 'CheckpointMissing'],
  [['predict', '--data', 'test.libsvm', '--output', 'scores.csv'], 7, 'CheckpointMissing'],
  [['checkpoint', 'save'], 2, 'JobUnknown'],
])('%j of a job that ended without checkpoints: says so', async (words, code, error) => {
  const job = await storedJob();
  await claimByPservers(job);
  const { ended, waits } = start(job.folder, job.url, ...words);
  await waits;
  await job.store.txn({ if: [], then: [{ put: keys.result, value: '{}' }, { deletePrefix: keys.psPrefix }] });
  const ran = await ended;
  expect([ran.code, JSON.parse(ran.out)]).toEqual([code, { error: expect.objectContaining({ code: error }) }]);
});
