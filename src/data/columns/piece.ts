/** Some good records as their columns are in a file: raw numbers, raw labels and ids. */
import type { Piece } from '../piece.ts';
import type { ColumnSlots } from './column.ts';

export interface ListIds {
  /** For each record, where its ids begin and end, as indexes of `ids`. */
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

export interface TextSpans {
  /** For each record, where its text begins and ends in `bytes`; equal if it has none. */
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

/** The arrays may be views that are valid until the next piece is read. */
export interface ColumnPiece extends Piece {
  /** Numbers of each number column; NaN where a record has none. */
  readonly numbers: readonly Float32Array[];
  /** Ids of each column with one id per record: u32 halves. */
  readonly single: readonly Uint32Array[];
  readonly lists: readonly ListIds[];
  /** Ids of all lists, in u32 halves. */
  readonly listIds: Uint32Array;
  /** Texts of each column whose values stay texts. */
  readonly texts: readonly TextSpans[];
  /** What the spans of texts are in. */
  readonly bytes: Uint8Array;
  /** Times of the column of type time, if there is one: ms since 1970 in UTC. A parser omits them (`times.ts`). */
  readonly times: Float64Array | undefined;
}

/** A piece of one record, to be filled by a parser. */
export interface OneRecord {
  label: number;
  weight: number;
  groupLow: number;
  groupHigh: number;
  readonly numbers: Float32Array;
  readonly single: Uint32Array;
  /** Ids of each list: u32 halves. */
  readonly lists: readonly number[][];
  /** Empty where it has none. */
  readonly texts: Uint8Array[];
}

const MOST_U32 = 2 ** 32 - 1;
export const NO_TEXT = new Uint8Array(0);

export function emptyRecord({ numbers, single, lists, texts }: ColumnSlots): OneRecord {
  return {
    label: 0,
    weight: 1,
    groupLow: MOST_U32,
    groupHigh: MOST_U32,
    numbers: new Float32Array(numbers.length),
    single: new Uint32Array(2 * single.length),
    lists: lists.map(() => []),
    texts: texts.map(() => NO_TEXT),
  };
}

/** `place`: of the record in its text. */
export function pieceOf(
  record: OneRecord,
  has: { readonly weights: boolean; readonly groups: boolean },
  place: { readonly line: number; readonly start: number; readonly end: number },
): ColumnPiece {
  let ids = 0;
  const lists = record.lists.map((list) => {
    const start = ids;
    ids += list.length / 2;
    return { starts: Uint32Array.of(start), ends: Uint32Array.of(ids) };
  });
  let bytes = 0;
  const texts = record.texts.map(({ length }) => {
    const start = bytes;
    bytes += length;
    return { starts: Uint32Array.of(start), ends: Uint32Array.of(bytes) };
  });
  return {
    records: 1,
    labels: Float32Array.of(record.label),
    weights: has.weights ? Float32Array.of(record.weight) : undefined,
    groups: has.groups ? Uint32Array.of(record.groupLow, record.groupHigh) : undefined,
    numbers: Array.from(record.numbers, (number) => Float32Array.of(number)),
    single: record.lists.length === 0 && record.single.length === 0 ? [] : singleOf(record.single),
    lists,
    listIds: Uint32Array.from(record.lists.flat()),
    texts,
    // A text with doubled quotes is as it is nowhere in the file.
    bytes: bytes === 0 ? NO_TEXT : Buffer.concat(record.texts),
    times: undefined,
    lines: Uint32Array.of(place.line),
    starts: Uint32Array.of(place.start),
    ends: Uint32Array.of(place.end),
  };
}

const singleOf = (halves: Uint32Array): Uint32Array[] =>
  Array.from({ length: halves.length / 2 }, (_, at) => halves.slice(2 * at, 2 * at + 2));

/** Its records from `from` to before `to`, as views. */
export function slicePiece(piece: ColumnPiece, from: number, to: number): ColumnPiece {
  const spansOf = ({ starts, ends }: ListIds | TextSpans): ListIds & TextSpans => ({
    starts: starts.subarray(from, to),
    ends: ends.subarray(from, to),
  });
  return {
    ...piece,
    records: to - from,
    labels: piece.labels.subarray(from, to),
    weights: piece.weights?.subarray(from, to),
    groups: piece.groups?.subarray(2 * from, 2 * to),
    numbers: piece.numbers.map((values) => values.subarray(from, to)),
    single: piece.single.map((ids) => ids.subarray(2 * from, 2 * to)),
    lists: piece.lists.map(spansOf),
    texts: piece.texts.map(spansOf),
    times: piece.times?.subarray(from, to),
    lines: piece.lines.subarray(from, to),
    starts: piece.starts.subarray(from, to),
    ends: piece.ends.subarray(from, to),
  };
}
