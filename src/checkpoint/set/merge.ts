/**
 * All rows of a table in the order of their ids, from any number of shards. Each shard is sorted, so this is a merge:
 * first the ids alone say which rows come next and how many of them are in each shard; then those are read, one range a
 * shard, and put in their places. Memory: one batch, and a window of ids for each shard.
 */
import { createIdHeap, type IdHeap } from '../../tensor/id-heap.ts';
import type { ShardRows } from '../../tensor/parameters.ts';
import { type RowLayout, rowBytes } from '../../tensor/stored-tables.ts';
import { corrupt } from '../file/files.ts';
import type { CheckpointReader, RowRange } from '../file/reader.ts';
import { createRowBuffers, firstRows, type RowBuffers, readCellsInto } from '../file/row-pieces.ts';
import { readElements } from '../file/safetensors/reader.ts';
import { wordsOf } from '../file/words.ts';
import type { ShardSource } from './checkpoint-set.ts';

const BATCH_BYTES = 24 * 1024 * 1024;
const IDS_BYTES = 16 * 1024 * 1024;
const LEAST_WINDOW_IDS = 64;
const MOST_WINDOW_IDS = 8192;

export interface MergeOptions {
  readonly shards: readonly ShardSource[];
  readonly table: number;
  readonly width: number;
  /** Which columns beside the values. */
  readonly state: RowLayout;
  readonly batchBytes?: number;
}

interface Stream {
  readonly reader: CheckpointReader;
  readonly range: RowRange;
  /** Ids not yet merged, and the same as 32-bit halves, the low one first. */
  readonly window: BigUint64Array;
  readonly halves: Uint32Array;
  /** Row of the file at the window's begin. */
  from: number;
  /** Within the window. */
  at: number;
  length: number;
  /** Rows of this batch: the first one's place in the file, and their count. */
  first: number;
  taken: number;
}

/** Rows ascending by unsigned id; a batch is valid until the next one is asked for. Throws `CheckpointCorrupt`. */
export async function* mergeRows(options: MergeOptions): AsyncGenerator<ShardRows> {
  const { width, state, batchBytes = BATCH_BYTES } = options;
  const streams = await openStreams(options);
  if (streams.length === 0) return;
  const left = streams.reduce((rows, { range }) => rows + range.end - range.first, 0);
  const most = Math.min(batchBytes, left * rowBytes(width, state));
  const batch = createRowBuffers(width, state, most);
  const scratch = createRowBuffers(width, state, most / 4);
  const owners = new Uint32Array(batch.rows);
  const heap = createIdHeap(streams);
  const previous = { low: 0, high: -1 };
  for (;;) {
    const count = await take(streams, heap, { ids: wordsOf(batch.ids), owners, previous });
    if (count === 0) return;
    await fill(streams, { batch, scratch, owners: owners.subarray(0, count) });
    yield firstRows(batch, count);
  }
}

async function openStreams({ shards, table }: MergeOptions): Promise<Stream[]> {
  const windowIds = Math.floor(IDS_BYTES / 8 / Math.max(shards.length, 1));
  const streams: Stream[] = [];
  for (const { reader, shard } of shards) {
    const range = await reader.rowRange(shard, table);
    if (range.first === range.end) continue;
    const window = new BigUint64Array(
      Math.min(MOST_WINDOW_IDS, Math.max(LEAST_WINDOW_IDS, windowIds), range.end - range.first),
    );
    const stream = { reader, range, window, halves: wordsOf(window), from: range.first, at: 0, length: 0 };
    streams.push({ ...stream, first: 0, taken: 0 });
    await refill(streams.at(-1)!);
  }
  return streams;
}

/** Reads the next ids; none are left when the length is 0 afterwards. */
async function refill(stream: Stream): Promise<void> {
  const { reader, range, window } = stream;
  stream.from += stream.length;
  stream.at = 0;
  stream.length = Math.min(window.length, range.end - stream.from);
  if (stream.length > 0) {
    await readElements(reader.source, range.tensors.ids, stream.from, window.subarray(0, stream.length));
  }
}

interface Taking {
  /** Ids of the batch, as halves. */
  readonly ids: Uint32Array;
  /** The stream that each row of the batch comes from. */
  readonly owners: Uint32Array;
  /** The id taken last, over all batches. */
  readonly previous: { low: number; high: number };
}

/** Fills the batch's ids, and says how many. */
async function take(streams: readonly Stream[], heap: IdHeap, { ids, owners, previous }: Taking): Promise<number> {
  let count = 0;
  for (; count < owners.length && heap.size() > 0; count++) {
    const owner = heap.top();
    const stream = streams[owner]!;
    const low = stream.halves[2 * stream.at]!;
    const high = stream.halves[2 * stream.at + 1]!;
    if (high < previous.high || (high === previous.high && low <= previous.low)) throw disorder(stream);
    previous.low = low;
    previous.high = high;
    ids[2 * count] = low;
    ids[2 * count + 1] = high;
    owners[count] = owner;
    if (stream.taken === 0) stream.first = stream.from + stream.at;
    stream.taken += 1;
    stream.at += 1;
    if (stream.at === stream.length) await refill(stream);
    heap.sink();
  }
  return count;
}

function disorder({ reader, range, window, at }: Stream): Error {
  return corrupt(reader.path, `${range.tensors.ids.name}: id ${window[at]} is repeated or out of order`);
}

interface Filling {
  readonly batch: RowBuffers;
  readonly scratch: RowBuffers;
  readonly owners: Uint32Array;
}

/** Reads each stream's rows of the batch and puts them in their places. */
async function fill(streams: readonly Stream[], { batch, scratch, owners }: Filling): Promise<void> {
  const places = new Uint32Array(owners.length);
  const next = new Uint32Array(streams.length);
  let start = 0;
  for (const [at, { taken }] of streams.entries()) {
    next[at] = start;
    start += taken;
  }
  for (let row = 0; row < owners.length; row++) places[next[owners[row]!]!++] = row;
  let done = 0;
  for (const stream of streams) {
    const { first, taken } = stream;
    stream.taken = 0;
    for (let from = 0; from < taken; from += scratch.rows) {
      const count = Math.min(scratch.rows, taken - from);
      const rows = await readCellsInto(stream.reader.source, stream.range, first + from, count, scratch);
      scatter(rows, batch, places.subarray(done, done + count));
      done += count;
    }
  }
}

function scatter(rows: ShardRows, batch: RowBuffers, places: Uint32Array): void {
  const { width } = batch;
  scatterFloats(rows.values, batch.values, places, width);
  for (const [slot, into] of Object.entries(batch.slots)) scatterFloats(rows.slots[slot]!, into, places, width);
  scatterWords(rows.steps, batch.steps, places);
  scatterWords(rows.seen, batch.seen, places);
}

function scatterWords(from: Uint32Array | undefined, into: Uint32Array | undefined, places: Uint32Array): void {
  if (from === undefined || into === undefined) return;
  for (let row = 0; row < places.length; row++) into[places[row]!] = from[row]!;
}

function scatterFloats(from: Float32Array, into: Float32Array, places: Uint32Array, width: number): void {
  // Bits, not floats: a signalling NaN stays what it is.
  const source = wordsOf(from);
  const target = wordsOf(into);
  for (let row = 0; row < places.length; row++) {
    const to = places[row]! * width;
    const begin = row * width;
    for (let column = 0; column < width; column++) target[to + column] = source[begin + column]!;
  }
}
