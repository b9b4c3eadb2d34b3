/** Closures of discarded tasks, beside the file that was loaded and the last one that is written. */

import { expect, it } from 'vitest';
import { Held } from '../../../../../src/roles/pserver/held/held.ts';
import { closeTasks } from '../../../../../src/roles/pserver/modes/tasks/close-tasks.ts';
import { TaskTurns } from '../../../../../src/roles/pserver/replicas/task-turns.ts';
import type { Update } from '../../../../../src/roles/pserver/update/update.ts';
import { createIdRouter } from '../../../../../src/tensor/id-router.ts';

const TASK = { pass: 0, task: 1, records: 5 };

function serving() {
  const held = new Held({ spec: { dense: [], sparse: [] }, shards: 2, tasks: 3 }, { parameters: undefined as never });
  held.hold([0, 1], { ledgers: new Map(), seqs: new Map() });
  const opening = Promise.withResolvers<void>();
  const state = { frozen: false, held: true, opened: 0 };
  const of = {
    shards: {
      committed: held.ledgers,
      apply: (update: Update) => held.apply(update),
    },
    job: { plan: { recordsOf: () => TASK.records } },
    isFrozen: () => state.frozen,
    isHeld: () => state.held,
    beforeUpdate: () => {
      if (state.opened > 0) return undefined;
      state.opened += 1;
      return opening.promise;
    },
  };
  return { of, state, opened: opening.resolve };
}

it('closes only after it is noted that the file loaded is no longer the last state', async () => {
  const { of, state, opened } = serving();
  const answer = closeTasks(of, [TASK]);
  expect(of.shards.committed.position(0, 1)).toBe(0);
  opened();
  expect(await answer).toEqual({ header: { type: 'closeTasks' } });
  expect(of.shards.committed.position(0, 1)).toBe(-1);
  closeTasks(of, [TASK]);
  expect(state.opened).toBe(1);
});

it('closes nothing once the last checkpoint is being taken, and answers for what is closed', async () => {
  const { of, state, opened } = serving();
  opened();
  await closeTasks(of, [TASK]);
  state.frozen = true;
  expect(closeTasks(of, [TASK])).toEqual({ header: { type: 'closeTasks' } });
  const more = async () => closeTasks(of, [TASK, { ...TASK, task: 2 }]);
  await expect(more()).rejects.toMatchObject({ code: 'Draining' });
  expect(of.shards.committed.position(0, 2)).toBe(0);
});

it('closes nothing when the lease ran out while that was being noted', async () => {
  const { of, state, opened } = serving();
  const answer = closeTasks(of, [TASK]);
  state.held = false;
  opened();
  await expect(answer).rejects.toMatchObject({ code: 'Suspended' });
  expect(of.shards.committed.position(0, 1)).toBe(0);
});

it('closes nothing of a task that has another number of records than the plan', async () => {
  const { of, opened } = serving();
  opened();
  expect(() => closeTasks(of, [{ ...TASK, records: 6 }])).toThrow(expect.objectContaining({ code: 'WrongCounts' }));
  expect(of.shards.committed.position(0, 1)).toBe(0);
});

it('is placed in all units that have copies, and closes nothing before they have it', async () => {
  const { of, opened } = serving();
  opened();
  const placed = Promise.withResolvers<'committed'>();
  const updates: unknown[] = [];
  const placing = {
    turns: new TaskTurns(),
    place: ({ payload, make }: { payload: { units: readonly number[] }; make: () => unknown }) => {
      updates.push([payload.units, make()]);
      return placed.promise;
    },
  };
  const parts = { spec: { dense: [], sparse: [] }, shards: 2, units: 2, router: createIdRouter({ shards: 2 }) };
  const owned = { stamp: {}, heads: { units: () => [0, 1], areResting: false } };
  const replicas = { wait: () => undefined, job: parts, owned, placing } as never;
  const answer = closeTasks({ ...of, replicas }, [TASK]);
  await new Promise(setImmediate);
  expect(updates).toEqual([[[0, 1], { type: 'close', tasks: [TASK] }]]);
  expect(of.shards.committed.position(0, 1)).toBe(0);
  placed.resolve('committed');
  expect(await answer).toEqual({ header: { type: 'closeTasks' } });
});
