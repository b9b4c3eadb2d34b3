/** Requests that wait at the same time are one line of the log. */
import { expect, it } from 'vitest';
import { SharedWaiting } from '../../../src/cluster/client/shared-waiting.ts';
import { FakeClock, SILENT } from '../../store/support.ts';

it('says what the first one waits for, periodically, until none waits', async () => {
  const clock = new FakeClock();
  const said: string[] = [];
  const waiting = new SharedWaiting({ clock, log: { ...SILENT, info: (text: string) => void said.push(text) } });
  const endFirst = waiting.begin(() => 'a');
  const endSecond = waiting.begin(() => 'b');
  await clock.advance(1_000);
  expect(said).toEqual(['waiting for a']);
  endFirst();
  await clock.advance(10_000);
  expect(said).toEqual(['waiting for a', 'waiting for b']);
  endSecond();
  await clock.advance(60_000);
  expect(said).toHaveLength(2);
  waiting.begin(() => 'c');
  await clock.advance(1_000);
  expect(said.at(-1)).toBe('waiting for c');
});
