import { describe, expect, test } from 'vitest';
import { DEFAULT_MIX, FAULT_KINDS, type FaultKind, type FaultMix } from './faults.ts';
import {
  type Mutation,
  withoutAttempts,
  withoutLedger,
  withoutPlacement,
  withoutRecovery,
  withoutRounds,
  withoutVersions,
} from './mutations.ts';
import { type Mode, runSchedule } from './schedule.ts';

/** Only these faults, weighted so. */
const only = (weights: Partial<Record<FaultKind, number>>): FaultMix =>
  Object.fromEntries(FAULT_KINDS.map((kind) => [kind, weights[kind] ?? 0])) as Record<FaultKind, number>;

interface Range {
  readonly from: number;
  readonly to: number;
}

/** What the first schedule says that notices; the same schedule is sound with the check on. */
async function noticed(mutation: Mutation, mix: FaultMix, { from, to }: Range, mode: Mode = 'async'): Promise<string> {
  for (let seed = from; seed < to; seed++) {
    const { violations } = await runSchedule({ seed, mode, mix, wrapHandler: mutation });
    if (violations.length === 0) continue;
    expect((await runSchedule({ seed, mode, mix })).violations, `seed ${seed} with the check on`).toEqual([]);
    return violations[0]!;
  }
  return 'not noticed';
}

/** On a loaded machine. */
const TIMEOUT_MS = 600_000;

describe('the simulation notices when a check is switched off', { timeout: TIMEOUT_MS }, () => {
  test('the ledger', async () => {
    expect(await noticed(withoutLedger, DEFAULT_MIX, { from: 0, to: 100 })).toMatch(/ is .*, not /);
  });

  test('the attempt', async () => {
    const found = await noticed(withoutAttempts, DEFAULT_MIX, { from: 0, to: 100 });
    expect(found).toMatch(/accepted the end of attempt .* not live$/);
  });

  // The trainer that finishes must be late by a pserver's restart, and by the repair that follows it.
  test('the recovery number', async () => {
    const mix = only({ 'kill pserver': 8, 'kill master': 4, 'stop trainer': 4, partition: 2, 'terminate master': 1 });
    expect(await noticed(withoutRecovery, mix, { from: 150, to: 400 })).toMatch(/ is .*, not |does not end/);
  });

  test('the round of a lane', async () => {
    expect(await noticed(withoutRounds, DEFAULT_MIX, { from: 0, to: 100 }, 'sync')).toMatch(
      / is .*, not |the job failed/,
    );
  });

  test('the version of a pull', async () => {
    expect(await noticed(withoutVersions, DEFAULT_MIX, { from: 0, to: 100 }, 'sync')).toMatch(
      / is .*, not |the job failed/,
    );
  });

  // What tells is a push without rows of either: the wrong pserver's ledger takes it for the one that it still lacks.
  test('the placement', async () => {
    const mix = only({ 'swapped addresses': 1 });
    expect(await noticed(withoutPlacement, mix, { from: 0, to: 500 })).toMatch(/ is .*, not /);
  });
});
