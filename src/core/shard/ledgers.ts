/**
 * The ledgers of all shards of one pserver, which may come and go. Usually they are equal and kept as one. A checkpoint
 * is taken shard by shard, so after a load they differ: a push is applied to some shards and dropped as a duplicate by
 * others, until the repair has made them equal again (DESIGN §5: one position per pserver plus exceptions per shard).
 */
import { assert } from '../../base/assert.ts';
import { CLOSED, createLedger, type Ledger, type LedgerAccount, type PushPosition } from './ledger.ts';
import type { AppliedPushes } from './push-plan.ts';

export type ShardJudgement =
  /** `shards` are those that lack the push; undefined means all. The others have applied it already. */
  | { readonly outcome: 'apply'; readonly shards: readonly number[] | undefined }
  | { readonly outcome: 'duplicate' }
  | { readonly outcome: 'early'; readonly want: number };

export interface ShardLedgers {
  judge(push: PushPosition): ShardJudgement;
  /**
   * Records a push that `judge` answered with `apply`. `only`: in these shards alone, as when the others have yet to
   * complete its round.
   */
  advance(push: PushPosition, only?: readonly number[]): void;
  /** Returns the shards in which the task was open. */
  close(pass: number, task: number, records: number): readonly number[];
  /** The lowest push wanted by any shard; CLOSED when every shard has closed the task. */
  position(pass: number, task: number): number;
  /** Of each distinct ledger in which the task is open: the next push wanted, and the good records below it. */
  applied(pass: number, task: number): AppliedPushes[];
  /** The account of the shard that applied least. */
  account(): LedgerAccount;
  /** Whether all shards count the same records, once all tasks are closed: applied or discarded. */
  isAgreed(): boolean;
  /** Passes that are complete in every shard. */
  watermark(): number;
  /** For each distinct ledger the closed tasks of a pass; ledgers in which the pass is complete are left out. */
  closedTasks(pass: number): string[];
  /** Equal ledgers give the same array until one of them changes. */
  encode(shard: number): Uint8Array;
  /** Shards come, each with its encoded ledger; one without starts empty. Throws `CheckpointCorrupt`. */
  add(shards: readonly number[], saved: ReadonlyMap<number, Uint8Array>): void;
  remove(shards: readonly number[]): void;
  /** Distinct ledgers: 1 unless a repair is under way. */
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

interface Group {
  readonly ledger: Ledger;
  shards: number[];
  encoded: Uint8Array | undefined;
}

/** `saved` has the encoded ledger of each loaded shard; shards without one start empty. Throws `CheckpointCorrupt`. */
export function createShardLedgers(
  tasks: number,
  shards: readonly number[],
  saved: ReadonlyMap<number, Uint8Array>,
): ShardLedgers {
  let groups = groupEqual(tasks, shards, saved);

  /** Ledgers become equal only when a task is closed: then they are kept as one again. */
  function merge(): void {
    if (groups.length === 1) return;
    const kept: Group[] = [];
    for (const group of groups) {
      const same = kept.find((other) => isEqual(other, group));
      if (same === undefined) kept.push(group);
      else same.shards.push(...group.shards);
    }
    groups = kept;
  }

  return {
    judge(push) {
      const verdicts = groups.map((group) => ({ group, verdict: group.ledger.judge(push) }));
      const wants = verdicts.flatMap(({ verdict }) => (verdict.outcome === 'early' ? [verdict.want] : []));
      if (wants.length > 0) return { outcome: 'early', want: Math.min(...wants) };
      const applying = verdicts.filter(({ verdict }) => verdict.outcome === 'apply');
      if (applying.length === 0) return { outcome: 'duplicate' };
      if (applying.length === groups.length) return { outcome: 'apply', shards: undefined };
      return { outcome: 'apply', shards: applying.flatMap(({ group }) => group.shards) };
    },
    advance(push, only) {
      if (only !== undefined) groups = groups.flatMap((group) => parted(group, tasks, only));
      for (const group of groups) {
        if (only?.includes(group.shards[0]!) === false || group.ledger.judge(push).outcome !== 'apply') continue;
        group.ledger.advance(push);
        group.encoded = undefined;
      }
      if (push.last || only !== undefined) merge();
    },
    close(pass, task, records) {
      const open = groups.filter(({ ledger }) => ledger.position(pass, task) !== CLOSED);
      const closed = open.flatMap(({ shards }) => shards);
      for (const group of open) {
        group.ledger.close(pass, task, records);
        group.encoded = undefined;
      }
      merge();
      return closed;
    },
    position(pass, task) {
      const open = groups.map(({ ledger }) => ledger.position(pass, task)).filter((next) => next !== CLOSED);
      return open.length === 0 ? CLOSED : Math.min(...open);
    },
    applied: (pass, task) =>
      groups.flatMap(({ ledger }) => {
        const next = ledger.position(pass, task);
        return next === CLOSED ? [] : [{ next, good: ledger.goodOf(pass, task) }];
      }),
    account() {
      const accounts = groups.map(({ ledger }) => ledger.account());
      return accounts.reduce((least, one) => (one.applied < least.applied ? one : least));
    },
    isAgreed() {
      const counted = groups.map(({ ledger }) => ledger.account()).map(({ applied, discarded }) => applied + discarded);
      return new Set(counted).size === 1;
    },
    watermark: () => Math.min(...groups.map(({ ledger }) => ledger.watermark())),
    closedTasks: (pass) =>
      groups.map(({ ledger }) => ledger.closedTasks(pass)).filter((bitmap) => bitmap !== undefined),
    encode(shard) {
      const group = groups.find((one) => one.shards.includes(shard));
      assert(group !== undefined, `shard ${shard} is one of these`);
      group.encoded ??= group.ledger.encode();
      return group.encoded;
    },
    add(shards, saved) {
      const added = groupEqual(tasks, shards, saved);
      groups = [...groups.filter((group) => group.shards.length > 0), ...added];
      merge();
    },
    remove(shards) {
      const gone = new Set(shards);
      for (const group of groups) group.shards = group.shards.filter((shard) => !gone.has(shard));
      groups = groups.filter((group) => group.shards.length > 0);
      if (groups.length === 0) groups = groupEqual(tasks, [], new Map());
    },
    groups: () => groups.length,
  };
}

function groupEqual(tasks: number, shards: readonly number[], saved: ReadonlyMap<number, Uint8Array>): Group[] {
  const groups = new Map<string, Group>();
  for (const shard of shards) {
    const bytes = saved.get(shard);
    const key = bytes === undefined ? '' : Buffer.from(bytes).toString('latin1');
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { ledger: createLedger(tasks, bytes), shards: [shard], encoded: bytes });
    else group.shards.push(shard);
  }
  if (groups.size === 0) groups.set('', { ledger: createLedger(tasks), shards: [], encoded: undefined });
  return [...groups.values()];
}

/** Two groups where only some of the shards are among those. */
function parted(group: Group, tasks: number, those: readonly number[]): Group[] {
  const wanted = new Set(those);
  const among = group.shards.filter((shard) => wanted.has(shard));
  if (among.length === 0 || among.length === group.shards.length) return [group];
  group.encoded ??= group.ledger.encode();
  const { encoded } = group;
  const others = group.shards.filter((shard) => !wanted.has(shard));
  return [
    { ...group, shards: others },
    { ledger: createLedger(tasks, encoded), shards: among, encoded },
  ];
}

function isEqual(a: Group, b: Group): boolean {
  if (a.ledger.fingerprint() !== b.ledger.fingerprint()) return false;
  a.encoded ??= a.ledger.encode();
  b.encoded ??= b.ledger.encode();
  return Buffer.compare(a.encoded, b.encoded) === 0;
}
