/** What the master keeps of trainers: nothing under a name that is not registered. */
import { expect, it } from 'vitest';
import { trainerEntryText } from '../../../src/cluster/trainer-entry.ts';
import { followTrainers, type TrainerHandlers } from '../../../src/roles/master/trainers.ts';
import { aStore, Master, settled } from './tasks/service-rig.ts';

const REPORT = { phase: 'idle', records: 1 } as const;

it('keeps reports of registered trainers only', async () => {
  const { clock, data } = aStore();
  const { context } = new Master(clock, data);
  const joined: string[] = [];
  const handlers: TrainerHandlers = {
    onRoster: () => {},
    onJoined: (trainer) => void joined.push(trainer),
    onGone: () => {},
    onFatal: (error) => {
      throw error;
    },
  };
  const trainers = followTrainers(context, { id: 'job' }, handlers);
  await settled();
  const value = trainerEntryText({ address: '127.0.0.1:1', job: 'job' });
  await context.store.txn({ if: [], then: [{ put: context.keys.trainer('a'), value }] });
  await settled();
  expect(joined).toEqual(['a']);
  for (const name of ['a', 'b', 'c']) trainers.heard(name, REPORT);
  expect([...trainers.reports.keys()]).toEqual(['a']);
  trainers.cancel();
});
