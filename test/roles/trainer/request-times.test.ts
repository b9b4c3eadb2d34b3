/** How long pulls and pushes take, in the sense of the training that waits for them. */
import { expect, it } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import type { ParameterClient } from '../../../src/cluster/client/parameter-client.ts';
import { type RequestKind, timedClient } from '../../../src/roles/trainer/request-times.ts';
import { FakeClock } from '../../store/support.ts';

const never = new AbortController().signal;
const PULL = { trainer: 'one', pushes: 1, holding: undefined };
const PUSH = { pass: 0, task: 0, push: 0, last: true, good: 1 };
const GRADIENTS = { dense: [], sparse: [], ids: [] };

function timed(answers: Partial<ParameterClient>) {
  const clock = new FakeClock();
  const times: [RequestKind, number][] = [];
  const answered = (kind: RequestKind, tookMs: number): void => void times.push([kind, tookMs]);
  return { clock, times, client: timedClient(answers as ParameterClient, clock, { answered }) };
}

it('from the call to the answer, with what the call itself does', async () => {
  const answer = Promise.withResolvers<never>();
  const { clock, times, client } = timed({
    pullToTrain: () => {
      // Routes the ids.
      clock.jump(5);
      return answer.promise;
    },
    push: async () => ({ duplicate: false, recovery: 0, pulled: undefined }),
  });
  const pulling = client.pullToTrain([], PULL, never);
  clock.jump(20);
  await client.push(PUSH, GRADIENTS, never);
  answer.resolve('values' as never);
  expect(await pulling).toBe('values');
  expect(times).toEqual([
    ['push', 0],
    ['pull', 25],
  ]);
});

it('not of what fails', async () => {
  const stale = new PaddletError('TooStale', 'too stale');
  const { times, client } = timed({ push: () => Promise.reject(stale) });
  await expect(client.push(PUSH, GRADIENTS, never)).rejects.toBe(stale);
  expect(times).toEqual([]);
});
