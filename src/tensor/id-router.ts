/**
 * The trainer's side of sparse tables, in batches: the distinct ids of a mini-batch, which pserver each goes to, and the rows
 * that go with them. Ids are u64 little-endian bytes throughout. The memory it works in is reused and grows with the largest
 * batch.
 */
import { assert } from '../base/assert.ts';
import { PaddletError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { KernelHeap } from './kernel-heap.ts';
import { nameHash, shardOfRow } from './shard-hash.ts';

export interface DistinctIds {
  /** In order of first appearance. */
  readonly ids: Uint8Array;
  readonly distinct: number;
  /** For each id given, its place among the distinct ones. */
  readonly columns: Uint32Array;
}

/** What goes to one pserver. */
export interface Route {
  /** The pserver's index, as in `placement`. */
  readonly pserver: number;
  /** Places among the ids given, ascending. */
  readonly positions: Uint32Array;
  /** The ids at those places, u64 little-endian, 8-byte aligned. */
  readonly ids: Uint8Array;
}

export interface IdRouter {
  /** The first `count` ids of `ids`. */
  dedupe(ids: Uint8Array, count: number): DistinctIds;
  /**
   * Splits the first `count` ids by pserver, lowest first; pservers without any are left out. `placement` has the pserver of
   * each shard. Throws `StalePlacement` when an id's shard has none (a negative entry).
   */
  route(table: string, ids: Uint8Array, count: number, placement: Int32Array): Route[];
}

/** Throws `OutOfMemory` on use when a batch exceeds what 4 GiB of memory can hold. */
export function createIdRouter(options: { readonly shards: number }): IdRouter {
  return new WasmIdRouter(options.shards);
}

class WasmIdRouter implements IdRouter {
  readonly #heap = new KernelHeap();
  readonly #shards: number;
  readonly #hashes = new Map<string, bigint>();

  constructor(shards: number) {
    assert(Number.isInteger(shards) && shards >= 1 && shards <= LIMITS.shards, 'shards is between 1 and its limit');
    this.#shards = shards;
  }

  #hashOf(table: string): bigint {
    let hash = this.#hashes.get(table);
    if (hash === undefined) {
      hash = nameHash(table);
      this.#hashes.set(table, hash);
    }
    return hash;
  }

  dedupe(ids: Uint8Array, count: number): DistinctIds {
    assert(count * 8 <= ids.length, 'there are as many ids as said');
    const size = indexSize(count);
    return this.#heap.withInputs([ids.subarray(0, 8 * count)], ([idsAt]) =>
      this.#heap.withScratch(12 * count + 4 * size, (distinctAt) => {
        const columnsAt = distinctAt + 8 * count;
        const indexAt = columnsAt + 4 * count;
        const distinct = this.#heap.kernels.dedupe(idsAt!, count, distinctAt, columnsAt, indexAt, size);
        return {
          ids: this.#heap.bytes.slice(distinctAt, distinctAt + 8 * distinct),
          distinct,
          columns: new Uint32Array(this.#heap.bytes.slice(columnsAt, columnsAt + 4 * count).buffer),
        };
      }),
    );
  }

  route(table: string, ids: Uint8Array, count: number, placement: Int32Array): Route[] {
    assert(count * 8 <= ids.length, 'there are as many ids as said');
    assert(placement.length === this.#shards, 'the placement names every shard');
    const pservers = placement.reduce((most, pserver) => Math.max(most, pserver), -1) + 1;
    assert(pservers <= LIMITS.pservers, 'the placement has at most the limit of pservers');
    const hash = this.#hashOf(table);
    const placementBytes = new Uint8Array(placement.buffer, placement.byteOffset, placement.byteLength);
    return this.#heap.withInputs([ids.subarray(0, 8 * count), placementBytes], ([idsAt, placementAt]) =>
      this.#heap.withScratch(16 * count + 4 * pservers, (dealt) => {
        const { kernels } = this.#heap;
        const positions = dealt + 8 * count;
        const owners = positions + 4 * count;
        const counts = owners + 4 * count;
        this.#heap.bytes.fill(0, counts, counts + 4 * pservers);
        const bad = kernels.countOwners(hash, this.#shards, idsAt!, count, placementAt!, owners, counts);
        if (bad >= 0) throw this.#noOwner(table, hash, ids, bad);
        const sizes = new Uint32Array(this.#heap.bytes.slice(counts, counts + 4 * pservers).buffer);
        this.#writeStarts(counts, sizes);
        kernels.deal(idsAt!, count, owners, counts, positions, dealt);
        return this.#routes(sizes, positions, dealt);
      }),
    );
  }

  /** Replaces the counts in kernel memory by the place where each pserver's ids begin. */
  #writeStarts(at: number, sizes: Uint32Array): void {
    const starts = new Uint32Array(sizes.length);
    for (let pserver = 1; pserver < sizes.length; pserver++) {
      starts[pserver] = starts[pserver - 1]! + sizes[pserver - 1]!;
    }
    this.#heap.bytes.set(new Uint8Array(starts.buffer), at);
  }

  #routes(sizes: Uint32Array, positions: number, dealt: number): Route[] {
    const bytes = this.#heap.bytes;
    const routes: Route[] = [];
    let from = 0;
    sizes.forEach((size, pserver) => {
      const to = from + size;
      if (size > 0) {
        routes.push({
          pserver,
          positions: new Uint32Array(bytes.slice(positions + 4 * from, positions + 4 * to).buffer),
          ids: bytes.slice(dealt + 8 * from, dealt + 8 * to),
        });
      }
      from = to;
    });
    return routes;
  }

  #noOwner(table: string, hash: bigint, ids: Uint8Array, index: number): PaddletError {
    const id = new DataView(ids.buffer, ids.byteOffset).getBigUint64(8 * index, true);
    const shard = shardOfRow(hash, id, this.#shards);
    return new PaddletError('StalePlacement', `${table}: shard ${shard} has no pserver`, { details: { table, shard } });
  }
}

/** A power of two, so that at most 3/4 is filled. */
function indexSize(count: number): number {
  let size = 16;
  while (count * 4 > size * 3) size *= 2;
  return size;
}

/** The rows at `positions`, one after the other: what goes to one pserver. `rows` is n × width. */
export function gatherRows(rows: Float32Array, width: number, positions: Uint32Array): Float32Array {
  const gathered = new Float32Array(positions.length * width);
  for (let row = 0; row < positions.length; row++) {
    const from = positions[row]! * width;
    const to = row * width;
    for (let column = 0; column < width; column++) gathered[to + column] = rows[from + column]!;
  }
  return gathered;
}

/** Puts rows that came from one pserver at their positions. `into` is n × width, `rows` positions.length × width. */
export function scatterRows(into: Float32Array, width: number, positions: Uint32Array, rows: Float32Array): void {
  assert(rows.length === positions.length * width, 'there is one row for each position');
  for (let row = 0; row < positions.length; row++) {
    const from = row * width;
    const to = positions[row]! * width;
    for (let column = 0; column < width; column++) into[to + column] = rows[from + column]!;
  }
}
