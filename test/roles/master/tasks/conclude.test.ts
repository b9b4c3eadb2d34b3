/** The end of a job in async mode. */
import { expect, it } from 'vitest';
import { noSums } from '../../../../src/core/tasks/state.ts';
import { type ConcludeTasksOptions, conclude } from '../../../../src/roles/master/tasks/conclude.ts';
import { groupThat } from '../fake-group.ts';

it('a job that lacks records has no result', async () => {
  const saved = { uuid: 'u', md5: 'm', bytes: 1 };
  const group = groupThat((_, type) => (type === 'checkpoint' ? { saved } : { applied: 299, discarded: 0 }));
  const options = {
    ...{ group, recovery: 0, passes: 3, stopSignal: new AbortController().signal, replayed: { read: 0, duplicate: 0 } },
    record: { train: { tasks: 10, records: 100 }, job: { training: { passes: 3 }, cluster: { shards: 2 } } },
    model: { parameters: { dense: [], sparse: [] } },
    service: { queue: { totals: () => ({ ended: [{ sums: noSums(), done: 30, discarded: 0 }] }) } },
  } as unknown as ConcludeTasksOptions;
  const message = expect.stringContaining('299 applied, 0 bad and 0 discarded records are not the 300 of the job');
  await expect(conclude(options)).rejects.toMatchObject({ code: 'WrongCounts', message });
});
