/**
 * Shards that this pserver holds: their values, optimizer state, ledgers and positions. Only this class applies
 * updates, whether this pserver leads the shards (`OwnedShards`), has a copy of them, or is receiving one.
 *
 * Invariants:
 * - Callers check an update before they apply it: with `whyUnfit`, or with the ledgers if they answer a request.
 * - `apply` changes values, ledgers and positions in one synchronous call. If it throws for a push or a round, it has
 *   changed nothing. A close of tasks that fits does not fail.
 * - An applied update has rows and blocks of these shards only. A caller with a larger update cuts it first
 *   (`update/parts.ts`).
 * - Lists of shards contain each shard once, and only held shards.
 *
 * One object serves shards of several primaries. Shards with equal ledgers share one ledger. If some of these shards
 * get an update before the others, they have a separate copy of the ledger until all have the update.
 */
import { assert, unreachable } from '../../../base/assert.ts';
import { PaddletError } from '../../../base/errors.ts';
import type { PushPosition } from '../../../core/shard/ledger.ts';
import { createShardLedgers, type ShardLedgers } from '../../../core/shard/ledgers.ts';
import { isStateOf, type LookRules, type LookState, Looks } from '../../../core/shard/looks.ts';
import { addIds, noTableCounts, type TableCounts } from '../../../tensor/admission/table-counts.ts';
import { createIdRouter, type IdRouter } from '../../../tensor/id-router.ts';
import { hasLearningRate, type TrainedSpec } from '../../../tensor/optimizer.ts';
import {
  type ParameterMemory,
  type Parameters,
  type RoundGradients,
  SHARD_ACTION,
} from '../../../tensor/parameters.ts';
import type { ShardParts } from '../../../tensor/shard-parts.ts';
import type { ClosedTask, PushUpdate, RoundUpdate, Update } from '../update/update.ts';
import type { ShardPositions } from './positions.ts';
import { type OldValues, RemovedRows } from './pre-image.ts';

export interface HeldJob {
  readonly spec: TrainedSpec;
  /** Number of shards of the job. */
  readonly shards: number;
  /** Number of tasks of a pass. */
  readonly tasks: number;
  /** Sync mode: the factor of the learning rate in a round. */
  readonly rateShareOf?: ((round: number) => number) | undefined;
  /** Undefined: no table has a `seen`. */
  readonly looks?: LookRules | undefined;
}

/** Read-only view of the ledgers. Only `Held` changes them. */
export type HeldLedgers = Omit<ShardLedgers, 'advance' | 'close' | 'add' | 'remove'>;

/** The memory of all shards of this pserver. In sync mode, going back to a cut replaces it. */
export interface ShardMemory {
  readonly parameters: Parameters;
}

/** Shard number → SHARD_ACTION, which tells `Parameters.push` how to treat the shard. */
type Actions = Uint8Array;

export class Held {
  readonly job: HeldJob;
  /** Used to cut updates into parts for some shards. */
  readonly parts: ShardParts;
  /**
   * By table: what the updates applied here have done with ids; undefined if the table has no rules. These counts are
   * not state of the shards: they are not saved, moved or copied.
   */
  readonly counts: readonly (TableCounts | undefined)[];
  readonly #memory: ShardMemory;
  readonly #ledgers: ShardLedgers;
  /** Shard number → number of applied updates. */
  readonly #seqs: Float64Array;
  readonly #shards = new Set<number>();
  /** Shard number → its looks. Empty if no table has a `seen`. */
  readonly #looks = new Map<number, Looks>();
  /** Shard number → passes that were complete after its last update; kept for shards with looks. */
  readonly #watermarks: Float64Array;
  /** Cached actions for an update of all held shards; undefined until needed. */
  #applyToAll: Actions | undefined;

  constructor(job: HeldJob, memory: ShardMemory, router: IdRouter = createIdRouter(job)) {
    this.job = job;
    this.parts = { ...job, router };
    this.counts = job.spec.sparse.map(({ admission, shardBytes }, table) => {
      const rules = admission ?? shardBytes ?? job.looks?.evictions[table];
      return rules === undefined ? undefined : noTableCounts();
    });
    this.#memory = memory;
    this.#ledgers = createShardLedgers(job.tasks, [], new Map());
    this.#seqs = new Float64Array(job.shards);
    this.#watermarks = new Float64Array(job.shards);
  }

  /** Returns another `Held` in the same memory, which holds no shards yet. */
  beside(): Held {
    return new Held(this.job, this.#memory, this.parts.router);
  }

  get parameters(): ParameterMemory {
    return this.#memory.parameters;
  }

  get ledgers(): HeldLedgers {
    return this.#ledgers;
  }

  /** Holds more shards, which must be in the memory. Throws `CheckpointCorrupt` for an unreadable ledger or looks. */
  hold(shards: readonly number[], { ledgers, seqs, looks }: ShardPositions): void {
    for (const shard of shards) this.#checkLooks(shard, looks?.get(shard), seqs.get(shard) ?? 0);
    this.#ledgers.add(shards, ledgers);
    for (const shard of shards) {
      this.#shards.add(shard);
      this.#seqs[shard] = seqs.get(shard) ?? 0;
      if (this.job.looks === undefined) continue;
      this.#looks.set(shard, new Looks(this.job.looks, shard, looks?.get(shard)));
      this.#watermarks[shard] = this.#ledgers.watermarkOf(shard);
    }
    this.#applyToAll = undefined;
  }

  #checkLooks(shard: number, state: LookState | undefined, seq: number): void {
    const { looks } = this.job;
    if (looks === undefined || state === undefined || isStateOf(looks, state, seq)) return;
    throw new PaddletError('CheckpointCorrupt', `shard ${shard}: its looks do not fit its ${seq} updates and the job`);
  }

  /** Stops holding these shards, which stay in the memory. */
  letGo(shards: readonly number[]): void {
    this.#ledgers.remove(shards);
    for (const shard of shards) {
      this.#shards.delete(shard);
      this.#looks.delete(shard);
    }
    this.#applyToAll = undefined;
  }

  /** Number of updates applied to a shard; undefined if the shard is not held. */
  seqOf(shard: number): number | undefined {
    return this.#shards.has(shard) ? this.#seqs[shard] : undefined;
  }

  /** The positions of `shards`; by default, of all held shards. */
  positions(shards: readonly number[] = [...this.#shards]): ShardPositions {
    return {
      ledgers: new Map(shards.map((shard) => [shard, this.#ledgers.encode(shard)])),
      seqs: new Map(shards.map((shard) => [shard, this.#seqs[shard]!])),
      looks: new Map(this.job.looks && shards.map((shard) => [shard, this.#looks.get(shard)!.state()])),
    };
  }

  /** When a held shard looks for what is unseen; undefined if rows have no `seen`. */
  looksOf(shard: number): LookState | undefined {
    return this.#looks.get(shard)?.state();
  }

  /**
   * Checks that gradients can be applied to `applying`; undefined: to all held shards. Throws the errors of
   * `Parameters.check`, also for gradients of shards that are not held.
   */
  check({ dense, sparse }: RoundGradients, applying?: readonly number[]): void {
    this.#memory.parameters.check(sparse, dense, this.#actions(applying));
  }

  /** Returns why the update is not the next one of `shards` (undefined: all held shards); undefined if it is. */
  whyUnfit(update: Update, shards?: readonly number[]): string | undefined {
    switch (update.type) {
      case 'push':
        if (update.rateScale !== 1 && !this.#hasRate()) return 'the optimizer has no learning rate to scale';
        return this.whyUnwanted(update.push, update.shards, shards);
      case 'close':
        return firstDefined(update.tasks.map((task) => this.#whyNotClosed(task, shards)));
      case 'round':
        return this.#whyNotRound(update, shards);
      default:
        return unreachable(update);
    }
  }

  /**
   * Returns why a push does not fit; undefined if it fits. It fits if it is the next push of exactly the shards
   * `applying` (undefined: all of `shards`), and all other shards of `shards` (undefined: all held shards) have it.
   */
  whyUnwanted(
    push: PushPosition,
    applying: readonly number[] | undefined,
    shards?: readonly number[],
  ): string | undefined {
    const verdict = this.#ledgers.judge(push, this.#unlessAll(shards));
    const wanting = verdict.outcome === 'apply' ? verdict.shards : [];
    const all = shards?.length ?? this.#shards.size;
    if (verdict.outcome !== 'early' && isSameSet(wanting, applying, all)) return undefined;
    return `push ${push.push} of task ${push.task} in pass ${push.pass} does not fit the ledgers of the unit`;
  }

  /**
   * Applies an update that fits. A push names the shards that apply it. A close or a round is applied to `shards`;
   * undefined: to all held shards. For a round, returns the previous values of all changed rows and blocks. Throws the
   * errors of `Parameters.push`.
   */
  apply(update: Update, shards?: readonly number[]): OldValues | undefined {
    switch (update.type) {
      case 'push':
        this.#push(update);
        return undefined;
      case 'close':
        for (const { pass, task, records } of update.tasks)
          this.#count(this.#ledgers.close(pass, task, records, this.#unlessAll(shards)));
        return undefined;
      case 'round':
        return this.#round(update, this.#unlessAll(shards));
      default:
        return unreachable(update);
    }
  }

  /** Sync mode: the factor of the learning rate in a round. */
  rateShareOf(round: number): number {
    return this.job.rateShareOf?.(round) ?? 1;
  }

  #push({ push, shards, dense, sparse, rateScale }: PushUpdate): void {
    if (shards.length === 0) return;
    const only = this.#unlessAll(shards);
    const options = { rateScale, seen: this.#nextSeen(), name: push, counts: this.counts };
    this.#memory.parameters.push(sparse, dense, this.#actions(only), options);
    this.#begin(shards, push.pass);
    this.#ledgers.advance(push, only);
    this.#count(shards);
  }

  #round(update: RoundUpdate, only: readonly number[] | undefined): OldValues {
    if (this.job.looks === undefined) return this.#applyRound(update, only);
    const removed = new RemovedRows(this.#memory.parameters, this.job.spec.sparse.length);
    const unwatch = this.#memory.parameters.watch(removed);
    try {
      return removed.addTo(this.#applyRound(update, only));
    } finally {
      unwatch();
    }
  }

  #applyRound({ round, batches, dense, sparse }: RoundUpdate, only: readonly number[] | undefined): OldValues {
    // Copy the ids: they may be in kernel memory, which may move during the push.
    const ids = sparse.map((part) => part.ids.slice());
    const named = { seen: this.#nextSeen(), name: { round } };
    const options = { ...named, rateScale: this.rateShareOf(round), counts: this.counts };
    // The round has only rows of these shards. With actions for all held shards, rows found by pulls need no lookup.
    const old = this.#memory.parameters.pushKeeping(sparse, dense, this.#actions(undefined), options);
    this.#begin(only ?? this.#shards, Math.max(...batches.map(({ position }) => position.pass)));
    for (const { position } of batches) this.#ledgers.advance(position, only);
    this.#count(only ?? this.#shards);
    return {
      dense: dense.map(({ parameter, blocks }, at) => ({ parameter, blocks, values: old.dense[at]! })),
      sparse: sparse.map(({ table }, at) => ({ table, ids: ids[at]!, values: old.sparse[at]! })),
    };
  }

  /** Returns the `seen` that the next update gives to the rows that it names, by shard; undefined if rows have none. */
  #nextSeen(): Uint32Array | undefined {
    if (this.job.looks === undefined) return undefined;
    const seen = new Uint32Array(this.job.shards);
    for (const [shard, { base }] of this.#looks) seen[shard] = this.#seqs[shard]! + 1 - base;
    return seen;
  }

  /** Call this before the ledgers and positions advance. */
  #begin(applying: Iterable<number>, pass: number): void {
    if (this.job.looks === undefined) return;
    for (const shard of applying) this.#looks.get(shard)!.begin(pass, this.#seqs[shard]!, this.#watermarks[shard]!);
  }

  /** Counts an update that the ledgers have, and removes what is unseen for too long if a look is due. */
  #count(applied: Iterable<number>): void {
    for (const shard of applied) {
      this.#seqs[shard]! += 1;
      const looks = this.#looks.get(shard);
      if (looks !== undefined) this.#look(shard, looks);
    }
  }

  #look(shard: number, looks: Looks): void {
    const before = this.#watermarks[shard]!;
    const watermark = this.#ledgers.watermarkOf(shard);
    this.#watermarks[shard] = watermark;
    const { removals, lowerSeenBy } = looks.after(this.#seqs[shard]!, before, watermark);
    const { parameters } = this.#memory;
    for (const { table, seen } of removals)
      addIds(this.counts[table]!.evicted.unseen, parameters.removeUnseen(shard, table, seen));
    if (lowerSeenBy !== undefined) parameters.lowerSeen(shard, lowerSeenBy);
  }

  /** Returns the actions for `Parameters.push`: apply to these shards, skip other held shards, refuse all others. */
  #actions(applying: readonly number[] | undefined): Actions {
    if (applying === undefined) {
      this.#applyToAll ??= this.#actionsOf(SHARD_ACTION.apply);
      return this.#applyToAll;
    }
    assert(
      applying.every((shard) => this.#shards.has(shard)),
      'an update is applied to held shards',
    );
    const actions = this.#actionsOf(SHARD_ACTION.skip);
    for (const shard of applying) actions[shard] = SHARD_ACTION.apply;
    return actions;
  }

  #actionsOf(held: number): Actions {
    const actions = new Uint8Array(this.job.shards).fill(SHARD_ACTION.absent);
    for (const shard of this.#shards) actions[shard] = held;
    return actions;
  }

  #whyNotClosed({ pass, task, records }: ClosedTask, shards: readonly number[] | undefined): string | undefined {
    const applied = this.#ledgers.applied(pass, task, this.#unlessAll(shards));
    if (applied.every(({ good }) => good <= records)) return undefined;
    return `task ${task} of pass ${pass} has more records in the ledgers of the unit than the ${records} of its close`;
  }

  /** The mini-batches of a round must belong to different tasks, so that each can be checked separately. */
  #whyNotRound({ batches }: RoundUpdate, shards: readonly number[] | undefined): string | undefined {
    if (new Set(batches.map(({ position: { pass, task } }) => `${pass}/${task}`)).size < batches.length)
      return 'a round has two mini-batches of one task';
    return firstDefined(batches.map(({ position }) => this.whyUnwanted(position, undefined, shards)));
  }

  /** Returns undefined if these are all held shards, because an update of all shards costs less without a list. */
  #unlessAll(shards: readonly number[] | undefined): readonly number[] | undefined {
    return shards?.length === this.#shards.size ? undefined : shards;
  }

  #hasRate(): boolean {
    const { dense, sparse } = this.job.spec;
    return [...dense, ...sparse].every(({ optimizer }) => hasLearningRate(optimizer));
  }
}

const firstDefined = (whys: readonly (string | undefined)[]): string | undefined =>
  whys.find((why) => why !== undefined);

/** Returns whether two subsets of the same `all` shards are equal. Undefined stands for all shards. */
function isSameSet(some: readonly number[] | undefined, others: readonly number[] | undefined, all: number): boolean {
  const [count, otherCount] = [some?.length ?? all, others?.length ?? all];
  if (count !== otherCount) return false;
  if (some === undefined || others === undefined || count === 0 || count === all) return true;
  const set = new Set(some);
  return others.every((shard) => set.has(shard));
}
