/** How files are indexed, whatever they are: their records are cut into chunks, and counted. */
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

/** What the index notes of good records, besides their labels and where they are. */
export interface Notes<P extends Piece> {
  startFile(): void;
  add(piece: P): void;
  /** Throws `DataInvalid` if the file does not go with those before. */
  endFile(file: IndexedFile): void;
  /** After the last file. */
  finish(): void;
}

/** Cuts the records that it takes into chunks. */
export class IndexSink<P extends Piece> implements PieceSink<P> {
  readonly quota = LIMITS.pieceRecords;
  badRecords = 0;
  readonly #cutter: ChunkCutter;
  #offset = 0;

  constructor(cutter: ChunkCutter) {
    this.#cutter = cutter;
  }

  /** `bytes`: those of the records that follow, at `offset`. */
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

/** Notes what it takes, and passes it on. */
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
 * Reads a file, and passes all of its records to `sinkFor` the path by which positions decide. `watch` sees the bytes.
 * Undefined when it has no layout.
 */
export type ReadInto<P extends Piece> = (
  content: Content,
  how: Omit<WholeFile, 'columns'>,
  sinkFor: (path: string) => PieceSink<P>,
  watch: Pick<IndexSink<P>, 'show' | 'retire' | 'interrupt'>,
) => Promise<FileLayout | undefined>;

/** How records are noted, and which of them are selected. */
export interface Indexed<P extends Piece> {
  readonly notes: Notes<P>;
  readonly picking: (selection: Selection) => Picking<P>;
  /** Also records that are not selected are noted: what is noted does not depend on the selection. */
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
  // A job may refuse weights: then all records that have one are bad, and what is noted of them does no harm.
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
