/**
 * Returns the ids of a table in ascending order, page by page. Sorting all ids at once would take seconds, during which
 * the pserver could not answer requests or renew its lease. So it sorts the ids of one shard at a time. For a large
 * table, it keeps only the next ids of each shard. When they are used up, it sorts the shard's ids again, including new
 * ones.
 */
import { wordsOf } from '../../../checkpoint/file/words.ts';
import { createIdHeap, type SortedIds } from '../../../tensor/id-heap.ts';
import type { Parameters } from '../../../tensor/parameters.ts';

/** Number of ids kept for all shards together: 16 MB. */
const KEPT_IDS = 2 ** 21;
/** Most sorts of a shard in one scan: of a larger table, it keeps at least this part of the ids. */
const MOST_SORTS = 4;
/** The event loop turns after this many ids, which take about 5 ms to sort. */
const IDS_A_TURN = 2 ** 16;

export interface TableScanOptions {
  readonly parameters: Pick<Parameters, 'sortedIds'>;
  readonly table: number;
  readonly shards: readonly number[];
  /** The last id that earlier pages returned. */
  readonly after: bigint | undefined;
  readonly keptIds?: number | undefined;
}

export interface Page {
  readonly ids: BigUint64Array;
  /** This is the last page. */
  readonly isLast: boolean;
}

/** The next ids of a shard. */
interface NextIds extends SortedIds {
  readonly shard: number;
  halves: Uint32Array;
  at: number;
  length: number;
  /** The shard has no further ids. */
  isLast: boolean;
}

export class TableScan {
  readonly #options: TableScanOptions;
  readonly #next: readonly NextIds[];
  #position: bigint | undefined;
  /** Number of ids sorted since the event loop turned. */
  #sorted = 0;

  constructor(options: TableScanOptions) {
    this.#options = options;
    this.#position = options.after;
    const none = { halves: new Uint32Array(0), at: 0, length: 0, isLast: false };
    this.#next = options.shards.map((shard) => ({ shard, ...none }));
  }

  /** The last id that was returned. */
  get position(): bigint | undefined {
    return this.#position;
  }

  /** Returns up to `most` ids. After `turn` has thrown, the caller must not use the scan again. */
  async page(most: number, turn: () => Promise<void>): Promise<Page> {
    const runs: BigUint64Array[] = [];
    let left = most;
    do {
      await this.#fill(turn);
      const run = this.#merge(left);
      runs.push(run);
      left -= run.length;
    } while (left > 0 && !this.#isAtEnd);
    return { ids: joined(runs, most - left), isLast: this.#isAtEnd };
  }

  get #isAtEnd(): boolean {
    return this.#next.every(({ at, length, isLast }) => at === length && isLast);
  }

  /** Sorts the next ids of each shard that has used up its ids. */
  async #fill(turn: () => Promise<void>): Promise<void> {
    for (const one of this.#next) {
      if (one.at < one.length || one.isLast) continue;
      if (this.#sorted >= IDS_A_TURN) {
        this.#sorted = 0;
        await turn();
      }
      this.#sort(one);
    }
  }

  #sort(one: NextIds): void {
    const { parameters, table, shards, keptIds = KEPT_IDS } = this.#options;
    const ids = parameters.sortedIds(table, [one.shard]);
    this.#sorted += ids.length;
    const from = this.#position === undefined ? 0 : firstAbove(ids, this.#position);
    const kept = Math.max(1, Math.floor(keptIds / shards.length), Math.ceil(ids.length / MOST_SORTS));
    const next = ids.slice(from, from + kept);
    [one.halves, one.at, one.length] = [wordsOf(next), 0, next.length];
    one.isLast = from + kept >= ids.length;
  }

  /** Merges up to `most` ids of all shards, and stops where the next ids of a shard are unknown. */
  #merge(most: number): BigUint64Array {
    const lists = this.#next.filter(({ at, length }) => at < length);
    const heap = createIdHeap(lists);
    const known = lists.reduce((sum, { at, length }) => sum + length - at, 0);
    const run = new BigUint64Array(Math.min(most, known));
    const words = wordsOf(run);
    let count = 0;
    while (count < run.length) {
      const list = lists[heap.top()]!;
      words[2 * count] = list.halves[2 * list.at]!;
      words[2 * count + 1] = list.halves[2 * list.at + 1]!;
      count += 1;
      list.at += 1;
      if (list.at === list.length && !list.isLast) break;
      heap.sink();
    }
    this.#position = run[count - 1] ?? this.#position;
    return run.subarray(0, count);
  }
}

function joined(runs: readonly BigUint64Array[], length: number): BigUint64Array {
  if (runs.length === 1) return runs[0]!;
  const all = new BigUint64Array(length);
  let at = 0;
  for (const run of runs) {
    all.set(run, at);
    at += run.length;
  }
  return all;
}

/** Index of the first id above `id` in a sorted list. */
function firstAbove(ids: BigUint64Array, id: bigint): number {
  let low = 0;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ids[middle]! <= id) low = middle + 1;
    else high = middle;
  }
  return low;
}
