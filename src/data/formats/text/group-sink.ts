/** Puts the records of some text, or of some rows, together in groups, with the texts that are carried over. */
import { LIMITS } from '../../../base/limits.ts';
import type { BadRecord } from '../../bad-record.ts';
import type { TaskSink, TaskSize } from '../../parsed/task-records.ts';
import type { BadPlace, Piece, PieceSink } from '../../piece.ts';
import type { ForwardGroup } from '../format.ts';
import type { KeptTexts, Scoring } from './kind.ts';

const ZEROS = new Float32Array(LIMITS.pieceRecords);

export interface GroupSinkOptions<P extends Piece> extends Pick<Scoring<P>, 'recordsOf' | 'watch'> {
  readonly file: string;
  /** Records of a group, at most. */
  readonly batchSize: number;
}

/** What the records are in: their places count bytes of text, or rows. */
export interface GroupSource {
  /** The place of the first. */
  readonly from: number;
  /** Room for those from there on, one at least: as many as there may be, or the first of them. */
  roomAt(at: number): Pick<TaskSize, 'records' | 'bytes'>;
  /** Those that are carried over; undefined when none are. */
  readonly texts: KeptTexts | undefined;
}

interface Group<P extends Piece> {
  readonly into: TaskSink<P>;
  readonly records: number;
  readonly kept: string[][];
}

export class GroupSink<P extends Piece> implements PieceSink<P> {
  readonly #options: GroupSinkOptions<P>;
  readonly #source: GroupSource;
  /** How far it is read. */
  #at: number;
  #group: Group<P> | undefined;
  readonly #ready: ForwardGroup[] = [];

  constructor(options: GroupSinkOptions<P>, source: GroupSource) {
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

  add(piece: P, firstLine: number): void {
    const group = this.#open();
    this.#options.watch?.(piece);
    const { texts } = this.#source;
    const end = piece.ends[piece.records - 1]!;
    if (texts !== undefined) {
      for (let record = 0; record < piece.records; record++) {
        group.kept.push(texts.of(piece.starts[record]!, piece.ends[record]!));
      }
    }
    // The labels may be those of other records, since the plan reads none. After this call, the views of the piece end.
    group.into.add({ ...piece, labels: ZEROS.subarray(0, piece.records) }, firstLine);
    this.#took(group, end);
  }

  bad(record: BadRecord, place: BadPlace): void {
    const group = this.#open();
    group.into.bad(record, place);
    const { texts } = this.#source;
    if (texts !== undefined) group.kept.push(texts.of(place.start, place.end));
    this.#took(group, place.end);
  }

  /** Groups of all records so far. */
  groups(): readonly ForwardGroup[] {
    this.#end();
    return this.#ready;
  }

  #open(): Group<P> {
    if (this.#group !== undefined) return this.#group;
    const { file, recordsOf, batchSize } = this.#options;
    const size = this.#source.roomAt(this.#at);
    const into = recordsOf({ ...size, batchSize });
    into.startPart(file);
    this.#group = { into, records: size.records, kept: [] };
    return this.#group;
  }

  #took(group: Group<P>, end: number): void {
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
