/**
 * The ledgers of all shards of one pserver, which may come and go. Usually they are equal and kept as one. A checkpoint
 * is taken shard by shard, so after a load they differ: a push is applied to some shards and dropped as a duplicate by
 * others, until the repair has made them equal again (docs/modes.md: one position per pserver plus exceptions per
 * shard).
 */
import { assert } from '../../base/assert.ts';
import { CLOSED, type LedgerAccount, type PushPosition } from './ledger.ts';
import { type LedgerGroup, LedgerGroups } from './ledger-groups.ts';
import type { AppliedPushes } from './push-plan.ts';

export type ShardJudgement =
  /** `shards` are those that lack the push; undefined means all that were meant. The others have applied it already. */
  | { readonly outcome: 'apply'; readonly shards: readonly number[] | undefined }
  | { readonly outcome: 'duplicate' }
  | { readonly outcome: 'early'; readonly want: number };

export interface ShardLedgers {
  /** `only`: what these shards say, whatever the others would. */
  judge(push: PushPosition, only?: readonly number[]): ShardJudgement;
  /**
   * Records a push that `judge` answered with `apply`. `only`: in these shards alone, as when the others have yet to
   * complete its round.
   */
  advance(push: PushPosition, only?: readonly number[]): void;
  /** Returns the shards in which the task was open. `only`: it is closed in these shards alone. */
  close(pass: number, task: number, records: number, only?: readonly number[]): readonly number[];
  /** Shards in which the task is open. */
  openIn(pass: number, task: number): readonly number[];
  /** The lowest push wanted by any shard; CLOSED when every shard has closed the task. */
  position(pass: number, task: number): number;
  /**
   * For each ledger in which the task is open (some may be equal): the next push that is wanted, and the good records
   * below it. `only`: the ledgers of these shards.
   */
  applied(pass: number, task: number, only?: readonly number[]): AppliedPushes[];
  /** The account of the shard that applied least. */
  account(): LedgerAccount;
  /** Whether all shards count the same records, once all tasks are closed: applied or discarded. */
  isAgreed(): boolean;
  /** Passes that are complete in every shard. */
  watermark(): number;
  /** Passes that are complete in this shard. */
  watermarkOf(shard: number): number;
  /** As `Ledger.passesDone`, of the shard that has done least. */
  passesDone(recordsOfPass: number): number;
  /** For each distinct ledger the closed tasks of a pass; ledgers in which the pass is complete are left out. */
  closedTasks(pass: number): string[];
  /** Ledgers that are kept as one give the same array until one of them changes. */
  encode(shard: number): Uint8Array;
  /** Shards come, each with its encoded ledger; one without starts empty. Throws `CheckpointCorrupt`. */
  add(shards: readonly number[], saved: ReadonlyMap<number, Uint8Array>): void;
  remove(shards: readonly number[]): void;
  /** Distinct ledgers: 1 unless a repair is in progress, or some shards do not know yet what the others were. */
  groups(): number;
}

/**
 * What requests are answered from: positions that are committed. With one copy of each unit, what is applied is
 * committed; with more, what every copy in sync has.
 */
export type CommittedLedgers = Pick<
  ShardLedgers,
  'position' | 'applied' | 'account' | 'isAgreed' | 'watermark' | 'closedTasks'
>;

const APPLY_TO_ALL: ShardJudgement = { outcome: 'apply', shards: undefined };

/** As usual, where one ledger is that of all shards. */
function judgeAlone({ ledger }: LedgerGroup, push: PushPosition): ShardJudgement {
  const verdict = ledger.judge(push);
  return verdict.outcome === 'apply' ? APPLY_TO_ALL : verdict;
}

/** `saved` has the encoded ledger of each loaded shard; shards without one start empty. Throws `CheckpointCorrupt`. */
export function createShardLedgers(
  tasks: number,
  shards: readonly number[],
  saved: ReadonlyMap<number, Uint8Array>,
): ShardLedgers {
  const groups = new LedgerGroups(tasks, shards, saved);
  const groupOf = (shard: number): LedgerGroup => {
    const group = groups.of(shard);
    assert(group !== undefined, `shard ${shard} is one of these`);
    return group;
  };
  return {
    judge(push, only) {
      const meant = groups.among(only);
      if (meant.length === 1) return judgeAlone(meant[0]!, push);
      const verdicts = meant.map((group) => ({ group, verdict: group.ledger.judge(push) }));
      const wants = verdicts.flatMap(({ verdict }) => (verdict.outcome === 'early' ? [verdict.want] : []));
      if (wants.length > 0) return { outcome: 'early', want: Math.min(...wants) };
      const applying = verdicts.filter(({ verdict }) => verdict.outcome === 'apply');
      if (applying.length === 0) return { outcome: 'duplicate' };
      if (applying.length === meant.length) return { outcome: 'apply', shards: undefined };
      return { outcome: 'apply', shards: applying.flatMap(({ group }) => group.shards) };
    },
    advance(push, only) {
      for (const group of groups.part(only)) {
        if (group.ledger.judge(push).outcome !== 'apply') continue;
        group.ledger.advance(push);
        group.encoded = undefined;
      }
      // If nothing is recorded for some shards alone, ledgers become equal only when a task is closed.
      if (push.last) groups.merge();
      else if (only !== undefined) groups.mergeIfMany();
    },
    close(pass, task, records, only) {
      const open = groups.part(only).filter(({ ledger }) => ledger.position(pass, task) !== CLOSED);
      const closed = open.flatMap(({ shards: those }) => those);
      for (const group of open) {
        group.ledger.close(pass, task, records);
        group.encoded = undefined;
      }
      groups.merge();
      return closed;
    },
    openIn: (pass, task) =>
      groups.all.flatMap(({ ledger, shards: those }) => (ledger.position(pass, task) === CLOSED ? [] : those)),
    position(pass, task) {
      const open = groups.all.map(({ ledger }) => ledger.position(pass, task)).filter((next) => next !== CLOSED);
      return open.length === 0 ? CLOSED : Math.min(...open);
    },
    applied: (pass, task, only) =>
      groups.among(only).flatMap(({ ledger }) => {
        const next = ledger.position(pass, task);
        return next === CLOSED ? [] : [{ next, good: ledger.goodOf(pass, task) }];
      }),
    account() {
      const accounts = groups.all.map(({ ledger }) => ledger.account());
      return accounts.reduce((least, one) => (one.applied < least.applied ? one : least));
    },
    isAgreed() {
      const counted = groups.all.map(({ ledger }) => ledger.account());
      return new Set(counted.map(({ applied, discarded }) => applied + discarded)).size === 1;
    },
    watermark: () => Math.min(...groups.all.map(({ ledger }) => ledger.watermark())),
    passesDone: (records) => Math.min(...groups.all.map(({ ledger }) => ledger.passesDone(records))),
    closedTasks(pass) {
      groups.merge();
      return groups.all.map(({ ledger }) => ledger.closedTasks(pass)).filter((bitmap) => bitmap !== undefined);
    },
    watermarkOf: (shard) => groupOf(shard).ledger.watermark(),
    encode(shard) {
      const group = groupOf(shard);
      group.encoded ??= group.ledger.encode();
      return group.encoded;
    },
    add: (added, ledgers) => groups.add(added, ledgers),
    remove: (gone) => groups.remove(gone),
    groups() {
      groups.merge();
      return groups.all.length;
    },
  };
}
