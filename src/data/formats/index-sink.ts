/** How files with columns are indexed, whatever they are: their records are cut into chunks, and counted. */
import { assert } from '../../base/assert.ts';
import { LIMITS } from '../../base/limits.ts';
import { type ColumnSpec, fieldsOf } from '../columns/column.ts';
import type { ColumnPiece } from '../columns/piece.ts';
import type { PieceSink } from '../columns/piece-sink.ts';
import { SeenColumns } from '../columns/seen.ts';
import { SelectingSink, splitBy } from '../columns/selecting.ts';
import { type Content, openContent } from '../content.ts';
import { ANY_LABEL } from '../labels.ts';
import { noteColumns, noteLabel, noteSkipped } from '../oddities.ts';
import type { DataPlace } from '../place.ts';
import { Selector } from '../selection.ts';
import type { BadRecord, FileLayout, IndexedFile } from '../source.ts';
import type { Format, FoundFiles, Indexing, WholeFile } from './format.ts';

export class IndexSink implements PieceSink {
  readonly quota = LIMITS.pieceRecords;
  badRecords = 0;
  readonly #into: Indexing;
  readonly #seen: SeenColumns;
  #offset = 0;

  constructor(into: Indexing, seen: SeenColumns) {
    this.#into = into;
    this.#seen = seen;
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
    this.#seen.add(piece);
  }

  bad({ line }: BadRecord, from: number, to: number, position?: number): void {
    const { cutter } = this.#into;
    const [start, end] = [this.#offset + from, this.#offset + to];
    this.badRecords += 1;
    if (end - start > LIMITS.recordBytes) cutter.overlongRecord(start, end, line, position);
    else cutter.record(start, end, line, position);
  }
}

/** Reads a file, and passes all of its records to the sink. Undefined when it has none. */
type ReadInto = (content: Content, how: WholeFile, sink: IndexSink) => Promise<FileLayout | undefined>;

/** Reads each file once, in order. Throws what opening and reading them may throw. */
export async function indexEach(
  place: DataPlace,
  { paths }: FoundFiles,
  into: Indexing,
  read: ReadInto,
  open: NonNullable<Format['open']> = (from, path) => openContent(from, path),
): Promise<IndexedFile[]> {
  const { columns, labels = ANY_LABEL, onBytes } = into;
  assert(columns !== undefined, 'the format has columns');
  const files: IndexedFile[] = [];
  const seenIn: { readonly path: string; readonly seen: SeenColumns }[] = [];
  for (const path of paths) {
    const content = await open(place, path, columns);
    const seen = new SeenColumns(columns.columns);
    try {
      into.cutter.startFile(files.length);
      const layout = await read(content, { columns, labels, onBytes }, new IndexSink(into, seen));
      const records = into.cutter.endFile();
      noteSkipped(into.bounds.traits, content);
      if (records > 0) seenIn.push({ path, seen });
      files.push({ path, bytes: content.bytes, records, ...(layout === undefined ? {} : { layout }) });
    } finally {
      await content.file.close();
    }
  }
  noteColumns(into.bounds.traits, seenIn);
  boundClasses(into, columns);
  into.bounds.fieldBound = fieldsOf(columns.columns);
  return files;
}

/** Classes that a job names are there, whether records have them or not. */
function boundClasses({ bounds }: Indexing, { columns }: ColumnSpec): void {
  for (const column of columns) {
    if (column.type === 'label' && column.classes !== undefined) bounds.labelBound = column.classes.length;
  }
}

/** Takes the selected records of the file. `path`: that by which positions decide. */
export function selectedFor(sink: PieceSink, path: string, { columns, selection }: Indexing): PieceSink {
  if (selection === undefined || columns === undefined) return sink;
  return new SelectingSink(sink, new Selector(selection, path), splitBy(selection, columns.columns), 0);
}
