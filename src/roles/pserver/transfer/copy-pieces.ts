/**
 * Cuts the copy of one shard into pieces of bounded size, which the source of a move sends to its target. The pieces
 * are rows with their optimizer state, then dense blocks, then in sync mode the rounds, then the ledger.
 * All pieces show the shard at one instant. They are views of arrays that belong to the copy.
 */
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { PassMetrics } from '../../../core/pass-metrics.ts';
import { looksOfWords, lookWords } from '../../../core/shard/look-words.ts';
import type { LookState } from '../../../core/shard/looks.ts';
import type { RequestHeader } from '../../../protocol/messages/all-messages.ts';
import { optimizerLayout, type TrainedSpec } from '../../../tensor/optimizer.ts';
import type { DenseBlock, ParameterMemory, ShardRows } from '../../../tensor/parameters.ts';
import { type RowLayout, storedTable, storedTables } from '../../../tensor/stored-tables.ts';
import type { OwnedShards } from '../held/owned-shards.ts';

export type PieceHeader =
  /**
   * Rows of a stored table (`storedTables`). Segments: ids (u64), values (f32), each slot in the order of the
   * optimizer's layout (f32), update counts (u32), `seen` (u32).
   */
  | { readonly part: 'rows'; readonly table: number }
  /** Segments: values and each slot (f32), and the update count (one u32). */
  | { readonly part: 'block'; readonly parameter: number; readonly block: number }
  /**
   * Sync mode: the version of the unit, and whether the previous version can be read. The pieces `oldRows` and
   * `oldBlocks` carry the values of the previous version. Without segments.
   */
  | {
      readonly part: 'rounds';
      readonly timeline: number;
      readonly version: number;
      readonly keepsPrevious: boolean;
      readonly metrics: readonly PassMetrics[];
    }
  /** Sync mode: rows that the last round changed, with their previous values. Segments: ids (u64) and values (f32). */
  | { readonly part: 'oldRows'; readonly table: number }
  /** Sync mode: blocks that the last round changed, with previous values. Segments: blocks (u32) and values (f32). */
  | { readonly part: 'oldBlocks'; readonly parameter: number }
  /** If rows have a `seen`. Segments: looks and begins (u64), as in core/shard/look-words.ts. */
  | { readonly part: 'looks' }
  /** The last pieces. Segment: the next bytes of the encoded ledger. `seq`: number of updates applied to the shard. */
  | { readonly part: 'ledger'; readonly seq: number };

export interface CopyPiece {
  readonly header: PieceHeader;
  readonly segments: readonly Uint8Array[];
}

export const pieceBytes = ({ segments }: CopyPiece): number =>
  segments.reduce((sum, { byteLength }) => sum + byteLength, 0);

/**
 * Copies the shard as it is now into at least one piece. A piece has at most `maxBytes`, but at least one row or one
 * block. `ofRounds`: in sync mode, the pieces with the shard's rounds (`roundsPieces`).
 */
export function copyShard(
  shards: OwnedShards,
  shard: number,
  spec: TrainedSpec,
  maxBytes: number,
  ofRounds: readonly CopyPiece[] = [],
): CopyPiece[] {
  const { parameters } = shards;
  const { seq, ledger, looks } = shards.momentOf(shard);
  return [
    ...storedTables(spec.sparse).flatMap((_, table) => rowPieces(table, parameters.exportRows(shard, table), maxBytes)),
    ...parameters.exportBlocks(shard).map(blockPiece),
    ...ofRounds,
    ...(looks === undefined ? [] : [looksPiece(looks)]),
    ...slices(ledger.byteLength, maxBytes).map(([from, to]): CopyPiece => {
      return { header: { part: 'ledger', seq }, segments: [ledger.subarray(from, to)] };
    }),
  ];
}

function looksPiece(state: LookState): CopyPiece {
  const { looks, begins } = lookWords(state);
  return { header: { part: 'looks' }, segments: [looks, begins].map(bytesOf) };
}

/** Throws `BadMessage`. */
export function looksOf({ segments }: CopyPiece, { sparse }: TrainedSpec): LookState {
  const [looks, begins] = segments.map((segment) => new BigUint64Array(segment.slice().buffer, 0, wholeOf(segment, 8)));
  const state = looksOfWords({ looks: looks!, begins: begins! }, sparse.length);
  if (state === undefined) throw new PaddletError('BadMessage', 'a piece of a shard does not say when the shard looks');
  return state;
}

function rowPieces(table: number, { ids, values, slots, steps, seen }: ShardRows, maxBytes: number): CopyPiece[] {
  const words = [steps, seen].filter((one) => one !== undefined);
  const fields = [ids, values, ...Object.values(slots), ...words].map(bytesOf);
  const count = ids.length;
  const rowBytes = fields.reduce((sum, { byteLength }) => sum + byteLength, 0) / Math.max(1, count);
  return slices(count, Math.max(1, Math.floor(maxBytes / rowBytes))).map(([from, to]) => ({
    header: { part: 'rows', table },
    segments: fields.map((field) => field.subarray((field.byteLength / count) * from, (field.byteLength / count) * to)),
  }));
}

const blockPiece = ({ parameter, block, values, slots, step }: DenseBlock): CopyPiece => ({
  header: { part: 'block', parameter, block },
  segments: [values, ...Object.values(slots), ...(step === undefined ? [] : [Uint32Array.of(step)])].map(bytesOf),
});

/**
 * Puts rows or a block into a shard that is in memory. Throws `BadMessage`, `UnknownParameter`, `WrongShard`,
 * `OutOfMemory`.
 */
export function putPiece(
  into: ParameterMemory,
  shard: number,
  spec: TrainedSpec,
  { header, segments }: CopyPiece,
): void {
  if (header.part === 'rows') {
    const [ids, ...fields] = segments;
    const { width, layout } = known(storedTable(spec.sparse, header.table), 'table', header.table);
    const count = wholeOf(ids, 8);
    const state = stateOf(fields, count * width, layout, count);
    const rows = { ids: new BigUint64Array(ids!.buffer, ids!.byteOffset, count), ...state };
    into.importRows(shard, header.table, rows);
  } else if (header.part === 'block') {
    const { parameter, block } = header;
    const { optimizer } = known(spec.dense[parameter], 'dense parameter', parameter);
    const layout = { ...optimizerLayout(optimizer), seen: false };
    const state = stateOf(segments, wholeOf(segments[0], 4), layout, 1);
    into.importBlock(shard, { parameter, block, ...state, step: state.steps?.[0] });
  } else {
    throw new PaddletError('BadMessage', `a piece '${header.part}' has no rows and no block of the model`);
  }
}

type State = Omit<ShardRows, 'ids'>;

/** Reads values and slots of `floats` floats each, then update counts and `seen` of `count` words each. */
function stateOf(segments: readonly Uint8Array[], floats: number, layout: RowLayout, count: number): State {
  const [values, ...others] = segments;
  const slots = layout.slots.map((name, at) => [name, floatsOf(others[at], floats)] as const);
  const words = others.slice(layout.slots.length);
  const expected = (layout.steps ? 1 : 0) + (layout.seen ? 1 : 0);
  if (values === undefined || words.length !== expected || words.some((one) => wholeOf(one, 4) !== count)) {
    throw new PaddletError('BadMessage', 'a piece of a shard does not fit the optimizer');
  }
  const wordsAt = (place: number): Uint32Array => {
    const bytes = words[place]!;
    return new Uint32Array(bytes.buffer, bytes.byteOffset, count);
  };
  return {
    values: floatsOf(values, floats),
    slots: Object.fromEntries(slots),
    steps: layout.steps ? wordsAt(0) : undefined,
    ...(layout.seen ? { seen: wordsAt(layout.steps ? 1 : 0) } : {}),
  };
}

function floatsOf(bytes: Uint8Array | undefined, count: number): Float32Array {
  if (bytes === undefined || wholeOf(bytes, 4) !== count) {
    throw new PaddletError('BadMessage', `a piece of a shard lacks values or slots of ${count} floats`);
  }
  return new Float32Array(bytes.buffer, bytes.byteOffset, count);
}

/** Number of elements of `elementBytes` in `bytes`. Throws `BadMessage` if that is not a whole number. */
function wholeOf(bytes: Uint8Array | undefined, elementBytes: number): number {
  if (bytes === undefined || bytes.byteLength % elementBytes !== 0) {
    throw new PaddletError('BadMessage', `a piece of a shard has no whole number of elements of ${elementBytes} bytes`);
  }
  return bytes.byteLength / elementBytes;
}

function known<T>(one: T | undefined, what: string, number: number): T {
  if (one === undefined) throw new PaddletError('UnknownParameter', `${what} ${number}: the model does not have it`);
  return one;
}

/** Ranges [from, to) of at most `most` elements; an empty list if `count` is 0. */
const slices = (count: number, most: number): [number, number][] =>
  Array.from({ length: Math.ceil(count / most) }, (_, at) => [at * most, Math.min(count, (at + 1) * most)]);

const bytesOf = (array: ArrayBufferView): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

// ---- in frames

type MoveContent = Extract<RequestHeader, { type: 'moveFrame' }>['content'];
type WirePiece = Extract<MoveContent, { type: 'piece' }>['piece'];

/** Does not copy: the encoded segments are the arrays of the piece. */
export const encodePiece = ({
  header,
  segments,
}: CopyPiece): { header: WirePiece; segments: readonly Uint8Array[] } => ({
  header: header.part === 'rounds' ? { ...header, metrics: [...header.metrics] } : header,
  segments,
});

/** Throws `BadMessage`. Copies the segments: a large payload is in kernel memory, which may move as rows are put in. */
export function decodePiece(header: PieceHeader, arrived: readonly Uint8Array[]): CopyPiece {
  const [fewest, most] = PIECE_SEGMENTS[header.part];
  if (arrived.length < fewest || arrived.length > most) {
    const message = `a piece '${header.part}' has ${arrived.length} segments, not ${fewest} to ${most}`;
    throw new PaddletError('BadMessage', message);
  }
  const byteLength = pieceBytes({ header, segments: arrived });
  if (byteLength > LIMITS.movePieceBytes) {
    const message = `a piece of a shard has ${byteLength} bytes, more than ${LIMITS.movePieceBytes}`;
    throw new PaddletError('BadMessage', message);
  }
  return { header, segments: arrived.map((segment) => segment.slice()) };
}

/** Most segments of optimizer state: values, slots, update counts and `seen`. */
const STATE_SEGMENTS = 1 + LIMITS.optimizerSlots + 2;
const PIECE_SEGMENTS: Readonly<Record<PieceHeader['part'], readonly [fewest: number, most: number]>> = {
  rows: [2, 1 + STATE_SEGMENTS],
  block: [1, STATE_SEGMENTS],
  oldRows: [2, 2],
  oldBlocks: [2, 2],
  rounds: [0, 0],
  looks: [2, 2],
  ledger: [1, 1],
};
