/**
 * A table that does not give a row to each id: it has an admission rule or a bound (docs/decisions/0168). For each push
 * it decides which ids get rows, evicts the least recent ones if the bound demands it, and counts candidates. What it
 * decides depends on the update and the content of the shard alone, so all copies of a shard decide the same.
 */
import { assert } from '../../base/assert.ts';
import { randomKey } from '../initializer.ts';
import type { KernelHeap } from '../kernel-heap.ts';
import { createCounter } from '../kernel-optimizer.ts';
import { SparseTable, type TableOptions } from '../sparse-table.ts';
import {
  type AdmissionRules,
  afterEvictions,
  CANDIDATE_BYTES,
  candidateLimit,
  chancesOf,
  type Draw,
  drawOf,
  HIGHEST_SEEN,
  LOADING_EXCESS,
  type UpdateName,
} from './admission.ts';
import { type AgedTable, LeastRecent } from './least-recent.ts';
import { type Room, roomFor } from './room.ts';
import { addIds, type TableCounts } from './table-counts.ts';

/** What a push does with an id. kernels/assembly/admission.ts defines these numbers. */
const FATE = { row: 0, newRow: 1, promoted: 2, counted: 3, newCandidate: 4, notAdmitted: 5 } as const;
/** The kernel tallies, by shard: a u32 for each fate. */
const FATES = Object.keys(FATE).length;
const TALLY_BYTES = 4 * FATES;

/** All rows may be evicted. */
const NO_UPDATE = HIGHEST_SEEN + 1;

/** Addresses of a part of a push. */
export interface LimitedPart {
  readonly ids: number;
  readonly count: number;
  /** Where the rows are: a u32 for each id. */
  readonly located: number;
  /** Memory for this class: `areaBytes`. */
  readonly area: number;
}

/** A shard that makes room for a push. */
export interface ShardRoom {
  readonly shard: number;
  readonly room: Room;
  /** Number of ids that are refused. */
  readonly refused: number;
}

export class LimitedTable {
  readonly rows: SparseTable;
  /** Undefined: an id is never a candidate. */
  readonly candidates: SparseTable | undefined;
  readonly #rules: AdmissionRules;
  readonly #heap: KernelHeap;
  readonly #shards: number;
  readonly #key: bigint;
  /** Undefined if the table has no bound. */
  readonly #leastRecent: LeastRecent | undefined;
  /** If rows have no `seen`: address of a 0 for each shard, which is the `seen` of its candidates. */
  readonly #unseenAt: number | undefined;

  constructor(heap: KernelHeap, rows: SparseTable, rules: AdmissionRules, options: Omit<TableOptions, 'optimizer'>) {
    assert(rules.shardBytes === undefined || rows.hasSeen, 'rows that may be evicted have a seen');
    this.rows = rows;
    this.#rules = rules;
    this.#heap = heap;
    this.#shards = options.shards;
    this.#key = randomKey(rows.spec.name, options.seed);
    if (rules.shardBytes !== undefined) this.#leastRecent = new LeastRecent(heap);
    if (rules.admission?.type !== 'count') return;
    const { name } = rows.spec;
    if (!rows.hasSeen) {
      this.#unseenAt = heap.allocate(4 * options.shards);
      heap.bytes.fill(0, this.#unseenAt, this.#unseenAt + 4 * options.shards);
    }
    const optimizer = createCounter(heap);
    this.candidates = new SparseTable(
      heap,
      { name, width: 0, initializer: { type: 'zeros' } },
      { ...options, optimizer, hasSeen: true },
    );
  }

  /** Bytes that a part of `count` ids needs. */
  areaBytes(count: number): number {
    // A multiple of 4.
    return TALLY_BYTES * this.#shards + 4 * count + 4 * Math.ceil(count / 4);
  }

  /**
   * Decides which located ids of a push get rows, and expects the new rows and candidates. The push skips ids that get
   * no row. Changes no row and no candidate. Throws `OutOfMemory`.
   */
  judge(part: LimitedPart, name: UpdateName): readonly ShardRoom[] {
    const { kernels, bytes } = this.#heap;
    const { ids, count, located } = part;
    const { tallies, places, fates } = this.#areasOf(part);
    bytes.fill(0, tallies, places);
    const { key, word } = this.#drawOf(name);
    const candidates = this.candidates?.address ?? 0;
    const table = this.rows.address;
    kernels.judgeRows(
      table,
      candidates,
      this.#min,
      this.#chances,
      key,
      word,
      ids,
      count,
      located,
      fates,
      places,
      tallies,
    );
    const rooms = this.#rooms(tallies).map(({ shard, room }) => {
      return { shard, room, refused: this.#refuse(part, shard, room) };
    });
    kernels.expectAdmitted(table, candidates, ids, count, fates, located);
    return rooms;
  }

  /** Adds to `counts` what was decided. Call this when the push cannot fail anymore. */
  count(part: LimitedPart, rooms: readonly ShardRoom[], counts: TableCounts): void {
    const tallies = this.#talliesAt(this.#areasOf(part).tallies);
    for (let at = 0; at < tallies.length; at += FATES) {
      counts.updated += tallies[at + FATE.row]!;
      counts.admitted += tallies[at + FATE.newRow]! + tallies[at + FATE.promoted]!;
      counts.notAdmitted +=
        tallies[at + FATE.counted]! + tallies[at + FATE.newCandidate]! + tallies[at + FATE.notAdmitted]!;
    }
    for (const { refused } of rooms) counts.refused += refused;
  }

  /** Evicts. `seen` has the `seen` of the update by shard, `seenAt` is its address. */
  makeRoom(
    part: LimitedPart,
    rooms: readonly ShardRoom[],
    seen: Uint32Array,
    seenAt: number,
    counts: TableCounts | undefined,
  ): void {
    if (rooms.length === 0) return;
    const { ids, count, located } = part;
    this.rows.markSeen(ids, count, located, seenAt);
    const { candidates } = this;
    if (candidates !== undefined)
      this.#heap.kernels.markCandidates(candidates.address, ids, count, this.#areasOf(part).places, seenAt);
    for (const { shard, room } of rooms) this.#evict(shard, room, seen[shard]!, counts);
  }

  /** After the rows were updated. `seenAt` is required if rows have a `seen`. */
  countCandidates(part: LimitedPart, seenAt: number | undefined): void {
    if (this.candidates === undefined) return;
    const { fates, places } = this.#areasOf(part);
    const seen = this.#unseenAt ?? seenAt!;
    this.#heap.kernels.countCandidates(this.candidates.address, part.ids, part.count, fates, places, seen);
  }

  /** Writes the initial values of ids without a row to `old`, which has a row for each id of the part. */
  fillOld(part: LimitedPart, old: number): void {
    this.#heap.kernels.initialOld(this.rows.address, part.ids, part.count, this.#areasOf(part).fates, old);
  }

  /**
   * For a shard that is filled from elsewhere: removes what is too much for it. The most recent rows stay, then the
   * most recent candidates as far as there is room. While the shard `isLoading`, it may exceed its limits by
   * `LOADING_EXCESS`.
   */
  keepMostRecent(shard: number, isLoading: boolean): void {
    const { shardBytes } = this.#rules;
    if (shardBytes === undefined) return;
    const { rows, candidates } = this;
    const most = Math.floor(shardBytes / rows.rowBytes);
    this.#evictTo(shard, { table: rows, bytes: rows.rowBytes }, most, isLoading);
    if (candidates === undefined) return;
    const left = Math.max(0, shardBytes - rows.rowsOf(shard) * rows.rowBytes);
    const room = Math.min(candidateLimit(shardBytes), Math.floor(left / CANDIDATE_BYTES));
    this.#evictTo(shard, { table: candidates, bytes: CANDIDATE_BYTES }, room, isLoading);
  }

  #evictTo(shard: number, one: AgedTable, most: number, isLoading: boolean): void {
    const rows = one.table.rowsOf(shard);
    // While loading, one row more than fits stays. So the end knows that there were too many, however they came.
    if (rows <= (isLoading ? (most + 1) * (1 + LOADING_EXCESS) : most)) return;
    // If all shards were equally full, the same update would have to evict in all of them.
    const free = Math.floor(((most - afterEvictions(most)) * shard) / this.#shards);
    const kept = isLoading ? most + 1 : most - free;
    this.#leastRecent!.remove(shard, [one], NO_UPDATE, (rows - kept) * one.bytes);
  }

  get #min(): number {
    const { admission } = this.#rules;
    return admission?.type === 'count' ? admission.min : 1;
  }

  get #chances(): bigint {
    const { admission } = this.#rules;
    return chancesOf(admission?.type === 'probability' ? admission.p : 1);
  }

  #drawOf(name: UpdateName): Draw {
    return this.#rules.admission?.type === 'probability' ? drawOf(this.#key, name) : { key: 0n, word: 0 };
  }

  #areasOf({ area, count }: LimitedPart): { tallies: number; places: number; fates: number } {
    const places = area + TALLY_BYTES * this.#shards;
    return { tallies: area, places, fates: places + 4 * count };
  }

  /** The tallies of all shards, one shard after the other. */
  #talliesAt(tallies: number): Uint32Array {
    return new Uint32Array(this.#heap.bytes.buffer, tallies, FATES * this.#shards);
  }

  #rooms(tallies: number): { readonly shard: number; readonly room: Room }[] {
    const { shardBytes } = this.#rules;
    if (shardBytes === undefined) return [];
    const all = this.#talliesAt(tallies);
    const rooms: { readonly shard: number; readonly room: Room }[] = [];
    for (let shard = 0; shard < this.#shards; shard++) {
      const at = FATES * shard;
      const [newRows, promoted, newCandidates] = [
        all[at + FATE.newRow]!,
        all[at + FATE.promoted]!,
        all[at + FATE.newCandidate]!,
      ];
      if (newRows + promoted + newCandidates === 0) continue;
      const named = { rows: all[at + FATE.row]!, newRows, promoted, counted: all[at + FATE.counted]!, newCandidates };
      const held = { rows: this.rows.rowsOf(shard), candidates: this.candidates?.rowsOf(shard) ?? 0 };
      const room = roomFor(held, named, { shardBytes, rowBytes: this.rows.rowBytes });
      if (room !== undefined) rooms.push({ shard, room });
    }
    return rooms;
  }

  /**
   * Refuses new ids, and removes them from the tally of the shard. Returns their number. A candidate that would have
   * got its row keeps its count.
   */
  #refuse(part: LimitedPart, shard: number, { refusedCandidates, refusedBytes }: Room): number {
    if (refusedCandidates + refusedBytes === 0) return 0;
    const { ids, count } = part;
    const { fates, tallies } = this.#areasOf(part);
    return this.#heap.withScratch(4 * count, (out) => {
      const listed = this.#heap.kernels.listNew(this.rows.address, shard, ids, count, fates, out);
      const { bytes } = this.#heap;
      const places = [...new Uint32Array(bytes.buffer, out, listed)]
        .map((at) => ({ at, id: this.rows.idAt(ids, at), fate: bytes[fates + at]! }))
        .sort((a, b) => (a.id < b.id ? 1 : -1));
      const tooMany = places.filter(({ fate }) => fate === FATE.newCandidate).slice(0, refusedCandidates);
      const refused = new Set(tooMany);
      let left = refusedBytes;
      for (const one of places) {
        if (left <= 0) break;
        if (refused.has(one)) continue;
        refused.add(one);
        left -= this.#freedBy(one.fate);
      }
      const tally = new Uint32Array(bytes.buffer, tallies + TALLY_BYTES * shard, FATES);
      for (const { at, fate } of refused) {
        bytes[fates + at] = FATE.notAdmitted;
        tally[fate]! -= 1;
      }
      return refused.size;
    });
  }

  #freedBy(fate: number): number {
    if (fate === FATE.newCandidate) return CANDIDATE_BYTES;
    return this.rows.rowBytes - (fate === FATE.promoted ? CANDIDATE_BYTES : 0);
  }

  #evict(shard: number, { evictedCandidates, evictedBytes }: Room, now: number, counts: TableCounts | undefined): void {
    const candidates = this.candidates === undefined ? [] : [{ table: this.candidates, bytes: CANDIDATE_BYTES }];
    const all = [{ table: this.rows, bytes: this.rows.rowBytes }, ...candidates];
    const gone = { rows: 0, candidates: 0 };
    if (evictedCandidates > 0) {
      const bytes = evictedCandidates * CANDIDATE_BYTES;
      gone.candidates += this.#leastRecent!.remove(shard, candidates, now, bytes)[0]!;
    }
    if (evictedBytes > 0) {
      const [fromRows = 0, fromCandidates = 0] = this.#leastRecent!.remove(shard, all, now, evictedBytes);
      addIds(gone, { rows: fromRows, candidates: fromCandidates });
    }
    if (counts !== undefined) addIds(counts.evicted.bound, gone);
  }
}
