/** Puts the records of some text, or of some rows, together in groups, with the texts that are carried over. */
import { LIMITS } from '../../../base/limits.ts';
import { type ColumnRecords, columnRecords, type RecordsSize } from '../../columns/column-records.ts';
import type { ColumnPiece } from '../../columns/piece.ts';
import type { PieceSink } from '../../columns/piece-sink.ts';
import type { BadRecord } from '../../source.ts';
import type { ForwardGroup, ReadColumns, WatchPieces } from '../format.ts';
import type { KeptTexts } from './form.ts';

const ZEROS = new Float32Array(LIMITS.pieceRecords);

export interface GroupSinkOptions {
  readonly file: string;
  readonly columns: ReadColumns;
  /** Records of a group, at most. */
  readonly batchSize: number;
  readonly watch?: WatchPieces | undefined;
}

/** What the records are in: their places count bytes of text, or rows. */
export interface GroupSource {
  /** The place of the first. */
  readonly from: number;
  /** Room for those from there on, one at least: as many as there may be, or the first of them. */
  roomAt(at: number): Pick<RecordsSize, 'records' | 'bytes'>;
  /** Those that are carried over; undefined when none are. */
  readonly texts: KeptTexts | undefined;
}

interface Group {
  readonly into: ColumnRecords;
  readonly records: number;
  readonly kept: string[][];
}

export class GroupSink implements PieceSink {
  readonly #options: GroupSinkOptions;
  readonly #source: GroupSource;
  /** How far it is read. */
  #at: number;
  #group: Group | undefined;
  readonly #ready: ForwardGroup[] = [];

  constructor(options: GroupSinkOptions, source: GroupSource) {
    this.#options = options;
    this.#source = source;
    this.#at = source.from;
  }

  get quota(): number {
    const { into, records } = this.#open();
    return Math.min(records - into.records, LIMITS.pieceRecords);
  }

  get badRecords(): number {
    return this.#group?.into.badRecords ?? 0;
  }

  add(piece: ColumnPiece, firstLine: number): void {
    const group = this.#open();
    this.#options.watch?.(piece);
    // The plan has no label: what a kernel has there is of other records.
    group.into.add({ ...piece, labels: ZEROS.subarray(0, piece.records) }, firstLine);
    const { texts } = this.#source;
    if (texts !== undefined) {
      for (let record = 0; record < piece.records; record++) {
        group.kept.push(texts.of(piece.starts[record]!, piece.ends[record]!));
      }
    }
    this.#took(group, piece.ends[piece.records - 1]!);
  }

  bad(record: BadRecord, start: number, end: number): void {
    const group = this.#open();
    group.into.bad(record);
    const { texts } = this.#source;
    if (texts !== undefined) group.kept.push(texts.of(start, end));
    this.#took(group, end);
  }

  /** Groups of all records so far. */
  groups(): readonly ForwardGroup[] {
    this.#end();
    return this.#ready;
  }

  #open(): Group {
    if (this.#group !== undefined) return this.#group;
    const { file, columns, batchSize } = this.#options;
    const size = this.#source.roomAt(this.#at);
    const into = columnRecords(columns, { ...size, batchSize });
    into.startPart(file);
    this.#group = { into, records: size.records, kept: [] };
    return this.#group;
  }

  #took(group: Group, end: number): void {
    this.#at = end;
    if (group.into.records === group.records) this.#end();
  }

  #end(): void {
    const group = this.#group;
    this.#group = undefined;
    if (group === undefined || group.into.records === 0) return;
    const { records } = group.into.finish();
    this.#ready.push(this.#source.texts === undefined ? { records } : { records, kept: group.kept });
  }
}
