/** A piece: good records that a parser has read. And the interface of everything that takes pieces. */
import type { BadRecord } from './bad-record.ts';

/** The parts of a piece that every format has. Its arrays may be views, which end when a sink takes the piece. */
export interface Piece {
  readonly records: number;
  readonly labels: Float32Array;
  /** Undefined when all are 1. */
  readonly weights: Float32Array | undefined;
  /** u32 halves, low first; `NO_GROUP` where a record has none. */
  readonly groups: Uint32Array | undefined;
  /** Line of each record, relative to the first line of the text it is in. */
  readonly lines: Uint32Array;
  /** Where each record begins and ends in that text, including its line break. */
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  /** Position of each record in the file, if only some records are selected (`selection.ts`). */
  readonly positions?: Float64Array | undefined;
}

/** Features of some records. */
export interface ReadFeatures {
  readonly features: number;
  /** For each record, where its features end; those of the first one begin at 0. */
  readonly ends: Uint32Array;
  /** u64 little-endian. */
  readonly ids: Uint8Array;
  /** Undefined when all are 1. */
  readonly values: Float32Array | undefined;
  /** Undefined when features have none. */
  readonly fields?: Uint16Array | undefined;
}

/** Records of features with ids, as sparse text has them. */
export interface SparsePiece extends Piece {
  readonly features: ReadFeatures;
}

/** Where a bad record is. */
export interface BadPlace {
  /** Where it begins and ends in the text, including its line break. */
  readonly start: number;
  readonly end: number;
  /** Its position in the file, if only some records are selected. */
  readonly position?: number | undefined;
  /** Its label as written, if it is a number. */
  readonly label?: number | undefined;
}

/** Takes the records of a text in their order. */
export interface PieceSink<P extends Piece> {
  /** Number of records that can be added at once; 0 if the sink is full. */
  readonly quota: number;
  readonly badRecords: number;
  /** Takes at most `quota` records. The call may end the views of the piece. `firstLine`: first line of the text. */
  add(piece: P, firstLine: number): void;
  /** To be called only while `quota` is above 0. */
  bad(record: BadRecord, place: BadPlace): void;
}

export const picked = {
  floats: (from: Float32Array, kept: readonly number[]): Float32Array =>
    Float32Array.from(kept, (record) => from[record]!),
  words: (from: Uint32Array, kept: readonly number[]): Uint32Array => Uint32Array.from(kept, (record) => from[record]!),
  /** Pairs of u32. */
  halves(from: Uint32Array, kept: readonly number[]): Uint32Array {
    const halves = new Uint32Array(2 * kept.length);
    kept.forEach((record, at) => {
      halves[2 * at] = from[2 * record]!;
      halves[2 * at + 1] = from[2 * record + 1]!;
    });
    return halves;
  },
};
