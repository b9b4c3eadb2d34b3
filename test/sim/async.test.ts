import { expect, test } from 'vitest';
import { runKinds } from './kinds.ts';
import { runSchedule } from './schedule.ts';

test('async jobs under faults, simulated: every record counts once, whatever happens', async () => {
  expect(await runKinds('async')).toEqual({ violations: [], missing: [] });
});

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
