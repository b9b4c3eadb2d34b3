/** The times of records, made of the texts that a parser leaves in its pieces: the one place for all of them. */
import { quote } from '../ascii.ts';
import type { Dialect, TimeColumn } from './column.ts';
import { type ColumnPiece, slicePiece } from './piece.ts';
import { expectedTime, type ReadTime, timeReader } from './time.ts';

type Texts = Pick<ColumnPiece, 'records' | 'texts' | 'bytes'>;

export class Times {
  readonly #column: TimeColumn;
  readonly #slot: number;
  readonly #read: ReadTime;

  /** `slot`: of the column, among those of texts. */
  constructor(column: TimeColumn, slot: number, dialect: Pick<Dialect, 'decimal'>) {
    this.#column = column;
    this.#slot = slot;
    this.#read = timeReader(column, dialect);
  }

  /** NaN where a record has none, or a bad one. */
  of({ records, texts, bytes }: Texts): Float64Array {
    const { starts, ends } = texts[this.#slot]!;
    const times = new Float64Array(records);
    for (let record = 0; record < records; record++) {
      const [start, end] = [starts[record]!, ends[record]!];
      // A time in the path of the file is the same for all records.
      const isSame = record > 0 && start === starts[record - 1] && end === ends[record - 1];
      times[record] = isSame ? times[record - 1]! : this.#read(bytes, start, end);
    }
    return times;
  }

  /** Why the time of a record is bad. */
  faultOf({ texts, bytes }: Texts, record: number): string {
    const { name, from } = this.#column;
    const [start, end] = [texts[this.#slot]!.starts[record]!, texts[this.#slot]!.ends[record]!];
    const where = from === 'folder' ? ', in the path of the file' : '';
    if (start === end) return `column ${name}: the time has no value${where}`;
    return `column ${name}: time ${quote(bytes, start, end)} is not ${expectedTime(this.#column)}${where}`;
  }
}

export interface TimedSink {
  add(piece: ColumnPiece): void;
  /** `record`: of the piece that was passed. */
  bad(record: number, reason: string): void;
}

/** Passes on its records in order: those with a time in pieces, the others one by one. */
export function passTimed(piece: ColumnPiece, times: Times, into: TimedSink): void {
  const all = times.of(piece);
  const timed = { ...piece, times: all };
  let from = 0;
  for (let record = 0; record < piece.records; record++) {
    if (!Number.isNaN(all[record]!)) continue;
    if (record > from) into.add(slicePiece(timed, from, record));
    into.bad(record, times.faultOf(piece, record));
    from = record + 1;
  }
  if (from === 0) into.add(timed);
  else if (from < piece.records) into.add(slicePiece(timed, from, piece.records));
}
