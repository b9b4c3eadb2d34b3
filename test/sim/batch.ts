/** Many schedules one after the other, with one account of all that happened in them. */
import { COPIED_MIX, type FaultMix, kindsIn, usualMix } from './fault-kinds.ts';
import type { Mode } from './mode.ts';
import { runSchedule } from './schedule.ts';

export interface BatchReport {
  readonly schedules: number;
  readonly counts: ReadonlyMap<string, number>;
  readonly failures: readonly { readonly seed: number; readonly violations: readonly string[] }[];
}

/** What happens in every mode. */
const IN_EVERY_MODE: readonly string[] = [
  'takeover',
  'registration again',
  'suspension',
  'resumption',
  'checkpoint',
  'parting snapshot',
  'refused Suspended',
  'refused Draining',
  'refused NotReady',
  'store unavailable',
  'store unknownLanded',
  'store unknownLate',
  'store unknownLost',
];

/** Of units that move. */
const MOVES: readonly string[] = [
  'unit moved',
  'unit taken over',
  'move accepted',
  'offer refused',
  'move abandoned',
  'refused hand-over',
  'pserver left',
  'drained pserver',
  'part of a file given',
];

/** Everything that a batch must have seen at least once beside its faults, or it proves less than it seems to. */
export const MUST_HAPPEN: readonly string[] = [
  // Jobs in sync mode are over sooner.
  'units spread in time',
  'store compacted',
  'applied push',
  'duplicate push',
  'finished task',
  'requeued task',
  'speculated task',
  'several tasks dealt at once',
  'several tasks finished at once',
  'discarded task',
  'poisoned trainer',
  'recovery',
  'attempt refused',
  'refused AttemptNotLive',
  'refused PassBefore',
  'refused PushOutOfOrder',
  // Not `StalePlacement`: requests to an owner that is gone fail at once, so an old stamp hardly ever arrives; the
  // mutation test swaps addresses, which makes its check matter.
  'refused StaleRecovery',
];

/** The same of sync mode. */
export const MUST_HAPPEN_IN_SYNC: readonly string[] = [
  'taken lane',
  'duplicate lane',
  'late lane',
  'complete cut',
  'rollback',
  'rollback to a cut',
  'refused VersionPending',
  'refused StaleTimeline',
];

/** Where units have copies. */
const COPIES: readonly string[] = [
  'unit promoted',
  'copy joined',
  'copy taken out',
  'copies equal',
  'copy written down',
  'copy loaded that was written down',
];

/** The same of async mode only: a sum of a round that is dropped is placed again, and no trainer is told. */
const COPIES_IN_ASYNC: readonly string[] = ['refused ReplicaFailed'];

/** Where files have changes only. */
export const DELTAS: readonly string[] = ['delta', 'deltas loaded'];

/** Of jobs that are evaluated while they train. */
export const EVALUATED: readonly string[] = ['model kept', 'model scored', 'job ended early'];

export interface BatchOptions {
  readonly mode?: Mode;
  readonly seeds: Iterable<number>;
  readonly mix?: FaultMix;
  readonly isContinued?: boolean;
  readonly isCopied?: boolean;
  readonly isEvaluated?: boolean;
  readonly hasDeltas?: boolean;
  readonly onSchedule?: (seed: number, violations: readonly string[]) => void;
}

export async function runBatch({ seeds, onSchedule, ...kind }: BatchOptions): Promise<BatchReport> {
  const counts = new Map<string, number>();
  const failures: { seed: number; violations: readonly string[] }[] = [];
  let schedules = 0;
  for (const seed of seeds) {
    const report = await runSchedule({ seed, ...kind });
    schedules += 1;
    addCounts(counts, report.counts);
    if (report.violations.length > 0) failures.push({ seed, violations: report.violations });
    onSchedule?.(seed, report.violations);
  }
  return { schedules, counts, failures };
}

export function addCounts(into: Map<string, number>, more: Iterable<readonly [string, number]>): void {
  for (const [what, count] of more) into.set(what, (into.get(what) ?? 0) + count);
}

const ALWAYS: Readonly<Record<Mode, readonly string[]>> = {
  async: [...IN_EVERY_MODE, ...MUST_HAPPEN, ...MOVES],
  sync: [...IN_EVERY_MODE, ...MUST_HAPPEN_IN_SYNC, ...MOVES],
};

/**
 * What should have happened in a batch and did not. Of other mixes than the usual one only their own faults are
 * expected.
 */
export function missingIn(
  counts: ReadonlyMap<string, number>,
  mode: Mode = 'async',
  mix: FaultMix = usualMix(mode),
): string[] {
  const wanted = [
    ...kindsIn(mix).map((kind) => `fault: ${kind}`),
    ...(mix === usualMix(mode) ? ALWAYS[mode] : []),
    ...(mix === COPIED_MIX ? COPIES : []),
    ...(mix === COPIED_MIX && mode === 'async' ? COPIES_IN_ASYNC : []),
    ...(mix['corrupt checkpoint'] > 0 ? ['corrupt checkpoint refused'] : []),
    ...(mix['full disk'] > 0 ? ['checkpoint not written'] : []),
  ];
  return wanted.filter((what) => (counts.get(what) ?? 0) === 0);
}
