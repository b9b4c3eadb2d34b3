/**
 * The shards that this pserver owns: which they are, and the state and position of each. This is the only place that
 * knows. Everything else asks it at the time of use and keeps no copy: units come and go while the process runs.
 */
import { assert } from '../../base/assert.ts';
import type { ShardMoment } from '../../checkpoint/file/capture.ts';
import type { Head } from '../../cluster/placement/heads.ts';
import type { UnitBytes } from '../../cluster/placement/pserver-record.ts';
import { type LedUnit, type PlacementStamp, stampOf } from '../../core/placement.ts';
import { type CommittedLedgers, createShardLedgers, type ShardLedgers } from '../../core/shard/ledgers.ts';
import { type Grouping, shardsOfUnit, shardsOfUnits, unitOf } from '../../core/units/units.ts';
import { blockShards } from '../../tensor/blocks.ts';
import { type ParameterMemoryStats, type Parameters, SHARD_ACTION } from '../../tensor/parameters.ts';
import type { ParameterSpec } from '../../tensor/spec.ts';
import type { OwnedHead, OwnedHeads } from './owned-heads.ts';

/** The positions of shards. */
export interface ShardPositions {
  /** Encoded ledgers by shard; shards at their initial values have none. */
  readonly ledgers: ReadonlyMap<number, Uint8Array>;
  /** Updates applied so far, by shard; 0 for shards that are not named. */
  readonly seqs: ReadonlyMap<number, number>;
}

/** What was loaded into the shards. */
export interface ShardState extends ShardPositions {
  /** With all owned shards present. */
  readonly parameters: Parameters;
}

/** What the shards are shards of. */
export interface ShardedJob extends Grouping {
  readonly spec: ParameterSpec;
  /** Tasks of a pass. */
  readonly tasks: number;
}

/** What is worked out from the set of units, for requests. */
interface OwnedSet {
  /** Of the shards, ascending. */
  readonly numbers: readonly number[];
  readonly stamp: PlacementStamp;
  readonly applyToAll: Uint8Array;
  /** Worked out when it is first asked for. */
  blocks: readonly Uint32Array[] | undefined;
}

/** Stamps that this pserver had before, under which versions can still be compared. */
const FORMER_STAMPS_KEPT = 64;

export class OwnedShards {
  #parameters: Parameters;
  #ledgers: ShardLedgers;
  /** Under which the units are owned. */
  readonly heads: OwnedHeads;
  readonly #job: ShardedJob;
  /** Updates applied, by shard number. */
  #seqs: Float64Array;
  /** Updates applied to any shard. */
  #updates = 0;
  #set: OwnedSet;
  /** Revisions of the stamps since units were last loaded from a file, the newest last. */
  #comparable: string[];

  constructor(job: ShardedJob, heads: OwnedHeads, state: ShardState) {
    this.#job = job;
    this.heads = heads;
    this.#set = this.#workOut();
    this.#parameters = state.parameters;
    this.#ledgers = createShardLedgers(job.tasks, this.numbers, state.ledgers);
    this.#seqs = seqsOf(state, job);
    for (const shard of this.numbers) this.#updates = Math.max(this.#updates, this.#seqs[shard]!);
    this.#comparable = [this.stamp.revision];
  }

  get parameters(): Parameters {
    return this.#parameters;
  }

  get ledgers(): ShardLedgers {
    return this.#ledgers;
  }

  /** The same shards under the same heads are in another state now, as when sync mode goes back to a cut. */
  restate(state: ShardState): void {
    assert(
      this.numbers.every((shard) => state.parameters.hasShard(shard)),
      'the state is one of all owned shards',
    );
    this.#parameters = state.parameters;
    this.#ledgers = createShardLedgers(this.#job.tasks, this.numbers, state.ledgers);
    this.#seqs = seqsOf(state, this.#job);
    this.#updates = Math.max(0, ...this.numbers.map((shard) => this.#seqs[shard]!));
    this.#comparable = [this.stamp.revision];
  }

  /**
   * A unit comes, whose shards are present in the parameters. `isContinued`: it comes with all that was ever applied to
   * it; otherwise it was loaded from a file. Throws `CheckpointCorrupt` for a ledger that cannot be read.
   */
  add(owned: OwnedHead, positions: ShardPositions, isContinued: boolean): void {
    const shards = this.shardsOf(owned.unit);
    assert(
      shards.every((shard) => this.parameters.hasShard(shard)),
      `the shards of unit ${owned.unit} are present`,
    );
    this.ledgers.add(shards, positions.ledgers);
    for (const shard of shards) this.#seqs[shard] = positions.seqs.get(shard) ?? 0;
    if (!isContinued) this.#loaded(shards);
    this.heads.add(owned);
    this.#changed();
  }

  /** Versions go on from the highest position, and none that was told before can be compared. */
  #loaded(shards: readonly number[]): void {
    for (const shard of shards) this.#updates = Math.max(this.#updates, this.#seqs[shard]!);
    this.#comparable = [];
  }

  /** A unit leaves, with its memory. */
  remove(unit: number): void {
    this.#leave(unit);
    for (const shard of this.shardsOf(unit)) this.parameters.dropShard(shard);
  }

  /** Another pserver leads the unit from now on, and its shards stay present here. Gives their positions. */
  release(unit: number): ShardPositions {
    const moments = this.shardsOf(unit).map((shard) => this.momentOf(shard));
    this.#leave(unit);
    return {
      ledgers: new Map(moments.map(({ shard, ledger }) => [shard, ledger])),
      seqs: new Map(moments.map(({ shard, seq }) => [shard, seq])),
    };
  }

  #leave(unit: number): void {
    this.heads.remove(unit);
    this.ledgers.remove(this.shardsOf(unit));
    this.#changed();
  }

  /** Of a unit of the job, ascending. */
  shardsOf(unit: number): number[] {
    return shardsOfUnit(unit, this.#job);
  }

  /** Ascending. */
  get numbers(): readonly number[] {
    return this.#set.numbers;
  }

  /** Names this set of shards in requests. */
  get stamp(): PlacementStamp {
    return this.#set.stamp;
  }

  /**
   * Updates applied: the version that pulls name. It only rises, whatever units come and go. An update counts once,
   * when the last of its units has it. So values have at least the updates that their version counts: a gradient is
   * never taken for fresher than it is. They may have more, of units that got an update before its last one did.
   */
  get version(): number {
    return this.#updates;
  }

  /** Whether a version that was told under a stamp with this revision can be compared with the present one. */
  isComparable(revision: string): boolean {
    return this.#comparable.includes(revision);
  }

  /** For each dense parameter its blocks in these shards, ascending. */
  get blocks(): readonly Uint32Array[] {
    this.#set.blocks ??= this.#job.spec.dense.map((dense) => {
      const shardOfBlock = [...blockShards(dense, this.#job.shards)];
      return Uint32Array.from(shardOfBlock.flatMap((shard, block) => (this.#isOwned(shard) ? [block] : [])));
    });
    return this.#set.blocks;
  }

  /**
   * What an update does to each shard, as `Parameters.push` takes it: applied to the given shards (undefined: to all
   * owned ones), skipped by the other owned ones, refused by shards that are not owned. Not to be changed.
   */
  actions(applying: readonly number[] | undefined): Uint8Array {
    if (applying === undefined) return this.#set.applyToAll;
    const actions = this.#actionsOf(this.numbers, SHARD_ACTION.skip);
    for (const shard of applying) actions[shard] = SHARD_ACTION.apply;
    return actions;
  }

  /**
   * Records an update that was applied to these shards; undefined: to all. `isLast`: no other shard is to get it, and
   * it raises the version. Where units get an update one after the other, that is with the last one, even when that
   * one drops it: then with no shards.
   */
  advance(applied: readonly number[] | undefined, isLast = true): void {
    for (const shard of applied ?? this.numbers) this.#seqs[shard]! += 1;
    if (isLast) this.#updates += 1;
  }

  /** What requests are answered from. */
  get committed(): CommittedLedgers {
    return this.ledgers;
  }

  /**
   * Closes a discarded task. That is an update of the shards in which it was open, and has a place in their order; it
   * raises no version. `only`: in these shards alone.
   */
  close(pass: number, task: number, records: number, only?: readonly number[]): void {
    for (const shard of this.ledgers.close(pass, task, records, only)) this.#seqs[shard]! += 1;
  }

  /** The position of a shard at the instant of the call, for a checkpoint. */
  momentOf(shard: number): ShardMoment {
    const head = this.#headOf(shard);
    assert(head !== undefined, `shard ${shard} is owned`);
    return { shard, epoch: head.epoch, seq: this.#seqs[shard]!, ledger: this.ledgers.encode(shard) };
  }

  /** Updates applied to a shard; undefined when it is not owned. */
  seqOf(shard: number): number | undefined {
    return this.#isOwned(shard) ? this.#seqs[shard] : undefined;
  }

  /** Of the owned shards, and the memory reserved for all that is in it. */
  stats(): ParameterMemoryStats & { readonly units: number; readonly shards: number } {
    const { reservedBytes } = this.parameters.stats();
    const each = this.numbers.map((shard) => this.parameters.stats(shard));
    const rows = each.reduce((sum, one) => sum + one.rows, 0);
    const bytes = each.reduce((sum, one) => sum + one.bytes, 0);
    return { rows, bytes, reservedBytes, units: this.heads.units().length, shards: this.numbers.length };
  }

  /** Ascending. */
  unitBytes(): UnitBytes[] {
    const bytesOf = (shard: number): number => this.parameters.stats(shard).bytes;
    return this.heads.units().map((unit) => {
      return { unit, bytes: this.shardsOf(unit).reduce((sum, shard) => sum + bytesOf(shard), 0) };
    });
  }

  #headOf(shard: number): Head | undefined {
    return this.heads.of(unitOf(shard, this.#job.units))?.head;
  }

  #isOwned(shard: number): boolean {
    return this.#headOf(shard) !== undefined;
  }

  #changed(): void {
    this.#set = this.#workOut();
    this.#comparable = [...this.#comparable, this.stamp.revision].slice(-FORMER_STAMPS_KEPT);
  }

  #workOut(): OwnedSet {
    const numbers = shardsOfUnits(this.heads.units(), this.#job);
    return {
      numbers,
      stamp: stampOf(ledUnits(this.heads), this.#job),
      applyToAll: this.#actionsOf(numbers, SHARD_ACTION.apply),
      blocks: undefined,
    };
  }

  #actionsOf(numbers: readonly number[], owned: number): Uint8Array {
    const actions = new Uint8Array(this.#job.shards).fill(SHARD_ACTION.absent);
    for (const shard of numbers) actions[shard] = owned;
    return actions;
  }
}

function seqsOf({ seqs }: ShardPositions, { shards }: ShardedJob): Float64Array {
  const all = new Float64Array(shards);
  for (const [shard, seq] of seqs) all[shard] = seq;
  return all;
}

const ledUnits = (heads: OwnedHeads): LedUnit[] => [...heads.all()].map(({ unit, head: { led } }) => ({ unit, led }));
