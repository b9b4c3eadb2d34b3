/**
 * The shards that this pserver leads, and the heads under which it leads them. Units come and go while the process
 * runs. So other files ask this class at the time of use, and keep no copy of the answer.
 */
import { assert } from '../../../base/assert.ts';
import type { ShardMoment } from '../../../checkpoint/file/capture.ts';
import type { Head } from '../../../cluster/placement/heads.ts';
import type { UnitBytes } from '../../../cluster/placement/pserver-record.ts';
import { type LedUnit, type PlacementStamp, stampOf } from '../../../core/placement.ts';
import type { CommittedLedgers } from '../../../core/shard/ledgers.ts';
import { type Grouping, shardsOfUnit, shardsOfUnits, unitOf } from '../../../core/units/units.ts';
import type { TableReport } from '../../../protocol/messages/table-report.ts';
import { addIds } from '../../../tensor/admission/table-counts.ts';
import { blockShards } from '../../../tensor/blocks.ts';
import type { ParameterMemoryStats, Parameters } from '../../../tensor/parameters.ts';
import type { UnitParts } from '../update/parts.ts';
import { Held, type HeldJob } from './held.ts';
import type { OwnedHead, OwnedHeads } from './owned-heads.ts';
import type { ShardPositions } from './positions.ts';

/** The state of all owned shards. */
export interface ShardState extends ShardPositions {
  /** All owned shards must be present. */
  readonly parameters: Parameters;
}

/** The job that the shards belong to. */
export interface ShardedJob extends HeldJob, Grouping {}

/** Data about the set of owned shards, which requests use. */
interface OwnedSet {
  /** Ascending. */
  readonly numbers: readonly number[];
  readonly stamp: PlacementStamp;
  /** Blocks of each dense parameter; computed on first use. */
  blocks: readonly Uint32Array[] | undefined;
}

export interface OwnedStats extends ParameterMemoryStats {
  readonly units: number;
  readonly shards: number;
}

/** Number of placement stamps, including the current one, under which versions can be compared. */
const FORMER_STAMPS_KEPT = 64;

/** Units come by `add`, and leave by `remove` or `release`. Do not use `hold` and `letGo`, which change no heads. */
export class OwnedShards extends Held {
  /** The heads under which the units are owned. */
  readonly heads: OwnedHeads;
  declare readonly job: ShardedJob;
  declare readonly parts: UnitParts;
  readonly #memory: { parameters: Parameters };
  /** Number of applied updates: `version`. */
  #updates = 0;
  #set: OwnedSet;
  /** Revisions of the stamps since shards were last loaded from a file. The newest is last. */
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

  /** Sync mode: replaces the state of all owned shards, which go back to a cut. Shards and heads stay the same. */
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
   * Adds a unit whose shards are present in the parameters. `isContinued`: the unit has every update that was ever
   * applied to it; otherwise it was loaded from a file. Throws `CheckpointCorrupt` if a ledger cannot be read.
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

  /** Versions continue from the highest position. They cannot be compared with the versions that trainers know. */
  #loaded(shards: readonly number[]): void {
    this.#updates = Math.max(this.#updates, this.#highestOf(shards));
    this.#comparable = [];
  }

  #highestOf(shards: readonly number[]): number {
    return shards.reduce((highest, shard) => Math.max(highest, this.seqOf(shard)!), 0);
  }

  /** Removes a unit, and drops its shards from the memory. */
  remove(unit: number): void {
    this.#leave(unit);
    for (const shard of this.shardsOf(unit)) this.parameters.dropShard(shard);
  }

  /**
   * Removes a unit that another pserver leads from now on. Its shards stay in the memory here. Returns the positions of
   * these shards.
   */
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

  /** Returns the shards of a unit of the job, ascending. */
  shardsOf(unit: number): number[] {
    return shardsOfUnit(unit, this.job);
  }

  /** Numbers of the owned shards, ascending. */
  get numbers(): readonly number[] {
    return this.#set.numbers;
  }

  /** Identifies the set of owned units in requests. */
  get stamp(): PlacementStamp {
    return this.#set.stamp;
  }

  /**
   * Number of applied updates: the version that answers to pulls contain. It does not fall when units come or go; only
   * going back to a cut can lower it. An update counts when the last of its units has decided about it. So the values
   * contain at least the updates that the version counts, and a gradient never looks fresher than it is. The values may
   * contain more: updates about which not all units have decided.
   */
  get version(): number {
    return this.#updates;
  }

  /** Whether a version from a time when the stamp had this revision can be compared with the current version. */
  isComparable(revision: string): boolean {
    return this.#comparable.includes(revision);
  }

  /** For each dense parameter, its blocks in the owned shards, ascending. */
  get blocks(): readonly Uint32Array[] {
    this.#set.blocks ??= this.job.spec.dense.map((dense) => {
      const shardOfBlock = [...blockShards(dense, this.job.shards)];
      return Uint32Array.from(shardOfBlock.flatMap((shard, block) => (this.#isOwned(shard) ? [block] : [])));
    });
    return this.#set.blocks;
  }

  /**
   * Counts an update in the version. Where units have copies, the units of a push decide about it one after the other.
   * If some unit commits the push, the caller counts it when the last unit has decided, even if that unit drops it.
   */
  raiseVersion(): void {
    this.#updates += 1;
  }

  /** The ledgers that requests are answered from. They contain only committed updates. */
  get committed(): CommittedLedgers {
    return this.ledgers;
  }

  /** Returns the position of a shard at the instant of the call, for a checkpoint. */
  momentOf(shard: number): ShardMoment {
    const head = this.#headOf(shard);
    assert(head !== undefined, `shard ${shard} is owned`);
    const looks = this.looksOf(shard);
    return { shard, epoch: head.epoch, seq: this.seqOf(shard)!, ledger: this.ledgers.encode(shard), looks };
  }

  /** Statistics of the owned shards. `reservedBytes` is for the whole memory, including shards that are not owned. */
  stats(): OwnedStats {
    const { reservedBytes } = this.parameters.stats();
    const each = this.numbers.map((shard) => this.parameters.stats(shard));
    const rows = each.reduce((sum, one) => sum + one.rows, 0);
    const bytes = each.reduce((sum, one) => sum + one.bytes, 0);
    return { rows, bytes, reservedBytes, units: this.heads.units().length, shards: this.numbers.length };
  }

  /** Returns `tables` as a field of a message. The field is absent if the job has no such table. */
  reportedTables(): { readonly tables?: TableReport[] } {
    const tables = this.tables();
    return tables.length === 0 ? {} : { tables };
  }

  /** Reports the tables with admission, eviction or a bound, as far as their owned shards go. */
  tables(): TableReport[] {
    return this.job.spec.sparse.flatMap(({ name, shardBytes }, table) => {
      const counts = this.counts[table];
      if (counts === undefined) return [];
      const use = { rows: 0, candidates: 0, bytes: 0 };
      for (const shard of this.numbers) {
        const { rows, candidates, bytes } = this.parameters.tableUse(shard, table);
        addIds(use, { rows, candidates });
        use.bytes += bytes;
      }
      const bound = shardBytes === undefined ? {} : { boundBytes: shardBytes * this.numbers.length };
      return { name, ...use, ...bound, ...structuredClone(counts) };
    });
  }

  /** Returns the sizes of the owned units, ascending by unit. */
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
