/**
 * Reads a checkpoint file shard by shard, by ranges. Memory: the header, the positions of the shards, and the piece
 * asked for, so files larger than memory can be read. Everything that does not hold together throws
 * `CheckpointCorrupt`.
 */
import { LIMITS } from '../../base/limits.ts';
import type { Storage } from '../../base/seams.ts';
import type { LookState } from '../../core/shard/looks.ts';
import type { DenseBlock, ShardRows } from '../../tensor/parameters.ts';
import { rowBytes, storedTable } from '../../tensor/stored-tables.ts';
import { corrupt, openFile } from './files.ts';
import { type FileFacts, parseMetadata, type ShardParent, type ShardPosition } from './format.ts';
import {
  type DenseTensors,
  type ExtentTensors,
  type GoneTensors,
  layoutOf,
  NOTHING,
  type SparseTensors,
} from './layout.ts';
import { readLooks } from './looks.ts';
import type { TensorInfo } from './safetensors/header.ts';
import { readElements, readSafetensors, type Safetensors, tensorLength } from './safetensors/reader.ts';

/** Rows are read in pieces of about this size. */
const PIECE_BYTES = 8 * 1024 * 1024;

/** Where one shard's rows of a table are. */
export interface RowRange {
  readonly tensors: SparseTensors;
  readonly first: number;
  readonly end: number;
}

/** Where ids of one shard are. */
export interface IdRange {
  readonly tensors: Pick<SparseTensors, 'ids'>;
  readonly first: number;
  readonly end: number;
}

/** Where a block of a dense parameter is: `length` floats from `first` on. */
export interface BlockPlace {
  readonly tensors: DenseTensors;
  readonly parameter: number;
  readonly block: number;
  readonly first: number;
  readonly length: number;
  readonly step: number | undefined;
}

export interface CheckpointReader {
  readonly path: string;
  readonly facts: FileFacts;
  readonly source: Safetensors;
  /** Shards in file order; reading in this order is fastest. */
  readonly positions: readonly ShardPosition[];
  /** Undefined if the file does not have the shard. */
  positionOf(shard: number): ShardPosition | undefined;
  /** In all methods, `table` is a place in `storedTables`. */
  rowCount(shard: number, table: number): Promise<number>;
  rowRange(shard: number, table: number): Promise<RowRange>;
  /** Blocks of one shard and parameter. */
  blockPlaces(shard: number, parameter: number): Promise<BlockPlace[]>;
  /** Rows of one shard and table, ascending by id, in pieces. */
  rowsOf(shard: number, table: number): AsyncGenerator<ShardRows>;
  /** Blocks of one shard, by parameter. */
  blocksOf(shard: number): AsyncGenerator<DenseBlock>;
  /** Shards that follow each other and share a ledger get the same array. */
  ledgerOf(shard: number): Promise<Uint8Array>;
  /** Undefined if rows have no `seen`. */
  looksOf(shard: number): Promise<LookState | undefined>;
  /** Where the ids of a table of the model are that are gone since the parent of the shard. */
  goneRange(shard: number, table: number): Promise<IdRange>;
  close(): Promise<void>;
}

interface Located extends ShardPosition {
  readonly extent: ExtentTensors;
  /** Place in its extent. */
  readonly at: number;
  readonly ledger: number;
}

export async function openCheckpoint(storage: Storage, path: string): Promise<CheckpointReader> {
  const file = await openFile(storage, path);
  try {
    const source = await readSafetensors(file, path);
    const facts = parseMetadata(source.metadata, path);
    const located = await locateShards(source, facts, layoutOf(source, facts));
    return readerOf(source, facts, located);
  } catch (error) {
    // The first error says what is wrong with the file.
    await file.close().catch(() => undefined);
    throw error;
  }
}

async function locateShards(
  source: Safetensors,
  facts: FileFacts,
  extents: readonly ExtentTensors[],
): Promise<Map<number, Located>> {
  const located = new Map<number, Located>();
  for (const extent of extents) {
    const words = await readElements(source, extent.shards, 0, new BigUint64Array(extent.shardCount * 4));
    const parents = await readParents(source, facts, extent);
    const ledgers = tensorLength(extent.ledgerStarts) - 1;
    for (let at = 0; at < extent.shardCount; at++) {
      const [shard, epoch, seq, ledger] = Array.from(words.subarray(at * 4, at * 4 + 4), Number) as [
        number,
        number,
        number,
        number,
      ];
      const isExact = Number.isSafeInteger(epoch) && Number.isSafeInteger(seq);
      if (!isExact || shard >= facts.shards || ledger >= ledgers || located.has(shard)) {
        throw corrupt(source.name, `${extent.shards.name}: shard ${shard} cannot be at ${at}`);
      }
      const parent = parents[at];
      if (parent !== undefined && parent.seq > seq)
        throw corrupt(source.name, `${extent.parents?.name}: shard ${shard} is at ${seq}, its parent at ${parent.seq}`);
      located.set(shard, { shard, epoch, seq, ...(parent && { parent }), ledger, extent, at });
    }
  }
  return located;
}

const positionOf = ({ shard, epoch, seq, parent }: Located): ShardPosition => {
  return { shard, epoch, seq, ...(parent && { parent }) };
};

/** By place in the extent. */
async function readParents(
  source: Safetensors,
  { parents = [] }: FileFacts,
  { parents: tensor, shardCount }: ExtentTensors,
): Promise<(ShardParent | undefined)[]> {
  if (tensor === undefined) return [];
  const words = await readElements(source, tensor, 0, new BigUint64Array(shardCount * 2));
  return Array.from({ length: shardCount }, (_, at) => {
    const [number, seq] = [Number(words[2 * at]), Number(words[2 * at + 1])];
    if (number === 0) return undefined;
    const uuid = parents[number - 1];
    if (uuid === undefined || !Number.isSafeInteger(seq))
      throw corrupt(source.name, `${tensor.name}: row ${at} names parent ${number} of ${parents.length}, at ${seq}`);
    return { uuid, seq };
  });
}

function readerOf(source: Safetensors, facts: FileFacts, located: ReadonlyMap<number, Located>): CheckpointReader {
  const indexes = createIndexCache(source);
  const positions = new Map([...located].map(([shard, one]) => [shard, positionOf(one)]));
  let lastLooks: { extent: ExtentTensors; states: readonly LookState[] } | undefined;
  let lastLedger: { extent: ExtentTensors; ledger: number; bytes: Uint8Array } | undefined;

  function locate(shard: number): Located {
    const found = located.get(shard);
    if (found === undefined) throw corrupt(source.name, `shard ${shard} is not in the file`);
    return found;
  }

  async function rangeIn<T extends GoneTensors>(
    shard: number,
    pick: (extent: ExtentTensors) => T | undefined,
    none: T,
  ) {
    const { extent, at } = locate(shard);
    const tensors = pick(extent);
    if (tensors === undefined) return { tensors: none, first: 0, end: 0 };
    const starts = await indexes.starts(extent, tensors.rows, tensors.ids);
    return { tensors, first: starts[at]!, end: starts[at + 1]! };
  }
  const rangeOf = (shard: number, table: number): Promise<RowRange> =>
    rangeIn(shard, ({ sparse }) => sparse[table], NO_ROWS);
  const goneRange = (shard: number, table: number): Promise<IdRange> =>
    rangeIn(shard, ({ gone }) => gone[table], NO_ROWS);

  return {
    path: source.name,
    facts,
    source,
    positions: [...positions.values()],
    positionOf: (shard) => positions.get(shard),
    async rowCount(shard, table) {
      const { first, end } = await rangeOf(shard, table);
      return end - first;
    },
    rowRange: rangeOf,
    async blockPlaces(shard, parameter) {
      const { extent } = locate(shard);
      const tensors = extent.dense[parameter];
      return tensors === undefined ? [] : placeBlocks(source, indexes, { extent, tensors, parameter, shard });
    },
    async *rowsOf(shard, table) {
      const { tensors, first, end } = await rangeOf(shard, table);
      const { width, layout } = storedTable(facts.parameters.sparse, table)!;
      const pieceRows = Math.max(1, Math.floor(PIECE_BYTES / rowBytes(width, layout)));
      for (let from = first; from < end; from += pieceRows) {
        yield readRows(source, tensors, width, from, Math.min(pieceRows, end - from));
      }
    },
    async *blocksOf(shard) {
      const { extent } = locate(shard);
      for (const [parameter, tensors] of extent.dense.entries()) {
        if (tensors === undefined) continue;
        const places = await placeBlocks(source, indexes, { extent, tensors, parameter, shard });
        for (const place of places) yield await readBlock(source, place);
      }
    },
    async ledgerOf(shard) {
      const { extent, ledger } = locate(shard);
      const starts = await indexes.starts(extent, extent.ledgerStarts, undefined);
      const [first, end] = [starts[ledger]!, starts[ledger + 1]!];
      if (end - first > LIMITS.ledgerBytes || end > (extent.ledgers?.end ?? 0) - (extent.ledgers?.begin ?? 0)) {
        throw corrupt(source.name, `${extent.ledgerStarts.name}: ledger ${ledger} has ${end - first} bytes`);
      }
      if (lastLedger?.extent === extent && lastLedger.ledger === ledger) return lastLedger.bytes;
      const bytes = new Uint8Array(end - first);
      if (extent.ledgers !== undefined) await readElements(source, extent.ledgers, first, bytes);
      lastLedger = { extent, ledger, bytes };
      return bytes;
    },
    async looksOf(shard) {
      const { extent, at } = locate(shard);
      if (extent.looks === undefined) return undefined;
      if (lastLooks?.extent !== extent) lastLooks = { extent, states: await readLooks(source, extent.looks) };
      return lastLooks.states[at];
    },
    goneRange,
    close: () => source.file.close(),
  };
}

const NO_ROWS: SparseTensors = {
  ...{ rows: NOTHING, ids: NOTHING, values: NOTHING, slots: {}, steps: undefined, seen: undefined },
};

async function readRows(
  source: Safetensors,
  tensors: SparseTensors,
  width: number,
  first: number,
  count: number,
): Promise<ShardRows> {
  const matrix = (tensor: TensorInfo): Promise<Float32Array> =>
    readElements(source, tensor, first * width, new Float32Array(count * width));
  const slots: Record<string, Float32Array> = {};
  for (const [slot, tensor] of Object.entries(tensors.slots)) slots[slot] = await matrix(tensor);
  const words = async (tensor: TensorInfo | undefined): Promise<Uint32Array | undefined> =>
    tensor && readElements(source, tensor, first, new Uint32Array(count));
  return {
    ids: await readElements(source, tensors.ids, first, new BigUint64Array(count)),
    values: await matrix(tensors.values),
    slots,
    steps: await words(tensors.steps),
    seen: await words(tensors.seen),
  };
}

interface BlocksWanted {
  readonly extent: ExtentTensors;
  readonly tensors: DenseTensors;
  readonly parameter: number;
  readonly shard: number;
}

async function placeBlocks(
  source: Safetensors,
  indexes: IndexCache,
  { extent, tensors, parameter, shard }: BlocksWanted,
): Promise<BlockPlace[]> {
  const shards = await indexes.words(extent, tensors.shards);
  const blocks = await indexes.words(extent, tensors.blocks);
  const starts = await indexes.starts(extent, tensors.starts, tensors.values);
  const steps = tensors.steps && (await indexes.words(extent, tensors.steps));
  const places: BlockPlace[] = [];
  for (const [at, owner] of shards.entries()) {
    if (owner !== shard) continue;
    const first = starts[at]!;
    const length = starts[at + 1]! - first;
    if (length > LIMITS.denseBlockFloats)
      throw corrupt(source.name, `${tensors.starts.name}: a block of ${length} floats`);
    places.push({ tensors, parameter, block: blocks[at]!, first, length, step: steps?.[at] });
  }
  return places;
}

/** Ascending ids of a table of the model that are gone since the parent of the shard. */
export async function readGone(reader: CheckpointReader, shard: number, table: number): Promise<BigUint64Array> {
  const { tensors, first, end } = await reader.goneRange(shard, table);
  if (first === end) return new BigUint64Array(0);
  return readElements(reader.source, tensors.ids, first, new BigUint64Array(end - first));
}

/** The values and state of a block. */
export async function readBlock(source: Safetensors, place: BlockPlace): Promise<DenseBlock> {
  const { tensors, first, length, parameter, block, step } = place;
  const floats = (tensor: TensorInfo): Promise<Float32Array> =>
    readElements(source, tensor, first, new Float32Array(length));
  const slots: Record<string, Float32Array> = {};
  for (const [slot, tensor] of Object.entries(tensors.slots)) slots[slot] = await floats(tensor);
  return { parameter, block, values: await floats(tensors.values), slots, step };
}

/** Small index tensors of the extent read last. */
interface IndexCache {
  /** Ascending numbers from 0; to the length of `of` when given. */
  starts(extent: ExtentTensors, tensor: TensorInfo, of: TensorInfo | undefined): Promise<Float64Array>;
  words(extent: ExtentTensors, tensor: TensorInfo): Promise<Uint32Array>;
}

function createIndexCache(source: Safetensors): IndexCache {
  let current: ExtentTensors | undefined;
  const startsByName = new Map<string, Float64Array>();
  const wordsByName = new Map<string, Uint32Array>();

  function enter(extent: ExtentTensors): void {
    if (current === extent) return;
    current = extent;
    startsByName.clear();
    wordsByName.clear();
  }

  return {
    async starts(extent, tensor, of) {
      enter(extent);
      const cached = startsByName.get(tensor.name);
      if (cached !== undefined) return cached;
      const found = await readElements(source, tensor, 0, new BigUint64Array(tensorLength(tensor)));
      const starts = Float64Array.from(found, Number);
      const isRising = starts[0] === 0 && starts.every((start, at) => at === 0 || start >= starts[at - 1]!);
      const last = starts.at(-1)!;
      const isWithin = Number.isSafeInteger(last) && (of === undefined || last === lengthOf(of));
      if (!isRising || !isWithin) throw corrupt(source.name, `${tensor.name}: not ascending from 0 to the end`);
      startsByName.set(tensor.name, starts);
      return starts;
    },
    async words(extent, tensor) {
      enter(extent);
      const cached = wordsByName.get(tensor.name);
      if (cached !== undefined) return cached;
      const words = await readElements(source, tensor, 0, new Uint32Array(tensorLength(tensor)));
      wordsByName.set(tensor.name, words);
      return words;
    },
  };
}

/** Rows of a matrix, elements of a list. */
const lengthOf = ({ shape }: TensorInfo): number => shape[0]!;
