/**
 * The shards that this pserver owns: which they are, under which heads, and the state and position of each. This is the
 * only place that knows. Everything else asks it at the time of use and keeps no copy: the set may change.
 */
import { assert } from '../../base/assert.ts';
import type { ShardMoment } from '../../checkpoint/file/capture.ts';
import { type PlacementStamp, stampOf } from '../../core/placement.ts';
import { createShardLedgers, type ShardLedgers } from '../../core/shard/ledgers.ts';
import { blockShards } from '../../tensor/blocks.ts';
import { type ParameterMemoryStats, type Parameters, SHARD_ACTION } from '../../tensor/parameters.ts';
import type { ParameterSpec } from '../../tensor/spec.ts';

/** A shard's head as this pserver wrote it when it took the shard. */
export interface OwnedHead {
  readonly shard: number;
  readonly epoch: number;
  /** Of the store, when the head was written. */
  readonly revision: bigint;
}

/** What was loaded into the shards. */
export interface ShardState {
  /** With all owned shards present. */
  readonly parameters: Parameters;
  /** Encoded ledgers by shard; shards at their initial values have none. */
  readonly ledgers: ReadonlyMap<number, Uint8Array>;
  /** Updates applied so far, by shard; 0 for shards that are not named. */
  readonly seqs: ReadonlyMap<number, number>;
}

/** What the shards are shards of. */
export interface ShardedJob {
  readonly spec: ParameterSpec;
  /** Shards of the job. */
  readonly shards: number;
  /** Tasks of a pass. */
  readonly tasks: number;
}

export class OwnedShards {
  readonly parameters: Parameters;
  readonly ledgers: ShardLedgers;
  readonly #job: ShardedJob;
  readonly #heads: ReadonlyMap<number, OwnedHead>;
  /** Updates applied, by shard number. */
  readonly #seqs: Float64Array;
  /** Updates applied to any shard. */
  #updates = 0;
  // Worked out from the set of shards, for requests.
  readonly #numbers: readonly number[];
  readonly #stamp: PlacementStamp;
  readonly #applyToAll: Uint8Array;
  #blocks: readonly Uint32Array[] | undefined;

  constructor(job: ShardedJob, heads: Iterable<OwnedHead>, state: ShardState) {
    this.#job = job;
    this.#heads = new Map([...heads].map((head) => [head.shard, head]));
    this.#numbers = [...this.#heads.keys()].sort((a, b) => a - b);
    this.#stamp = stampOf([...this.#heads.values()].map(({ revision }) => revision));
    this.#applyToAll = this.#actionsOf(SHARD_ACTION.apply);
    this.parameters = state.parameters;
    this.ledgers = createShardLedgers(job.tasks, this.#numbers, state.ledgers);
    this.#seqs = new Float64Array(job.shards);
    for (const [shard, seq] of state.seqs) this.#seqs[shard] = seq;
    for (const shard of this.#numbers) this.#updates = Math.max(this.#updates, this.#seqs[shard]!);
  }

  /** The same shards under the same heads in another state, as when sync mode goes back to a cut. */
  inState(state: ShardState): OwnedShards {
    return new OwnedShards(this.#job, this.#heads.values(), state);
  }

  /** Ascending. */
  get numbers(): readonly number[] {
    return this.#numbers;
  }

  /** Names this set of shards in requests. */
  get stamp(): PlacementStamp {
    return this.#stamp;
  }

  /** Updates applied: the version that pulls name. */
  get version(): number {
    return this.#updates;
  }

  /** For each dense parameter its blocks in these shards, ascending. */
  get blocks(): readonly Uint32Array[] {
    this.#blocks ??= this.#job.spec.dense.map((dense) => {
      const shardOfBlock = [...blockShards(dense, this.#job.shards)];
      return Uint32Array.from(shardOfBlock.flatMap((shard, block) => (this.#heads.has(shard) ? [block] : [])));
    });
    return this.#blocks;
  }

  /**
   * What an update does to each shard, as `Parameters.push` takes it: applied to the given shards (undefined: to all
   * owned ones), skipped by the other owned ones, refused by shards that are not owned. Not to be changed.
   */
  actions(applying: readonly number[] | undefined): Uint8Array {
    if (applying === undefined) return this.#applyToAll;
    const actions = this.#actionsOf(SHARD_ACTION.skip);
    for (const shard of applying) actions[shard] = SHARD_ACTION.apply;
    return actions;
  }

  /** Counts an update that was applied to these shards; undefined: to all. */
  advance(applied: readonly number[] | undefined): void {
    for (const shard of applied ?? this.#numbers) this.#seqs[shard]! += 1;
    this.#updates += 1;
  }

  /** The position of a shard at the instant of the call, for a checkpoint. */
  momentOf(shard: number): ShardMoment {
    const head = this.#heads.get(shard);
    assert(head !== undefined, `shard ${shard} is owned`);
    return { shard, epoch: head.epoch, seq: this.#seqs[shard]!, ledger: this.ledgers.encode(shard) };
  }

  stats(): ParameterMemoryStats & { readonly shards: number } {
    return { ...this.parameters.stats(), shards: this.#numbers.length };
  }

  #actionsOf(owned: number): Uint8Array {
    const actions = new Uint8Array(this.#job.shards).fill(SHARD_ACTION.absent);
    for (const shard of this.#numbers) actions[shard] = owned;
    return actions;
  }
}
