/** A few schedules of every kind, for each commit; thousands more are run by `node scripts/sim.ts`. */
import { addCounts, type BatchOptions, missingIn, runBatch } from './batch.ts';
import { copiedMix, usualDiskMix, usualMix } from './fault-kinds.ts';
import type { Mode } from './mode.ts';

interface Kind extends Pick<BatchOptions, 'mix' | 'isContinued' | 'isCopied'> {
  readonly what: string;
  readonly schedules: number;
  /** More seeds: something happens in their schedules that does not in every hundred. */
  readonly rare?: readonly number[];
}

export interface KindsReport {
  /** What was violated, and the seed and kind of its schedule. */
  readonly violations: readonly string[];
  /** Everything that happens in such jobs, and did not happen in any of them. */
  readonly missing: readonly string[];
}

/** Units spread in time; a move abandoned; checkpoints that rot. */
const RARE: Readonly<Record<Mode, { readonly usual: readonly number[]; readonly disks: readonly number[] }>> = {
  async: { usual: [42, 88], disks: [] },
  sync: { usual: [], disks: [27, 29] },
};

/** Of each kind so many schedules, with the seeds from 0. */
export async function runKinds(mode: Mode): Promise<KindsReport> {
  const rare = RARE[mode];
  const mixes = [usualMix(mode), usualDiskMix(mode), copiedMix(false)] as const;
  const [usual, disks, copied] = mixes;
  const kinds: readonly Kind[] = [
    { what: 'one copy of each unit', schedules: 20, mix: usual, rare: rare.usual },
    { what: 'one copy, and disks that fail', schedules: 18, mix: disks, rare: rare.disks },
    { what: 'two or three copies', schedules: 20, mix: copied, isCopied: true },
    { what: 'two or three copies, and disks that fail', schedules: 10, mix: copiedMix(true), isCopied: true },
    { what: 'a finished job gets more passes', schedules: 3, mix: usual, isContinued: true },
    { what: 'the same with copies', schedules: 2, mix: copied, isContinued: true, isCopied: true },
  ];
  const violations: string[] = [];
  const counts = new Map<string, number>();
  for (const { what, schedules, rare = [], ...kind } of kinds) {
    const seeds = [...Array(schedules).keys(), ...rare];
    const report = await runBatch({ seeds, mode, ...kind });
    addCounts(counts, report.counts);
    for (const { seed, violations: of } of report.failures) violations.push(`${what}, seed ${seed}: ${of.join('; ')}`);
  }
  return { violations, missing: [...new Set(mixes.flatMap((mix) => missingIn(counts, mode, mix)))] };
}
