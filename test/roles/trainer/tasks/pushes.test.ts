/** Several pushes of a task are on their way at a time. */
import { expect, it } from 'vitest';
import { PaddletError } from '../../../../src/base/errors.ts';
import type { PushAcknowledged } from '../../../../src/cluster/client/parameter-client.ts';
import { Pushes } from '../../../../src/roles/trainer/tasks/pushes.ts';

const ACKNOWLEDGED: PushAcknowledged = { duplicate: false, recovery: 0, pulled: undefined };
const turn = (): Promise<void> => new Promise(setImmediate);

/** Whether the promise has settled by now, and how. */
async function stateOf(promise: Promise<void>): Promise<string> {
  let state = 'waits';
  promise.then(
    () => {
      state = 'done';
    },
    (error: unknown) => {
      state = (error as PaddletError).code;
    },
  );
  await turn();
  return state;
}

it('as many as may be, and then one when another is acknowledged', async () => {
  const pushes = new Pushes(2);
  const some = [0, 1].map(() => Promise.withResolvers<PushAcknowledged>());
  const acknowledged: number[] = [];
  some.forEach(({ promise }, at) => {
    pushes.send(promise, () => void acknowledged.push(at));
  });
  expect(await stateOf(pushes.room())).toBe('waits');
  some[0]!.resolve(ACKNOWLEDGED);
  expect(await stateOf(pushes.room())).toBe('done');
  expect(await stateOf(pushes.settled())).toBe('waits');
  some[1]!.resolve(ACKNOWLEDGED);
  expect(await stateOf(pushes.settled())).toBe('done');
  expect(acknowledged).toEqual([0, 1]);
});

it('the first failure counts, when none is on its way any more: a repeat does not meet stragglers', async () => {
  const pushes = new Pushes(3);
  const some = [0, 1, 2].map(() => Promise.withResolvers<PushAcknowledged>());
  for (const { promise } of some) pushes.send(promise, () => {});
  some[0]!.reject(new PaddletError('TooStale', 'too stale'));
  some[1]!.reject(new PaddletError('PushOutOfOrder', 'another is wanted'));
  const room = pushes.room();
  expect(await stateOf(room)).toBe('waits');
  some[2]!.reject(new PaddletError('PushOutOfOrder', 'another is wanted'));
  expect(await stateOf(room)).toBe('TooStale');
  expect(await stateOf(pushes.settled())).toBe('TooStale');
});
