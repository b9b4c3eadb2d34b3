import { expect, test } from 'vitest';
import { runKinds } from './kinds.ts';
import { runSchedule } from './schedule.ts';

/** From here on everything happens in them: what is rare does not happen in every hundred. */
const FIRST_SEED = 0;

test('async jobs under faults, simulated: every record counts once, whatever happens', async () => {
  expect(await runKinds('async', FIRST_SEED)).toEqual({ violations: [], missing: [] });
}, 600_000);

test('a seed gives the same story each time', async () => {
  const story = async (): Promise<string[]> => {
    const lines: string[] = [];
    await runSchedule({ seed: 11, story: (line) => lines.push(line) });
    return lines;
  };
  const first = await story();
  expect(first.length).toBeGreaterThan(20);
  expect(await story()).toEqual(first);
});
