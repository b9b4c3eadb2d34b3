import { describe, expect, test } from 'vitest';
import { DEFAULT_MIX, type FaultMix } from './faults.ts';
import { type Mutation, withoutAttempts, withoutLedger, withoutPlacement, withoutRecovery } from './mutations.ts';
import { runSchedule } from './schedule.ts';

/** The first schedule that notices, with what it says; the same schedule is sound with the check on. */
async function noticed(mutation: Mutation, mix: FaultMix, seeds: number): Promise<string> {
  for (let seed = 0; seed < seeds; seed++) {
    const { violations } = await runSchedule({ seed, mix, wrapHandler: mutation });
    if (violations.length === 0) continue;
    expect((await runSchedule({ seed, mix })).violations, `seed ${seed} with the check on`).toEqual([]);
    return violations[0]!;
  }
  return 'not noticed';
}

describe('the simulation notices when a check is switched off', () => {
  test('the ledger', async () => {
    expect(await noticed(withoutLedger, DEFAULT_MIX, 50)).toMatch(/^applied is|^modelDigest|^\w+ is/);
  });

  test('the attempt', async () => {
    expect(await noticed(withoutAttempts, DEFAULT_MIX, 100)).toMatch(/accepted the end of attempt .* not live$/);
  });

  test('the recovery number', async () => {
    const mix = { ...DEFAULT_MIX, 'kill pserver': 30 };
    expect(await noticed(withoutRecovery, mix, 300)).toMatch(/is .*, not /);
  });

  test('the placement', async () => {
    const mix = { ...DEFAULT_MIX, 'terminate pserver': 30, 'kill pserver': 10, 'store cut off': 10 };
    expect(await noticed(withoutPlacement, mix, 300)).toMatch(/is .*, not |bug/);
  });
});
