/** Pulls of `evaluate` from pservers that go silent. */
import { expect, test } from 'vitest';
import { limitedPulls, type Pulls } from '../../../src/commands/evaluate/limited-pulls.ts';
import { FakeClock } from '../../store/support.ts';

const IDS = { tables: [] } as unknown as Parameters<Pulls['pull']>[0];
const VALUES = { dense: [], sparse: [] } as unknown as Awaited<ReturnType<Pulls['pull']>>;
const LIMIT_MS = 60_000;

test('a pull that is not answered ends the command, and is given up', async () => {
  const clock = new FakeClock();
  let given: AbortSignal | undefined;
  const silent: Pulls = {
    pull: (_ids, signal) => {
      given = signal;
      return new Promise(() => {});
    },
  };
  const failed = limitedPulls(silent, clock, LIMIT_MS)
    .pull(IDS, new AbortController().signal)
    .catch((error: unknown) => error);
  await clock.advance(LIMIT_MS - 1);
  expect(given?.aborted).toBe(false);
  await clock.advance(1);
  expect(await failed).toMatchObject({
    code: 'RequestTimeout',
    message: 'the pservers did not answer within 60 s',
  });
  expect(given?.aborted).toBe(true);
});

test('each pull has the whole time; one that was answered is not ended later', async () => {
  const clock = new FakeClock();
  const signals: AbortSignal[] = [];
  const slow: Pulls = {
    pull: (_ids, signal) => {
      signals.push(signal);
      return new Promise((resolve) => void clock.after(LIMIT_MS - 1, () => resolve(VALUES)));
    },
  };
  const pulls = limitedPulls(slow, clock, LIMIT_MS);
  for (let i = 0; i < 3; i++) {
    const answer = pulls.pull(IDS, new AbortController().signal);
    await clock.advance(LIMIT_MS - 1);
    expect(await answer).toBe(VALUES);
  }
  await clock.advance(10 * LIMIT_MS);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false]);
});
