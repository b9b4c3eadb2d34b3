/**
 * The trainer's side of sparse tables, in batches: the distinct ids of a mini-batch, which pserver each goes to, and
 * the rows that go with them. Ids are u64 little-endian bytes throughout. The memory it works in is reused and grows
 * with the largest batch.
 */
import { assert } from '../base/assert.ts';
import { PaddletError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { KernelHeap } from './kernel-heap.ts';
import { randomMultiplier } from './random-multiplier.ts';
import { nameHash, shardOfRow } from './shard-hash.ts';

/** `count` distinct ids. */
export interface IdList {
  /** u64 little-endian. */
  readonly ids: Uint8Array;
  readonly count: number;
}

export const NO_IDS: IdList = { ids: new Uint8Array(0), count: 0 };

export interface DistinctIds {
  /** Ids in order of first appearance. */
  readonly ids: Uint8Array;
  readonly distinct: number;
  /** For each id given, its place among the distinct ones. */
  readonly places: Uint32Array;
}

/** What goes to one pserver. */
export interface Route {
  /** The pserver's index, as in `placement`. */
  readonly pserver: number;
  /** Places among the ids given: shard by shard where there are many, ascending in each. */
  readonly positions: Uint32Array;
  /** The ids at those places, u64 little-endian, 8-byte aligned. */
  readonly ids: Uint8Array;
}

/** Gives memory for `byteLength` bytes, 8-byte aligned, with any content. */
export type TakeBytes = (byteLength: number) => Uint8Array;

const freshBytes: TakeBytes = (byteLength) => new Uint8Array(byteLength);

export interface IdRouter {
  /** The first `count` ids of `ids`. */
  dedupe(ids: Uint8Array, count: number): DistinctIds;
  /**
   * Splits the first `count` ids by pserver, lowest first; pservers without any are left out. `placement` has the
   * pserver of each shard. Throws `StalePlacement` when an id's shard has none (a negative entry). Many ids are also
   * grouped by shard: then a pserver works in the memory of one small table after the other, which is in its cache,
   * instead of in all at once. The routes are put in what `take` gives: fresh memory costs more than filling it.
   */
  route(table: string, ids: Uint8Array, count: number, placement: Int32Array, take?: TakeBytes): Route[];
  /** How many of the first `count` ids each pile has. `pileOf` has the pile of each shard, below `piles`. */
  tally(table: string, ids: Uint8Array, count: number, pileOf: Int32Array, piles: number): Uint32Array;
}

/** Throws `OutOfMemory` on use when a batch exceeds what 4 GiB of memory can hold. */
export function createIdRouter(options: { readonly shards: number }): IdRouter {
  return new WasmIdRouter(options.shards);
}

/**
 * How ids are split: the pile of each shard, negative for shards without a pserver. Piles of one pserver are adjacent.
 */
interface Deal {
  readonly pileOf: Int32Array;
  readonly piles: number;
  readonly pservers: number;
  /** The pserver of each pile; undefined where piles are pservers. */
  readonly pserverOf: Int32Array | undefined;
}

/** Where in kernel memory the places and the ids are, pile after pile. */
interface Dealt {
  readonly positions: number;
  readonly dealt: number;
}

/** The number of pservers. A loop: this is done for each small batch. */
function mostOf(placement: Int32Array): number {
  let most = -1;
  for (let shard = 0; shard < placement.length; shard++) if (placement[shard]! > most) most = placement[shard]!;
  return most + 1;
}

function byPserver(placement: Int32Array): Deal {
  const pservers = mostOf(placement);
  return { pileOf: placement, piles: pservers, pservers, pserverOf: undefined };
}

function byShard(placement: Int32Array): Deal {
  const order = Uint32Array.from(placement.keys()).sort((a, b) => placement[a]! - placement[b]! || a - b);
  const pileOf = new Int32Array(placement.length);
  order.forEach((shard, pile) => {
    pileOf[shard] = placement[shard]! < 0 ? -1 : pile;
  });
  const pserverOf = Int32Array.from(order, (shard) => placement[shard]!);
  return { pileOf, piles: placement.length, pservers: mostOf(placement), pserverOf };
}

function sizesByPserver({ pservers, pserverOf }: Deal, sizes: Uint32Array): Uint32Array {
  if (pserverOf === undefined) return sizes;
  const sums = new Uint32Array(pservers);
  pserverOf.forEach((pserver, pile) => {
    if (pserver >= 0) sums[pserver]! += sizes[pile]!;
  });
  return sums;
}

function isSame(a: Int32Array, b: Int32Array): boolean {
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false;
  return true;
}

class WasmIdRouter implements IdRouter {
  readonly #heap = new KernelHeap();
  readonly #shards: number;
  readonly #hashes = new Map<string, bigint>();
  #dealt: { readonly placement: Int32Array; readonly deal: Deal } | undefined;

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
        const placesAt = distinctAt + 8 * count;
        const indexAt = placesAt + 4 * count;
        const { kernels } = this.#heap;
        const distinct = kernels.dedupe(idsAt!, count, distinctAt, 0, placesAt, indexAt, size, randomMultiplier());
        return {
          ids: this.#heap.bytes.slice(distinctAt, distinctAt + 8 * distinct),
          distinct,
          places: new Uint32Array(this.#heap.bytes.slice(placesAt, placesAt + 4 * count).buffer),
        };
      }),
    );
  }

  route(table: string, ids: Uint8Array, count: number, placement: Int32Array, take = freshBytes): Route[] {
    assert(count * 8 <= ids.length, 'there are as many ids as said');
    assert(placement.length === this.#shards, 'the placement names every shard');
    // Fewer ids than shards have no neighbors to be grouped with.
    const deal = count < this.#shards ? byPserver(placement) : this.#byShard(placement);
    assert(deal.pservers <= LIMITS.pservers, 'the placement has at most the limit of pservers');
    const hash = this.#hashOf(table);
    const pileOf = new Uint8Array(deal.pileOf.buffer, deal.pileOf.byteOffset, deal.pileOf.byteLength);
    return this.#heap.withInputs([ids.subarray(0, 8 * count), pileOf], ([idsAt, pileOfAt]) =>
      this.#heap.withScratch(16 * count + 4 * deal.piles, (dealt) => {
        const { kernels } = this.#heap;
        const positions = dealt + 8 * count;
        const piles = positions + 4 * count;
        const counts = piles + 4 * count;
        this.#heap.bytes.fill(0, counts, counts + 4 * deal.piles);
        const bad = kernels.countOwners(hash, this.#shards, idsAt!, count, pileOfAt!, piles, counts);
        if (bad >= 0) throw this.#noOwner(table, hash, ids, bad);
        const sizes = new Uint32Array(this.#heap.bytes.slice(counts, counts + 4 * deal.piles).buffer);
        this.#writeStarts(counts, sizes);
        kernels.deal(idsAt!, count, piles, counts, positions, dealt);
        return this.#routes(sizesByPserver(deal, sizes), { positions, dealt }, take);
      }),
    );
  }

  tally(table: string, ids: Uint8Array, count: number, pileOf: Int32Array, piles: number): Uint32Array {
    assert(count * 8 <= ids.length, 'there are as many ids as said');
    assert(pileOf.length === this.#shards, 'every shard has a pile');
    assert(
      pileOf.every((pile) => pile >= 0 && pile < piles),
      'each pile is one of those that are counted',
    );
    const hash = this.#hashOf(table);
    const pileBytes = new Uint8Array(pileOf.buffer, pileOf.byteOffset, pileOf.byteLength);
    return this.#heap.withInputs([ids.subarray(0, 8 * count), pileBytes], ([idsAt, pileOfAt]) =>
      this.#heap.withScratch(4 * (count + piles), (counts) => {
        const owners = counts + 4 * piles;
        this.#heap.bytes.fill(0, counts, owners);
        this.#heap.kernels.countOwners(hash, this.#shards, idsAt!, count, pileOfAt!, owners, counts);
        return new Uint32Array(this.#heap.bytes.slice(counts, owners).buffer);
      }),
    );
  }

  /** Kept for the placement that it was made of: that seldom changes. */
  #byShard(placement: Int32Array): Deal {
    const known = this.#dealt;
    if (known !== undefined && isSame(known.placement, placement)) return known.deal;
    const deal = byShard(placement);
    this.#dealt = { placement: placement.slice(), deal };
    return deal;
  }

  /** Replaces the counts in kernel memory by the place where each pile begins. */
  #writeStarts(at: number, sizes: Uint32Array): void {
    const starts = new Uint32Array(sizes.length);
    for (let pile = 1; pile < sizes.length; pile++) starts[pile] = starts[pile - 1]! + sizes[pile - 1]!;
    this.#heap.bytes.set(new Uint8Array(starts.buffer), at);
  }

  #routes(sizes: Uint32Array, { positions, dealt }: Dealt, take: TakeBytes): Route[] {
    const routes: Route[] = [];
    const copyOf = (from: number, to: number): Uint8Array => {
      const copy = take(to - from);
      copy.set(this.#heap.bytes.subarray(from, to));
      return copy;
    };
    let from = 0;
    sizes.forEach((size, pserver) => {
      const to = from + size;
      if (size > 0) {
        const places = copyOf(positions + 4 * from, positions + 4 * to);
        routes.push({
          pserver,
          positions: new Uint32Array(places.buffer, places.byteOffset, size),
          ids: copyOf(dealt + 8 * from, dealt + 8 * to),
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

/** Entries of the index for `count` ids that are deduplicated: a power of two, so that at most 3/4 is filled. */
export function indexSize(count: number): number {
  let size = 16;
  while (count * 4 > size * 3) size *= 2;
  return size;
}
