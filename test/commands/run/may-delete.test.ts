/** Whether `run --fresh` may delete a job, and what it reads of it. */
import { describe, expect, test } from 'vitest';
import { readJobBefore } from '../../../src/commands/run/job-before.ts';
import { checkMayDelete } from '../../../src/commands/run/may-delete.ts';
import { keysOf } from '../../../src/store/keys.ts';
import { MemoryStore, MemoryStoreData } from '../../../src/store/memory-store.ts';
import { FakeClock } from '../../store/support.ts';

const SAVED = { pass: 3, savedAt: 1_700_000_000 };
const TEXT = 'job small is not finished (3 passes done, newest checkpoint of 2023-11-14T22:13:20.000Z)';

describe('an unfinished job', () => {
  test('is refused in a script, with the stronger word', async () => {
    await expect(
      checkMayDelete({ job: 'small', progress: SAVED, isAgreed: false, ask: undefined }),
    ).rejects.toMatchObject({
      code: 'JobConflict',
      message: `${TEXT}; nothing was deleted`,
      hint: expect.stringContaining('--fresh --yes'),
    });
    await checkMayDelete({ job: 'small', progress: SAVED, isAgreed: true, ask: undefined });
  });

  test('is asked for on a terminal', async () => {
    const asked: string[] = [];
    const check = (answer: boolean): Promise<void> =>
      checkMayDelete({
        ...{ job: 'small', progress: SAVED, isAgreed: false },
        ask: async (question) => {
          asked.push(question);
          return answer;
        },
      });
    await check(true);
    await expect(check(false)).rejects.toMatchObject({ code: 'JobConflict' });
    expect(asked).toEqual(Array(2).fill(`${TEXT}. Delete it and start over?`));
  });
});

test('a job without progress is deleted without a word', () =>
  checkMayDelete({ job: 'small', progress: undefined, isAgreed: false, ask: undefined }));

describe('progress', () => {
  const keys = keysOf('/paddlet/small');
  const file = { uuid: '00000000-0000-4000-8000-000000000001', md5: '0'.repeat(32), timestamp: 1_700_000_000 };

  test.each([
    ['no job', {}, undefined],
    ['a job that has just begun', { [keys.job]: '{}', [keys.tasksState]: '{"phase":"train","pass":0}' }, undefined],
    ['passes', { [keys.job]: '{}', [keys.tasksState]: '{"pass":2}' }, { pass: 2, savedAt: undefined }],
    [
      'a checkpoint, in sync mode and in a job of another version',
      { [keys.job]: '?', [keys.checkpoint(0)]: JSON.stringify(file) },
      { pass: 0, savedAt: 1_700_000_000 },
    ],
    ['an end', { [keys.job]: '{}', [keys.result]: '?', [keys.checkpoint(0)]: JSON.stringify(file) }, undefined],
  ])('of %s', async (_what, entries, progress) => {
    const data = new MemoryStoreData({ clock: new FakeClock() });
    for (const [key, value] of Object.entries(entries)) data.txn({ if: [], then: [{ put: key, value }] });
    expect((await readJobBefore(new MemoryStore(data), keys)).progress).toEqual(progress);
  });
});
