/**
 * The shards that this pserver owns: which they are, under which heads, and the state and position of each. This is the
 * only place that knows. Everything else asks it at the time of use and keeps no copy: the set may change.
 */
import { assert } from '../../base/assert.ts';
import type { ShardMoment } from '../../checkpoint/file/capture.ts';
import type { Head } from '../../cluster/placement/heads.ts';
import { type LedUnit, type PlacementStamp, stampOf } from '../../core/placement.ts';
import { createShardLedgers, type ShardLedgers } from '../../core/shard/ledgers.ts';
import { type Grouping, shardsOfUnits, unitOf } from '../../core/units/units.ts';
import { blockShards } from '../../tensor/blocks.ts';
import { type ParameterMemoryStats, type Parameters, SHARD_ACTION } from '../../tensor/parameters.ts';
import type { ParameterSpec } from '../../tensor/spec.ts';
import type { OwnedHeads } from './owned-heads.ts';

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
export interface ShardedJob extends Grouping {
  readonly spec: ParameterSpec;
  /** Tasks of a pass. */
  readonly tasks: number;
}

export class OwnedShards {
  readonly parameters: Parameters;
  readonly ledgers: ShardLedgers;
  readonly #job: ShardedJob;
  readonly heads: OwnedHeads;
  /** Updates applied, by shard number. */
  readonly #seqs: Float64Array;
  /** Updates applied to any shard. */
  #updates = 0;
  // Worked out from the set of shards, for requests.
  readonly #numbers: readonly number[];
  readonly #stamp: PlacementStamp;
  readonly #applyToAll: Uint8Array;
  #blocks: readonly Uint32Array[] | undefined;

  constructor(job: ShardedJob, heads: OwnedHeads, state: ShardState) {
    this.#job = job;
    this.heads = heads;
    this.#numbers = shardsOfUnits(heads.units(), job);
    this.#stamp = stampOf(ledUnits(heads), job);
    this.#applyToAll = this.#actionsOf(SHARD_ACTION.apply);
    this.parameters = state.parameters;
    this.ledgers = createShardLedgers(job.tasks, this.#numbers, state.ledgers);
    this.#seqs = new Float64Array(job.shards);
    for (const [shard, seq] of state.seqs) this.#seqs[shard] = seq;
    for (const shard of this.#numbers) this.#updates = Math.max(this.#updates, this.#seqs[shard]!);
  }

  /** The same shards under the same heads in another state, as when sync mode goes back to a cut. */
  inState(state: ShardState): OwnedShards {
    return new OwnedShards(this.#job, this.heads, state);
  }

  /** Of the shards, ascending. */
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
      return Uint32Array.from(
        shardOfBlock.flatMap((shard, block) => (this.#headOf(shard) === undefined ? [] : [block])),
      );
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
    const head = this.#headOf(shard);
    assert(head !== undefined, `shard ${shard} is owned`);
    return { shard, epoch: head.epoch, seq: this.#seqs[shard]!, ledger: this.ledgers.encode(shard) };
  }

  stats(): ParameterMemoryStats & { readonly units: number; readonly shards: number } {
    return { ...this.parameters.stats(), units: this.heads.units().length, shards: this.#numbers.length };
  }

  #headOf(shard: number): Head | undefined {
    return this.heads.of(unitOf(shard, this.#job.units))?.head;
  }

  #actionsOf(owned: number): Uint8Array {
    const actions = new Uint8Array(this.#job.shards).fill(SHARD_ACTION.absent);
    for (const shard of this.#numbers) actions[shard] = owned;
    return actions;
  }
}

const ledUnits = (heads: OwnedHeads): LedUnit[] => [...heads.all()].map(({ unit, head: { led } }) => ({ unit, led }));
