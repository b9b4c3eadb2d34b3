/** What an indexer does with the records of a file with columns: cuts them into chunks, and counts what they have. */
import { LIMITS } from '../../base/limits.ts';
import type { ColumnSpec } from '../columns/column.ts';
import type { ColumnPiece } from '../columns/piece.ts';
import type { PieceSink } from '../columns/piece-sink.ts';
import { SelectingSink, splitBy } from '../columns/selecting.ts';
import { noteLabel } from '../oddities.ts';
import { Selector } from '../selection.ts';
import type { BadRecord } from '../source.ts';
import type { Indexing } from './format.ts';

export class IndexSink implements PieceSink {
  readonly quota = LIMITS.pieceRecords;
  badRecords = 0;
  readonly #into: Indexing;
  #offset = 0;

  constructor(into: Indexing) {
    this.#into = into;
  }

  /** `bytes`: those of the records that follow, at `offset`. */
  show(bytes: Uint8Array, offset: number): void {
    this.#into.cutter.show(bytes, offset);
    this.#offset = offset;
  }

  retire(to: number): void {
    this.#into.cutter.retire(to);
  }

  interrupt(): void {
    this.#into.cutter.endChunk();
  }

  add(piece: ColumnPiece, firstLine: number): void {
    const { cutter, bounds, statistics } = this.#into;
    const offset = this.#offset;
    for (let record = 0; record < piece.records; record++) {
      const label = piece.labels[record]!;
      noteLabel(bounds.traits, label);
      if (label >= bounds.labelBound && Number.isInteger(label)) {
        bounds.labelBound = Math.min(label + 1, Number.MAX_SAFE_INTEGER);
      }
      const [start, end] = [offset + piece.starts[record]!, offset + piece.ends[record]!];
      cutter.record(start, end, firstLine + piece.lines[record]!, piece.positions?.[record]);
    }
    statistics?.add(piece);
  }

  bad({ line }: BadRecord, from: number, to: number, position?: number): void {
    const { cutter } = this.#into;
    const [start, end] = [this.#offset + from, this.#offset + to];
    this.badRecords += 1;
    if (end - start > LIMITS.recordBytes) cutter.overlongRecord(start, end, line, position);
    else cutter.record(start, end, line, position);
  }
}

/** Classes that a job names are there, whether records have them or not. */
export function boundClasses({ bounds }: Indexing, { columns }: ColumnSpec): void {
  for (const column of columns) {
    if (column.type === 'label' && column.classes !== undefined) bounds.labelBound = column.classes.length;
  }
}

/** Of the records of the file, those of the dataset. `path`: by which positions decide. */
export function selectedFor(sink: PieceSink, path: string, { columns, selection }: Indexing): PieceSink {
  if (selection === undefined || columns === undefined) return sink;
  return new SelectingSink(sink, new Selector(selection, path), splitBy(selection, columns.columns), 0);
}
