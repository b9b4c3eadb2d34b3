/** A few schedules of every kind, for each commit; thousands more are run by `node scripts/sim.ts`. */
import { addCounts, type BatchOptions, DELTAS, EVALUATED, missingIn, runBatch } from './batch.ts';
import { CHOSEN_SEEDS, RARE } from './chosen-seeds.ts';
import { copiedMix, usualDiskMix, usualMix } from './fault-kinds.ts';
import type { Mode } from './mode.ts';

/**
 * `copies`: two or three of each unit. `continued`: a finished job gets more passes. `evaluated`: while it trains, and
 * it may end early.
 */
export const KINDS = [
  'usual',
  'disks',
  'copies',
  'copies and disks',
  'continued',
  'continued with copies',
  'evaluated',
  'evaluated with copies',
  'deltas',
  'deltas and copies',
] as const;
export type Kind = (typeof KINDS)[number];

/** What schedules of a kind are made of. */
export function optionsOf(kind: Kind, mode: Mode): Omit<BatchOptions, 'seeds'> {
  switch (kind) {
    case 'usual':
      return { mode, mix: usualMix(mode) };
    case 'disks':
      return { mode, mix: usualDiskMix(mode) };
    case 'copies':
      return { mode, mix: copiedMix(false), isCopied: true };
    case 'copies and disks':
      return { mode, mix: copiedMix(true), isCopied: true };
    case 'continued':
      return { mode, mix: usualMix(mode), isContinued: true };
    case 'continued with copies':
      return { mode, mix: copiedMix(false), isContinued: true, isCopied: true };
    case 'evaluated':
      return { mode, mix: usualMix(mode), isEvaluated: true };
    case 'evaluated with copies':
      return { mode, mix: copiedMix(false), isEvaluated: true, isCopied: true };
    case 'deltas':
      return { mode, mix: usualDiskMix(mode), hasDeltas: true };
    case 'deltas and copies':
      return { mode, mix: copiedMix(true), hasDeltas: true, isCopied: true };
  }
}

/** What may happen anywhere between two evaluations. */
const BETWEEN: Readonly<Record<Mode, readonly string[]>> = {
  async: ['takeover', 'recovery'],
  sync: ['takeover', 'rollback'],
};
const whileEvaluated = (what: string): string => `${what} of an evaluated job`;

/** What happened in schedules of a kind; some of it means more in those of evaluated jobs. */
export function shownBy(kind: Kind, mode: Mode, counts: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  if (optionsOf(kind, mode).isEvaluated !== true) return counts;
  const between = BETWEEN[mode].filter((what) => counts.has(what));
  return new Map([...counts, ...between.map((what) => [whileEvaluated(what), counts.get(what)!] as const)]);
}

/** Everything that happens in schedules of any of the kinds, and is not among these. */
export function missingInAll(counts: ReadonlyMap<string, number>, mode: Mode): string[] {
  const mixes = [usualMix(mode), usualDiskMix(mode), copiedMix(false)];
  const others = [...EVALUATED, ...BETWEEN[mode].map(whileEvaluated), ...DELTAS].filter((what) => !counts.has(what));
  return [...new Set([...mixes.flatMap((mix) => missingIn(counts, mode, mix)), ...others])];
}

export interface KindsReport {
  /** What was violated, with the kind and the seed of its schedule. */
  readonly violations: readonly string[];
  /** Of what is not rare. */
  readonly missing: readonly string[];
}

/** The chosen schedules of all kinds. */
export async function runKinds(mode: Mode): Promise<KindsReport> {
  const violations: string[] = [];
  const counts = new Map<string, number>();
  for (const kind of KINDS) {
    const report = await runBatch({ ...optionsOf(kind, mode), seeds: CHOSEN_SEEDS[mode][kind] });
    addCounts(counts, shownBy(kind, mode, report.counts));
    for (const { seed, violations: of } of report.failures) violations.push(`${kind}, seed ${seed}: ${of.join('; ')}`);
  }
  return { violations, missing: missingInAll(counts, mode).filter((what) => !RARE[mode].includes(what)) };
}
