/** Puts the records of some text together in groups, with the texts that are carried over. */
import { LIMITS } from '../../../base/limits.ts';
import { type ColumnRecords, columnRecords } from '../../columns/column-records.ts';
import type { ColumnPiece } from '../../columns/piece.ts';
import type { PieceSink } from '../../columns/piece-sink.ts';
import type { BadRecord } from '../../source.ts';
import type { ForwardGroup, ReadColumns } from '../format.ts';
import type { Kept, KeptTexts } from './form.ts';
import { type LinePlan, pathBytes } from './plan.ts';

const ZEROS = new Float32Array(LIMITS.pieceRecords);

export interface GroupSinkOptions {
  readonly file: string;
  readonly columns: ReadColumns;
  readonly plan: LinePlan;
  /** The texts that are carried over. */
  readonly kept: Kept;
  /** Records of a group, at most. */
  readonly batchSize: number;
}

interface Group {
  readonly into: ColumnRecords;
  readonly records: number;
  readonly kept: string[][];
}

export class GroupSink implements PieceSink {
  readonly #options: GroupSinkOptions;
  /** How much text there is, and how far it is read. */
  readonly #textBytes: number;
  #at = 0;
  readonly #texts: KeptTexts | undefined;
  #group: Group | undefined;
  readonly #ready: ForwardGroup[] = [];

  /** `text`: the records are in it. */
  constructor(options: GroupSinkOptions, text: Uint8Array) {
    const { kept } = options;
    this.#options = options;
    this.#textBytes = text.length;
    this.#texts = kept.names.length === 0 ? undefined : kept.textsIn(text);
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
    // The plan has no label: what a kernel has there is of other records.
    group.into.add({ ...piece, labels: ZEROS.subarray(0, piece.records) }, firstLine);
    if (this.#texts !== undefined) {
      for (let record = 0; record < piece.records; record++) {
        group.kept.push(this.#texts.of(piece.starts[record]!, piece.ends[record]!));
      }
    }
    this.#took(group, piece.ends[piece.records - 1]!);
  }

  bad(record: BadRecord, start: number, end: number): void {
    const group = this.#open();
    group.into.bad(record);
    if (this.#texts !== undefined) group.kept.push(this.#texts.of(start, end));
    this.#took(group, end);
  }

  /** Of all records so far. */
  groups(): readonly ForwardGroup[] {
    this.#end();
    return this.#ready;
  }

  #open(): Group {
    if (this.#group !== undefined) return this.#group;
    const { file, columns, plan, batchSize } = this.#options;
    const left = this.#textBytes - this.#at;
    // Of few long lines no more is allocated than they need.
    const records = Math.min(batchSize, Math.max(1, Math.ceil((left + 1) / plan.form.leastBytes)));
    const size = { records, bytes: left + records * pathBytes(file, columns), batchSize };
    const into = columnRecords(columns, size);
    into.startPart(file);
    this.#group = { into, records, kept: [] };
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
    this.#ready.push(this.#texts === undefined ? { records } : { records, kept: group.kept });
  }
}
