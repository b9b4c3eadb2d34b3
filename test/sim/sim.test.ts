import { describe, expect, test } from 'vitest';
import { missingIn, runBatch } from './batch.ts';
import { usualDiskMix } from './fault-kinds.ts';
import { runSchedule } from './schedule.ts';

/** Enough that everything happens in them; thousands more are run by `node scripts/sim.ts`. */
const SCHEDULES = 100;
/** Of those schedules. What is rare does not happen in every hundred. */
const FIRST_SEED = 200;
const DISK_SCHEDULES = 50;
const SYNC_SCHEDULES = 100;
/** Of each mode. */
const CONTINUED_SCHEDULES = 8;
/** Also on a machine with much other work. */
const TIMEOUT_MS = 600_000;

describe('whole jobs under faults, simulated', () => {
  test(
    'every record counts once, whatever happens',
    async () => {
      const seeds = Array.from({ length: SCHEDULES }, (_, at) => FIRST_SEED + at);
      const { failures, counts } = await runBatch({ seeds });
      expect(failures).toEqual([]);
      expect(missingIn(counts)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    'the same with disks that fill up and checkpoints that rot',
    async () => {
      const seeds = Array.from({ length: DISK_SCHEDULES }, (_, seed) => seed);
      const { failures, counts } = await runBatch({ seeds, mix: usualDiskMix('async') });
      expect(failures).toEqual([]);
      expect(missingIn(counts, 'async', usualDiskMix('async'))).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    'in sync mode all of them end with the digest of a plain loop',
    async () => {
      const seeds = Array.from({ length: SYNC_SCHEDULES }, (_, at) => FIRST_SEED + at);
      const { failures, counts } = await runBatch({ seeds, mode: 'sync' });
      expect(failures).toEqual([]);
      expect(missingIn(counts, 'sync')).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    'the same in sync mode with disks that fail',
    async () => {
      const seeds = Array.from({ length: DISK_SCHEDULES }, (_, seed) => seed);
      const { failures, counts } = await runBatch({ seeds, mode: 'sync', mix: usualDiskMix('sync') });
      expect(failures).toEqual([]);
      expect(missingIn(counts, 'sync', usualDiskMix('sync'))).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test.each(['async', 'sync'] as const)(
    'a finished %s job that gets more passes ends as one that had them from the start',
    async (mode) => {
      const seeds = Array.from({ length: CONTINUED_SCHEDULES }, (_, seed) => seed);
      const { failures, counts } = await runBatch({ seeds, mode, isContinued: true });
      expect(failures).toEqual([]);
      expect(counts.get('continued job')).toBe(CONTINUED_SCHEDULES);
    },
    TIMEOUT_MS,
  );

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
});
