/**
 * All rows of a table in the order of their ids, from any number of shards. Each shard is sorted, so this is a merge:
 * first the ids alone say which rows come next and how many of them are in each shard; then those are read, one range a
 * shard, and put in their places. Memory: one batch, and a window of ids for each shard.
 */
import { createIdHeap, type IdHeap } from '../../tensor/id-heap.ts';
import type { ShardRows } from '../../tensor/parameters.ts';
import { type RowLayout, rowBytes, storedTables } from '../../tensor/stored-tables.ts';
import { corrupt } from '../file/files.ts';
import type { CheckpointReader, IdRange, RowRange } from '../file/reader.ts';
import { createRowBuffers, firstRows, type RowBuffers, readCellsInto } from '../file/row-pieces.ts';
import { readElements } from '../file/safetensors/reader.ts';
import { wordsOf } from '../file/words.ts';
import type { ShardSource } from './shard-source.ts';

const BATCH_BYTES = 24 * 1024 * 1024;
const IDS_BYTES = 16 * 1024 * 1024;
const LEAST_WINDOW_IDS = 64;
const MOST_WINDOW_IDS = 8192;
/** So many times the rows of a batch, if newer files replace most of them. */
const MOST_LOOKED_AT = 4;

export interface MergeOptions {
  readonly shards: readonly ShardSource[];
  readonly table: number;
  readonly width: number;
  /** Which columns beside the values. */
  readonly state: RowLayout;
  readonly batchBytes?: number;
}

/** The ids of one shard in one file: of rows, or of those that the file says are gone. */
interface Stream {
  readonly reader: CheckpointReader;
  /** Place of the shard in the list. */
  readonly place: number;
  /** 0 for the newest file of the shard. What it says of an id holds. */
  readonly age: number;
  readonly range: IdRange;
  /** Undefined: the ids are gone. */
  readonly rows: RowRange | undefined;
  /** Each `seen` of the file is to be less by this. */
  readonly lowerSeenBy: number;
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
  /** Which of them newer files replace: their places from `first` on, ascending. */
  readonly replaced: number[];
}

/** Rows ascending by unsigned id; a batch is valid until the next one is asked for. Throws `CheckpointCorrupt`. */
export async function* mergeRows(options: MergeOptions): AsyncGenerator<ShardRows> {
  const { width, state, batchBytes = BATCH_BYTES } = options;
  const streams = await openStreams(options);
  const left = streams.reduce((rows, { rows: range }) => rows + (range === undefined ? 0 : range.end - range.first), 0);
  if (left === 0) return;
  const most = Math.min(batchBytes, left * rowBytes(width, state));
  const batch = createRowBuffers(width, state, most);
  const scratch = createRowBuffers(width, state, most / 4);
  const owners = new Uint32Array(batch.rows);
  const heap = createIdHeap(streams);
  const last = { low: 0, high: -1, owner: 0 };
  while (heap.size() > 0) {
    const count = await take(streams, heap, { ids: wordsOf(batch.ids), owners, last });
    await fill(streams, { batch, scratch, owners: owners.subarray(0, count) });
    if (count > 0) yield firstRows(batch, count);
  }
}

type Wanted = Pick<Stream, 'reader' | 'place' | 'age' | 'range' | 'rows' | 'lowerSeenBy'>;

async function openStreams(options: MergeOptions): Promise<Stream[]> {
  const wanted = await rangesOf(options);
  const lengthOf = ({ range }: Wanted): number => range.end - range.first;
  const all = wanted.reduce((sum, one) => sum + lengthOf(one), 0);
  const streams: Stream[] = [];
  for (const one of wanted) {
    // Long lists have long windows, so that all are read in about as many steps.
    const share = Math.ceil(((IDS_BYTES / 8) * lengthOf(one)) / all);
    const window = new BigUint64Array(Math.min(MOST_WINDOW_IDS, Math.max(LEAST_WINDOW_IDS, share), lengthOf(one)));
    const at = { from: one.range.first, at: 0, length: 0, first: 0, taken: 0, replaced: [] };
    const stream = { ...one, ...at, window, halves: wordsOf(window) };
    await refill(stream);
    streams.push(stream);
  }
  return streams;
}

async function rangesOf({ shards, table, state }: MergeOptions): Promise<Wanted[]> {
  const wanted: Wanted[] = [];
  for (const [place, { links, shard, reader: newest }] of shards.entries()) {
    const isChain = links.length > 1;
    const base = isChain && state.seen ? ((await newest.looksOf(shard))?.base ?? 0) : 0;
    for (const [age, reader] of links.entries()) {
      const lowerSeenBy = isChain && state.seen ? base - ((await reader.looksOf(shard))?.base ?? 0) : 0;
      const rows = await reader.rowRange(shard, table);
      const gone = age === links.length - 1 ? [] : await goneRanges(reader, shard, table);
      const found = [{ range: rows, rows }, ...gone.map((range) => ({ range, rows: undefined }))];
      const some = found.filter(({ range }) => range.first < range.end);
      wanted.push(...some.map((one) => ({ ...one, reader, place, age, lowerSeenBy })));
    }
  }
  return wanted;
}

/** Ids without a row in a stored table after a delta: they are gone, or in the other stored table of that name. */
async function goneRanges(reader: CheckpointReader, shard: number, table: number): Promise<IdRange[]> {
  const { sparse } = reader.facts.parameters;
  const stored = storedTables(sparse);
  const { name } = stored[table]!;
  const others = [...stored.keys()].filter((other) => other !== table && stored[other]!.name === name);
  const model = sparse.findIndex((one) => one.name === name);
  const ranges: IdRange[] = [await reader.goneRange(shard, model)];
  for (const other of others) ranges.push(await reader.rowRange(shard, other));
  return ranges;
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
  /** The id taken last, over all batches, and the stream that decides about it. */
  readonly last: { low: number; high: number; owner: number };
}

/**
 * Fills the batch's ids, and says how many. All files that know an id are asked about it in the same batch. A batch may
 * be empty if newer files replace all the rows that were looked at.
 */
async function take(streams: readonly Stream[], heap: IdHeap, { ids, owners, last }: Taking): Promise<number> {
  let count = 0;
  for (let looked = 0; heap.size() > 0; looked++) {
    const owner = heap.top();
    const stream = streams[owner]!;
    const low = stream.halves[2 * stream.at]!;
    const high = stream.halves[2 * stream.at + 1]!;
    const isSame = high === last.high && low === last.low;
    if (!isSame && (count === owners.length || looked >= MOST_LOOKED_AT * owners.length)) break;
    if (high < last.high || (high === last.high && low < last.low)) throw disorder(stream);
    const other = streams[last.owner]!;
    if (isSame && (other.place !== stream.place || other.age === stream.age)) throw disorder(stream);
    if (stream.taken === 0) stream.first = stream.from + stream.at;
    stream.taken += 1;
    if (isSame && stream.age > other.age) stream.replaced.push(stream.taken - 1);
    else {
      if (isSame && other.rows !== undefined) {
        other.replaced.push(other.taken - 1);
        count -= 1;
      }
      last.low = low;
      last.high = high;
      last.owner = owner;
      if (stream.rows !== undefined) {
        ids[2 * count] = low;
        ids[2 * count + 1] = high;
        owners[count] = owner;
        count += 1;
      }
    }
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

/** In place of a row of the batch. */
const REPLACED = 0xffff_ffff;

/** Reads each stream's rows of the batch and puts them in their places. */
async function fill(streams: readonly Stream[], { batch, scratch, owners }: Filling): Promise<void> {
  const places = placesOf(streams, owners);
  let done = 0;
  for (const stream of streams) {
    const { first, taken, rows: range, lowerSeenBy, replaced } = stream;
    const isRead = range !== undefined && replaced.length < taken;
    for (let from = 0; isRead && from < taken; from += scratch.rows) {
      const count = Math.min(scratch.rows, taken - from);
      const rows = await readCellsInto(stream.reader.source, range, first + from, count, scratch);
      if (rows.seen !== undefined && lowerSeenBy > 0) lower(rows.seen, lowerSeenBy);
      scatter(rows, batch, places.subarray(done + from, done + from + count));
    }
    if (range !== undefined) done += taken;
    stream.taken = 0;
    replaced.length = 0;
  }
}

/** For each row taken from each stream its row of the batch. */
function placesOf(streams: readonly Stream[], owners: Uint32Array): Uint32Array {
  const next = new Uint32Array(streams.length);
  let sum = 0;
  for (const [at, { taken, rows }] of streams.entries()) {
    next[at] = sum;
    if (rows !== undefined) sum += taken;
  }
  const places = new Uint32Array(sum);
  for (const [at, { rows, replaced }] of streams.entries()) {
    if (rows !== undefined) for (const row of replaced) places[next[at]! + row] = REPLACED;
  }
  for (let row = 0; row < owners.length; row++) {
    const owner = owners[row]!;
    while (places[next[owner]!] === REPLACED) next[owner]! += 1;
    places[next[owner]!++] = row;
  }
  return places;
}

function lower(seen: Uint32Array, by: number): void {
  for (let row = 0; row < seen.length; row++) seen[row] = Math.max(0, seen[row]! - by);
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
  for (let row = 0; row < places.length; row++) {
    const to = places[row]!;
    if (to !== REPLACED) into[to] = from[row]!;
  }
}

function scatterFloats(from: Float32Array, into: Float32Array, places: Uint32Array, width: number): void {
  // Bits, not floats: a signalling NaN stays what it is.
  const source = wordsOf(from);
  const target = wordsOf(into);
  for (let row = 0; row < places.length; row++) {
    if (places[row] === REPLACED) continue;
    const to = places[row]! * width;
    const begin = row * width;
    for (let column = 0; column < width; column++) target[to + column] = source[begin + column]!;
  }
}
