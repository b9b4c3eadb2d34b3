/** `paddlet evaluate --top-k` of jobs whose records have no groups to rank. */
import { expect, it } from 'vitest';
import { parseJobFile } from '../../../src/job/load-job.ts';
import { recordOf } from '../../cluster/job/stored-job.ts';
import { put } from '../../store/support.ts';
import { runCommand } from '../run-command.ts';
import { keys, storedJob } from '../saved-job.ts';

async function refusal(task: string, groups: string): Promise<unknown> {
  const { cwd, folder, store } = await storedJob();
  const columns = '{ user: category, label: label }';
  const text = `name: small
data: { train: t.csv, test: t.csv, format: csv, columns: ${columns}${groups} }
model: { type: lr, task: ${task} }
`;
  const record = recordOf(parseJobFile('job.yaml', text), { dataDir: cwd });
  await put(store, keys.job, JSON.stringify(record));
  const args = ['evaluate', '--dir', folder, '--top-k', '5', '--json', '--timeout', '1ms'];
  const { out } = await runCommand(args, { cwd });
  return (JSON.parse(out) as { error: unknown }).error;
}

it('is refused, but with groups', async () => {
  expect(await refusal('binary', '')).toMatchObject({
    code: 'Usage',
    message: '--top-k ranks records within groups, but the records of the job do not have groups',
  });
  expect(await refusal('regression', '')).toMatchObject({
    code: 'Usage',
    message: '--top-k needs a binary model, but the job has task regression',
  });
  // Its model is missing, of which it is told only then.
  expect(await refusal('binary', ', groupBy: user')).toMatchObject({ code: 'CheckpointMissing' });
});
