/** How files are indexed, whatever they are: their records are cut into chunks, and counted. */
import { assert } from '../../base/assert.ts';
import { LIMITS } from '../../base/limits.ts';
import type { BadRecord } from '../bad-record.ts';
import { type Content, openContent } from '../bytes/content.ts';
import { fieldsOf } from '../columns/column.ts';
import type { ColumnPiece } from '../columns/piece.ts';
import { SeenColumns } from '../columns/seen.ts';
import { ANY_LABEL } from '../labels.ts';
import { noteColumns, noteLabel, noteSkipped } from '../oddities.ts';
import type { BadPlace, Piece, PieceSink } from '../piece.ts';
import type { DataPlace } from '../place.ts';
import { type Picking, SelectingSink } from '../selecting.ts';
import { type Selection, Selector } from '../selection.ts';
import type { FileLayout, IndexedFile } from '../source.ts';
import type { FoundFiles, Indexing, WholeFile } from './format.ts';

/** What the index notes of good records, besides where they are and their labels. */
export interface Notes<P extends Piece> {
  startFile(): void;
  add(piece: P): void;
  /** Throws `DataInvalid` if the file does not go with those before. */
  endFile(file: IndexedFile): void;
  /** After the last file. */
  finish(): void;
}

export class IndexSink<P extends Piece> implements PieceSink<P> {
  readonly quota = LIMITS.pieceRecords;
  badRecords = 0;
  readonly #into: Indexing;
  readonly #notes: Notes<P>;
  #offset = 0;

  constructor(into: Indexing, notes: Notes<P>) {
    this.#into = into;
    this.#notes = notes;
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

  add(piece: P, firstLine: number): void {
    const { cutter } = this.#into;
    const offset = this.#offset;
    for (let record = 0; record < piece.records; record++) {
      this.#noteLabel(piece.labels[record]!);
      const [start, end] = [offset + piece.starts[record]!, offset + piece.ends[record]!];
      cutter.record(start, end, firstLine + piece.lines[record]!, piece.positions?.[record]);
    }
    this.#notes.add(piece);
  }

  bad({ line }: BadRecord, { start: from, end: to, position, label }: BadPlace): void {
    const { cutter } = this.#into;
    const [start, end] = [this.#offset + from, this.#offset + to];
    this.badRecords += 1;
    if (label !== undefined) this.#noteLabel(label);
    if (end - start > LIMITS.recordBytes) cutter.overlongRecord(start, end, line, position);
    else cutter.record(start, end, line, position);
  }

  #noteLabel(label: number): void {
    const { bounds } = this.#into;
    noteLabel(bounds.traits, label);
    if (label >= bounds.labelBound && Number.isInteger(label)) {
      bounds.labelBound = Math.min(label + 1, Number.MAX_SAFE_INTEGER);
    }
  }
}

/** Reads a file, and passes all of its records to the sink. Undefined when it has no layout. */
type ReadInto<P extends Piece> = (
  content: Content,
  how: Omit<WholeFile, 'columns'>,
  sink: IndexSink<P>,
) => Promise<FileLayout | undefined>;

/** Opens what is read of a file. */
type OpenFile = (place: DataPlace, path: string) => Promise<Content>;

/** Reads each file once, in order. Throws what opening and reading them may throw. */
export async function indexEach<P extends Piece>(
  place: DataPlace,
  { paths }: FoundFiles,
  into: Indexing,
  notes: Notes<P>,
  read: ReadInto<P>,
  open: OpenFile = openContent,
): Promise<IndexedFile[]> {
  // Whether weights may be there is not known: what has one is no worse for it.
  const how = { labels: { ...(into.labels ?? ANY_LABEL), mayHaveWeight: true }, onBytes: into.onBytes };
  const files: IndexedFile[] = [];
  for (const path of paths) {
    const content = await open(place, path);
    try {
      into.cutter.startFile(files.length);
      notes.startFile();
      const layout = await read(content, how, new IndexSink(into, notes));
      const records = into.cutter.endFile();
      noteSkipped(into.bounds.traits, content);
      const file = { path, bytes: content.bytes, records, ...(layout === undefined ? {} : { layout }) };
      notes.endFile(file);
      files.push(file);
    } finally {
      await content.file.close();
    }
  }
  notes.finish();
  return files;
}

/** Which columns have values, and the statistics of numbers. */
export function columnNotes({ columns, statistics, bounds }: Indexing): Notes<ColumnPiece> {
  assert(columns !== undefined, 'the format has columns');
  const seenIn: { readonly path: string; readonly seen: SeenColumns }[] = [];
  let seen = new SeenColumns(columns.columns);
  return {
    startFile() {
      seen = new SeenColumns(columns.columns);
    },
    add(piece) {
      statistics?.add(piece);
      seen.add(piece);
    },
    endFile({ path, records }) {
      if (records > 0) seenIn.push({ path, seen });
    },
    finish() {
      noteColumns(bounds.traits, seenIn);
      // Classes that a job names are there, whether records have them or not.
      for (const column of columns.columns) {
        if (column.type === 'label' && column.classes !== undefined) bounds.labelBound = column.classes.length;
      }
      bounds.fieldBound = fieldsOf(columns.columns);
    },
  };
}

/** Takes the selected records of the file. `path`: that by which positions decide. */
export function selectedFor<P extends Piece>(
  sink: PieceSink<P>,
  path: string,
  selection: Selection | undefined,
  picking: Picking<P> | undefined,
): PieceSink<P> {
  if (selection === undefined || picking === undefined) return sink;
  return new SelectingSink(sink, new Selector(selection, path), picking, 0);
}
