/**
 * What a pserver knows of its own files so that the next one may have changes only (docs/decisions/0168, "Deltas"): of
 * each shard the parent, and the ids that are gone since. All of it is of this memory and this process. A shard that
 * was put in from elsewhere has no parent, and the next file has all of it.
 */
import { LIMITS } from '../../../base/limits.ts';
import type { ShardMoment } from '../../../checkpoint/file/capture.ts';
import type { ShardParent, ShardPosition } from '../../../checkpoint/file/format.ts';
import type { TrainedSpec } from '../../../tensor/optimizer.ts';
import type { ParameterMemory } from '../../../tensor/parameters.ts';
import { storedTables } from '../../../tensor/stored-tables.ts';

/** Ids of a stored table that were removed by one update or look. */
interface Removed {
  /** Removals are numbered in their order. */
  readonly number: number;
  /** Table of the model. */
  readonly table: number;
  readonly ids: BigUint64Array;
}

/** A file that has the shard as it was before the removals from `mark` on. */
interface Captured {
  readonly seq: number;
  readonly epoch: number;
  readonly mark: number;
}

interface ShardHistory {
  /** The last file that is known to be published. */
  parent: (Captured & ShardParent) | undefined;
  /** What the file has that is being published, if that file may become the parent. */
  captured: Captured | undefined;
  /** Removals from this one on are recorded completely. */
  completeFrom: number;
  removed: Removed[];
  /** Number of ids in `removed`. */
  removedIds: number;
}

/** A shard keeps this number of removed ids, even if that is more than a quarter of its rows. */
const FEWEST_KEPT = 1024;

export interface TrackedShards {
  /** Another object after all shards were put back to a cut. */
  readonly parameters: ParameterMemory;
  readonly job: { readonly spec: TrainedSpec };
}

export class DeltaParents {
  readonly #shards: TrackedShards;
  readonly #fewestKept: number;
  readonly #history = new Map<number, ShardHistory>();
  /** By stored table: its table of the model. */
  readonly #tableOf: readonly number[];
  #watched: { readonly parameters: ParameterMemory; readonly end: () => void } | undefined;
  /** Number of the next removal. */
  #next = 1;
  /** Number of the first removal in the watched memory. */
  #watchedFrom = 1;
  /** Views of shards at some mark that are not captured yet. */
  #views = 0;

  /** `fewestKept`: a smaller number in tests. */
  constructor(shards: TrackedShards, fewestKept: number = FEWEST_KEPT) {
    const { sparse } = shards.job.spec;
    this.#shards = shards;
    this.#fewestKept = fewestKept;
    this.#tableOf = storedTables(sparse).map(({ name }) => sparse.findIndex((table) => table.name === name));
    this.#watch();
  }

  /**
   * The shards as they are now will be captured later, from a view. `endView` is to be called after that. Returns what
   * `capture` needs.
   */
  beginView(): number {
    this.#watch();
    this.#views += 1;
    return this.#next;
  }

  endView(): void {
    this.#views -= 1;
  }

  /** Names of the files that a delta of these shards builds on. */
  namesFor(shards: readonly number[]): string[] {
    this.#watch();
    const names = new Set(shards.flatMap((shard) => this.#history.get(shard)?.parent?.uuid ?? []));
    // Shards with other parents are whole.
    return [...names].slice(0, LIMITS.deltaParents);
  }

  /**
   * Notes that a file has the shard as it is at this moment, or as it was when the view of that mark began. Returns the
   * moment for the file: with a parent if the file is to have changes only. `parents`: those that the file may name.
   */
  capture(moment: ShardMoment, parents: readonly string[] = [], mark: number = this.#next): ShardMoment {
    this.#watch();
    const history = this.#of(moment.shard);
    const { parent } = history;
    const { seq, epoch } = moment;
    if (mark >= history.completeFrom) history.captured = { seq, epoch, mark };
    // An epoch has one primary: in another one, files of another pserver may have replaced the parent.
    if (parent?.epoch !== epoch || parent.seq > seq || parent.mark > mark || !parents.includes(parent.uuid))
      return moment;
    const removed = this.#shards.job.spec.sparse.map((_, table) => removedFrom(history.removed, table, mark));
    return { ...moment, parent: { uuid: parent.uuid, seq: parent.seq }, removed };
  }

  /** The file that has these positions is known to be published. */
  published(uuid: string, positions: readonly ShardPosition[]): void {
    for (const { shard, seq } of positions) {
      const history = this.#history.get(shard);
      if (history?.captured?.seq !== seq) continue;
      const { captured } = history;
      history.parent = { ...captured, uuid };
      history.completeFrom = captured.mark;
      history.captured = undefined;
      history.removed = history.removed.filter(({ number }) => number >= captured.mark);
      history.removedIds = history.removed.reduce((sum, { ids }) => sum + ids.length, 0);
    }
  }

  /** The file that was captured last is known not to be published: the parents stay. */
  refused(): void {
    for (const history of this.#history.values()) history.captured = undefined;
  }

  #of(shard: number): ShardHistory {
    const known = this.#history.get(shard);
    if (known !== undefined) return known;
    // No removal of this shard was seen, so that all of them since then are known.
    const completeFrom = this.#watchedFrom;
    const fresh = { parent: undefined, captured: undefined, completeFrom, removed: [], removedIds: 0 };
    this.#history.set(shard, fresh);
    return fresh;
  }

  #watch(): void {
    const { parameters } = this.#shards;
    if (this.#watched?.parameters === parameters) return;
    this.#watched?.end();
    for (const shard of this.#history.keys()) this.#forget(shard);
    this.#watchedFrom = this.#next;
    const end = parameters.watch({
      removing: (shard, table, ids) => this.#noteRemoved(shard, this.#tableOf[table]!, ids),
      lowering() {},
      replacing: (shard) => this.#forget(shard),
    });
    this.#watched = { parameters, end };
  }

  #noteRemoved(shard: number, table: number, ids: BigUint64Array): void {
    const history = this.#of(shard);
    const number = this.#next++;
    if (history.parent === undefined && history.captured === undefined && this.#views === 0) {
      history.completeFrom = this.#next;
      return;
    }
    history.removed.push({ number, table, ids: ids.slice() });
    history.removedIds += ids.length;
    const rows = this.#tableOf.reduce((sum, _, stored) => sum + this.#shards.parameters.rowsOf(shard, stored), 0);
    if (history.removedIds > Math.max(this.#fewestKept, rows / 4)) this.#forget(shard);
  }

  /** The next file has the whole shard, whatever becomes of a file that is being published. */
  #forget(shard: number): void {
    const history = this.#of(shard);
    history.parent = undefined;
    history.captured = undefined;
    // A view that began before has the shard as it was then.
    history.completeFrom = ++this.#next;
    history.removed = [];
    history.removedIds = 0;
  }
}

/** Ascending and distinct: the ids of a table that were removed before the mark. */
function removedFrom(all: readonly Removed[], table: number, mark: number): BigUint64Array {
  const some = all.filter((one) => one.table === table && one.number < mark);
  const ids = new BigUint64Array(some.reduce((sum, { ids: one }) => sum + one.length, 0));
  let at = 0;
  for (const { ids: one } of some) {
    ids.set(one, at);
    at += one.length;
  }
  ids.sort();
  return ids.filter((id, place) => place === 0 || id !== ids[place - 1]);
}
