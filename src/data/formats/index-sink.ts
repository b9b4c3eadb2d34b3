/** Indexes the files of any format: cuts their records into chunks, and counts them. */
import { assert } from '../../base/assert.ts';
import { LIMITS } from '../../base/limits.ts';
import type { BadRecord } from '../bad-record.ts';
import { type Content, openContent } from '../bytes/content.ts';
import type { ChunkCutter } from '../chunk-cutter.ts';
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
import type { Bounds, FoundFiles, Indexing, WholeFile } from './format.ts';

/** Collects facts about good records for the index, besides labels and places. */
export interface Notes<P extends Piece> {
  startFile(): void;
  add(piece: P): void;
  /** Throws `DataInvalid` if the file cannot be in one dataset with those before. */
  endFile(file: IndexedFile): void;
  /** After the last file. */
  finish(): void;
}

/** Cuts records into chunks. */
export class IndexSink<P extends Piece> implements PieceSink<P> {
  readonly quota = LIMITS.pieceRecords;
  badRecords = 0;
  readonly #cutter: ChunkCutter;
  #offset = 0;

  constructor(cutter: ChunkCutter) {
    this.#cutter = cutter;
  }

  /** `bytes`: contain the next records, and begin at `offset` in the file. */
  show(bytes: Uint8Array, offset: number): void {
    this.#cutter.show(bytes, offset);
    this.#offset = offset;
  }

  retire(to: number): void {
    this.#cutter.retire(to);
  }

  interrupt(): void {
    this.#cutter.endChunk();
  }

  add({ records, starts, ends, lines, positions }: P, firstLine: number): void {
    const offset = this.#offset;
    for (let record = 0; record < records; record++) {
      const [start, end] = [offset + starts[record]!, offset + ends[record]!];
      this.#cutter.record(start, end, firstLine + lines[record]!, positions?.[record]);
    }
  }

  bad({ line }: BadRecord, { start: from, end: to, position }: BadPlace): void {
    const [start, end] = [this.#offset + from, this.#offset + to];
    this.badRecords += 1;
    if (end - start > LIMITS.recordBytes) this.#cutter.overlongRecord(start, end, line, position);
    else this.#cutter.record(start, end, line, position);
  }
}

/** Notes facts about records, and passes the records on. */
class NotedSink<P extends Piece> implements PieceSink<P> {
  readonly #inner: PieceSink<P>;
  readonly #bounds: Bounds;
  readonly #notes: Notes<P>;

  constructor(inner: PieceSink<P>, bounds: Bounds, notes: Notes<P>) {
    this.#inner = inner;
    this.#bounds = bounds;
    this.#notes = notes;
  }

  get quota(): number {
    return this.#inner.quota;
  }

  get badRecords(): number {
    return this.#inner.badRecords;
  }

  add(piece: P, firstLine: number): void {
    for (let record = 0; record < piece.records; record++) this.#noteLabel(piece.labels[record]!);
    this.#notes.add(piece);
    this.#inner.add(piece, firstLine);
  }

  bad(record: BadRecord, place: BadPlace): void {
    if (place.label !== undefined) this.#noteLabel(place.label);
    this.#inner.bad(record, place);
  }

  #noteLabel(label: number): void {
    noteLabel(this.#bounds.traits, label);
    if (label >= this.#bounds.labelBound && Number.isInteger(label)) {
      this.#bounds.labelBound = Math.min(label + 1, Number.MAX_SAFE_INTEGER);
    }
  }
}

/**
 * Reads a file, and passes all of its records to the sink for a path: that path decides which positions are selected.
 * `watch` sees the bytes. Returns undefined if the format has no layouts.
 */
export type ReadInto<P extends Piece> = (
  content: Content,
  how: Omit<WholeFile, 'columns'>,
  sinkFor: (path: string) => PieceSink<P>,
  watch: Pick<IndexSink<P>, 'show' | 'retire' | 'interrupt'>,
) => Promise<FileLayout | undefined>;

/** How to note records, and how to select some of them. */
export interface Indexed<P extends Piece> {
  readonly notes: Notes<P>;
  readonly picking: (selection: Selection) => Picking<P>;
  /** Notes all records, not only the selected ones. */
  readonly notesAll: boolean;
}

/** Opens what is read of a file. */
type OpenFile = (place: DataPlace, path: string) => Promise<Content>;

/** Reads each file once, in order. Throws what opening and reading them may throw. */
export async function indexEach<P extends Piece>(
  place: DataPlace,
  { paths }: FoundFiles,
  into: Indexing,
  { notes, picking, notesAll }: Indexed<P>,
  read: ReadInto<P>,
  open: OpenFile = openContent,
): Promise<IndexedFile[]> {
  const { cutter, bounds, selection } = into;
  // Whether the job accepts weights is not known here. If it does not, records with a weight only widen the bounds.
  const how = { labels: { ...(into.labels ?? ANY_LABEL), mayHaveWeight: true }, onBytes: into.onBytes };
  const noted = (sink: PieceSink<P>): PieceSink<P> => new NotedSink(sink, bounds, notes);
  const selecting = (sink: PieceSink<P>, path: string): PieceSink<P> =>
    selection === undefined ? sink : new SelectingSink(sink, new Selector(selection, path), picking(selection), 0);
  const files: IndexedFile[] = [];
  for (const path of paths) {
    const content = await open(place, path);
    try {
      cutter.startFile(files.length);
      notes.startFile();
      const sink = new IndexSink<P>(cutter);
      const sinkFor = (named: string): PieceSink<P> =>
        notesAll ? noted(selecting(sink, named)) : selecting(noted(sink), named);
      const layout = await read(content, how, sinkFor, sink);
      const records = cutter.endFile();
      noteSkipped(bounds.traits, content);
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

/** Notes which columns have values, and the statistics of numbers. */
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
      // The classes that a job names count even if no record has them.
      for (const column of columns.columns) {
        if (column.type === 'label' && column.classes !== undefined) bounds.labelBound = column.classes.length;
      }
      bounds.fieldBound = fieldsOf(columns.columns);
    },
  };
}
