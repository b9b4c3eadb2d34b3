/**
 * Shards that this pserver holds: their values, optimizer state, ledgers and positions. This is the only place where an
 * update is applied, whether this pserver leads the shards (`OwnedShards`), has a copy of them, or is receiving one.
 *
 * Invariants:
 * - Callers judge an update before they apply it: `whyUnfit`, or the ledgers themselves where requests are answered.
 * - `apply` changes values, ledgers and positions in one synchronous call. A push or a round that it throws for has
 *   changed nothing. A close of tasks that fits does not fail.
 * - An update that is applied has rows and blocks of these shards alone. A caller with a larger one cuts it first
 *   (`update/parts.ts`).
 * - Lists of shards have each shard once, and all of them are held.
 *
 * One object serves shards of several primaries. Shards with equal ledgers share one ledger. If some of them get an
 * update before the others, these get a copy of the ledger until all have the update.
 */
import { assert, unreachable } from '../../../base/assert.ts';
import type { PushPosition } from '../../../core/shard/ledger.ts';
import { createShardLedgers, type ShardLedgers } from '../../../core/shard/ledgers.ts';
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
import type { OldValues } from './pre-image.ts';

export interface HeldJob {
  readonly spec: TrainedSpec;
  /** Number of shards of the job. */
  readonly shards: number;
  /** Tasks of a pass. */
  readonly tasks: number;
  /** Sync mode: what the learning rate is multiplied by in that round. */
  readonly rateShareOf?: ((round: number) => number) | undefined;
}

/** The positions of shards. */
export interface ShardPositions {
  /** Encoded ledgers by shard; shards at their initial values have none. */
  readonly ledgers: ReadonlyMap<number, Uint8Array>;
  /** Updates applied so far, by shard; 0 for shards that are not named. */
  readonly seqs: ReadonlyMap<number, number>;
}

/** Ledgers, to be read. Only `Held` changes them. */
export type HeldLedgers = Omit<ShardLedgers, 'advance' | 'close' | 'add' | 'remove'>;

/** The memory of all shards of this pserver. In sync mode, going back to a cut replaces it. */
export interface ShardMemory {
  readonly parameters: Parameters;
}

/** What `Parameters.push` does with each shard: a SHARD_ACTION by shard number. */
type Actions = Uint8Array;

export class Held {
  readonly job: HeldJob;
  /** To cut updates into those of some shards. */
  readonly parts: ShardParts;
  readonly #memory: ShardMemory;
  readonly #ledgers: ShardLedgers;
  /** Updates applied, by shard number. */
  readonly #seqs: Float64Array;
  readonly #shards = new Set<number>();
  /** For an update of all held shards. Undefined: it is to be made. */
  #applyToAll: Actions | undefined;

  constructor(job: HeldJob, memory: ShardMemory, router: IdRouter = createIdRouter(job)) {
    this.job = job;
    this.parts = { ...job, router };
    this.#memory = memory;
    this.#ledgers = createShardLedgers(job.tasks, [], new Map());
    this.#seqs = new Float64Array(job.shards);
  }

  /** Another one in the same memory, which holds nothing yet. */
  beside(): Held {
    return new Held(this.job, this.#memory, this.parts.router);
  }

  get parameters(): ParameterMemory {
    return this.#memory.parameters;
  }

  get ledgers(): HeldLedgers {
    return this.#ledgers;
  }

  /** Shards come, which are present in the memory. Throws `CheckpointCorrupt` for a ledger that cannot be read. */
  hold(shards: readonly number[], { ledgers, seqs }: ShardPositions): void {
    this.#ledgers.add(shards, ledgers);
    for (const shard of shards) {
      this.#shards.add(shard);
      this.#seqs[shard] = seqs.get(shard) ?? 0;
    }
    this.#applyToAll = undefined;
  }

  /** The shards stay in the memory. */
  letGo(shards: readonly number[]): void {
    this.#ledgers.remove(shards);
    for (const shard of shards) this.#shards.delete(shard);
    this.#applyToAll = undefined;
  }

  /** Updates applied to a shard; undefined for a shard that is not held. */
  seqOf(shard: number): number | undefined {
    return this.#shards.has(shard) ? this.#seqs[shard] : undefined;
  }

  /** Default: of all held shards. */
  positions(shards: readonly number[] = [...this.#shards]): ShardPositions {
    return {
      ledgers: new Map(shards.map((shard) => [shard, this.#ledgers.encode(shard)])),
      seqs: new Map(shards.map((shard) => [shard, this.#seqs[shard]!])),
    };
  }

  /**
   * Whether gradients can be applied to these shards; undefined: to all held ones. Throws what `Parameters.check`
   * throws, also for gradients of shards that are not held.
   */
  check({ dense, sparse }: RoundGradients, applying?: readonly number[]): void {
    this.#memory.parameters.check(sparse, dense, this.#actions(applying));
  }

  /** Why the update is not the next one of these shards; undefined when it is. `shards` undefined: all held ones. */
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
   * Of `shards` (undefined: all held ones), some may have had a push already. Says why the others are not exactly
   * `applying` (undefined: all of `shards`), or why it is not their next push. Undefined: the push fits.
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
   * Applies an update that fits. A push names the shards that apply it. A close and a round are applied to `shards`;
   * undefined: to all held ones. For a round, gives the values that it changed, as they were before. Throws what
   * `Parameters.push` throws.
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

  /** Sync mode: what the learning rate is multiplied by in that round. */
  rateShareOf(round: number): number {
    return this.job.rateShareOf?.(round) ?? 1;
  }

  #push({ push, shards, dense, sparse, rateScale }: PushUpdate): void {
    if (shards.length === 0) return;
    const only = this.#unlessAll(shards);
    this.#memory.parameters.push(sparse, dense, this.#actions(only), rateScale);
    this.#ledgers.advance(push, only);
    this.#count(shards);
  }

  #round({ round, batches, dense, sparse }: RoundUpdate, only: readonly number[] | undefined): OldValues {
    // Copies: the ids may be in kernel memory, which moves in the push.
    const ids = sparse.map((part) => part.ids.slice());
    const rateScale = this.rateShareOf(round);
    // It has rows of these shards alone. With an action for all held shards, rows that pulls found are not looked up.
    const old = this.#memory.parameters.pushKeeping(sparse, dense, this.#actions(undefined), rateScale);
    for (const { position } of batches) this.#ledgers.advance(position, only);
    this.#count(only ?? this.#shards);
    return {
      dense: dense.map(({ parameter, blocks }, at) => ({ parameter, blocks, values: old.dense[at]! })),
      sparse: sparse.map(({ table }, at) => ({ table, ids: ids[at]!, values: old.sparse[at]! })),
    };
  }

  #count(applied: Iterable<number>): void {
    for (const shard of applied) this.#seqs[shard]! += 1;
  }

  /** As `Parameters.push` takes them: applied to these shards, not to other held ones, refused for all others. */
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

  /** Mini-batches of a round are of different tasks, so none of them has to wait for another one. */
  #whyNotRound({ batches }: RoundUpdate, shards: readonly number[] | undefined): string | undefined {
    if (new Set(batches.map(({ position: { pass, task } }) => `${pass}/${task}`)).size < batches.length)
      return 'a round has two mini-batches of one task';
    return firstDefined(batches.map(({ position }) => this.whyUnwanted(position, undefined, shards)));
  }

  /** An update of all shards costs less without the list of them. */
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

/** Both are of the same `all` shards; undefined: all of them. */
function isSameSet(some: readonly number[] | undefined, others: readonly number[] | undefined, all: number): boolean {
  const [count, otherCount] = [some?.length ?? all, others?.length ?? all];
  if (count !== otherCount) return false;
  if (some === undefined || others === undefined || count === 0 || count === all) return true;
  const set = new Set(some);
  return others.every((shard) => set.has(shard));
}
