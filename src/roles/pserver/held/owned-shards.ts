/**
 * The shards that this pserver leads, and the heads under which it leads them. Units come and go while the process
 * runs. So other files ask here at the time of use, and keep no copy of the answer.
 */
import { assert } from '../../../base/assert.ts';
import type { ShardMoment } from '../../../checkpoint/file/capture.ts';
import type { Head } from '../../../cluster/placement/heads.ts';
import type { UnitBytes } from '../../../cluster/placement/pserver-record.ts';
import { type LedUnit, type PlacementStamp, stampOf } from '../../../core/placement.ts';
import type { CommittedLedgers } from '../../../core/shard/ledgers.ts';
import { type Grouping, shardsOfUnit, shardsOfUnits, unitOf } from '../../../core/units/units.ts';
import { blockShards } from '../../../tensor/blocks.ts';
import type { ParameterMemoryStats, Parameters } from '../../../tensor/parameters.ts';
import type { UnitParts } from '../update/parts.ts';
import { Held, type HeldJob, type ShardPositions } from './held.ts';
import type { OwnedHead, OwnedHeads } from './owned-heads.ts';

/** What was loaded into the shards. */
export interface ShardState extends ShardPositions {
  /** With all owned shards present. */
  readonly parameters: Parameters;
}

/** The job that the shards belong to. */
export interface ShardedJob extends HeldJob, Grouping {}

/** What requests need to know of the set of units. */
interface OwnedSet {
  /** Ascending. */
  readonly numbers: readonly number[];
  readonly stamp: PlacementStamp;
  /** Computed when it is first asked for. */
  blocks: readonly Uint32Array[] | undefined;
}

/** Stamps that this pserver had before, under which versions can still be compared. */
const FORMER_STAMPS_KEPT = 64;

/** Units come by `add`, and leave by `remove` or `release`: `hold` and `letGo` would leave their heads behind. */
export class OwnedShards extends Held {
  /** Under which the units are owned. */
  readonly heads: OwnedHeads;
  declare readonly job: ShardedJob;
  declare readonly parts: UnitParts;
  readonly #memory: { parameters: Parameters };
  /** Updates applied to any shard. */
  #updates = 0;
  #set: OwnedSet;
  /** Revisions of the stamps since units were last loaded from a file, the newest last. */
  #comparable: string[];

  constructor(job: ShardedJob, heads: OwnedHeads, { parameters, ...positions }: ShardState) {
    const memory = { parameters };
    super(job, memory);
    this.#memory = memory;
    this.heads = heads;
    this.#set = this.#workOut();
    this.hold(this.numbers, positions);
    this.#updates = this.#highestOf(this.numbers);
    this.#comparable = [this.stamp.revision];
  }

  /** Sync mode goes back to a cut: the same shards under the same heads are in another state. */
  restate({ parameters, ...positions }: ShardState): void {
    assert(
      this.numbers.every((shard) => parameters.hasShard(shard)),
      'the state is one of all owned shards',
    );
    this.#memory.parameters = parameters;
    this.letGo(this.numbers);
    this.hold(this.numbers, positions);
    this.#updates = this.#highestOf(this.numbers);
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
    this.hold(shards, positions);
    this.heads.add(owned);
    if (!isContinued) this.#loaded(shards);
    this.#changed();
  }

  /** Versions go on from the highest position. No version that a trainer knows can be compared with them. */
  #loaded(shards: readonly number[]): void {
    this.#updates = Math.max(this.#updates, this.#highestOf(shards));
    this.#comparable = [];
  }

  #highestOf(shards: readonly number[]): number {
    return shards.reduce((highest, shard) => Math.max(highest, this.seqOf(shard)!), 0);
  }

  /** A unit leaves, with its memory. */
  remove(unit: number): void {
    this.#leave(unit);
    for (const shard of this.shardsOf(unit)) this.parameters.dropShard(shard);
  }

  /** From now on another pserver leads the unit. Its shards stay in the memory here. Gives their positions. */
  release(unit: number): ShardPositions {
    const positions = this.positions(this.shardsOf(unit));
    this.#leave(unit);
    return positions;
  }

  #leave(unit: number): void {
    this.heads.remove(unit);
    this.letGo(this.shardsOf(unit));
    this.#changed();
  }

  /** Of a unit of the job, ascending. */
  shardsOf(unit: number): number[] {
    return shardsOfUnit(unit, this.job);
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
    this.#set.blocks ??= this.job.spec.dense.map((dense) => {
      const shardOfBlock = [...blockShards(dense, this.job.shards)];
      return Uint32Array.from(shardOfBlock.flatMap((shard, block) => (this.#isOwned(shard) ? [block] : [])));
    });
    return this.#set.blocks;
  }

  /**
   * An update counts in the version. With copies, the units of a push decide about it one after the other. Then the
   * push counts when the last of them has decided, even if that unit drops it.
   */
  raiseVersion(): void {
    this.#updates += 1;
  }

  /** What requests are answered from. */
  get committed(): CommittedLedgers {
    return this.ledgers;
  }

  /** The position of a shard at the instant of the call, for a checkpoint. */
  momentOf(shard: number): ShardMoment {
    const head = this.#headOf(shard);
    assert(head !== undefined, `shard ${shard} is owned`);
    return { shard, epoch: head.epoch, seq: this.seqOf(shard)!, ledger: this.ledgers.encode(shard) };
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
    return this.heads.of(unitOf(shard, this.job.units))?.head;
  }

  #isOwned(shard: number): boolean {
    return this.#headOf(shard) !== undefined;
  }

  #changed(): void {
    this.#set = this.#workOut();
    this.#comparable = [...this.#comparable, this.stamp.revision].slice(-FORMER_STAMPS_KEPT);
  }

  #workOut(): OwnedSet {
    const numbers = shardsOfUnits(this.heads.units(), this.job);
    return {
      numbers,
      stamp: stampOf(ledUnits(this.heads), this.job),
      blocks: undefined,
    };
  }
}

const ledUnits = (heads: OwnedHeads): LedUnit[] => [...heads.all()].map(({ unit, head: { led } }) => ({ unit, led }));
