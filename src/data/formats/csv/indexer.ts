/** The index of CSV files: each is parsed once, for its records and for what is known of its numbers. */
import { assert } from '../../../base/assert.ts';
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { ColumnSpec } from '../../columns/column.ts';
import type { ColumnPiece } from '../../columns/piece.ts';
import type { PieceSink } from '../../columns/piece-sink.ts';
import { SelectingSink, splitBy } from '../../columns/selecting.ts';
import { type Content, openContent } from '../../content.ts';
import type { LabelRule } from '../../labels.ts';
import { noteLabel } from '../../oddities.ts';
import type { DataPlace } from '../../place.ts';
import { Selector } from '../../selection.ts';
import type { BadRecord, FileLayout, IndexedFile } from '../../source.ts';
import type { FoundFiles, Indexing } from '../format.ts';
import { HEAD_BYTES, headOf } from './layout.ts';
import { planOf } from './plan.ts';
import { readStretch, type SliceWatch, type Stopped } from './stretch.ts';

/** The widest rule, where the labels that the model takes decide nothing. */
const ANY_LABEL: LabelRule = { task: 'regression' };

export async function indexCsv(place: DataPlace, found: FoundFiles, into: Indexing): Promise<IndexedFile[]> {
  const { columns: spec } = into;
  assert(spec !== undefined, 'CSV has columns');
  const files: IndexedFile[] = [];
  for (const path of found.paths) {
    const file = await indexFile(place, path, files.length, spec, into);
    if (!spec.dialect.header) refuseOtherWidth(files, file);
    files.push(file);
  }
  for (const column of spec.columns) {
    if (column.type === 'label' && column.classes !== undefined) into.bounds.labelBound = column.classes.length;
  }
  return files;
}

async function indexFile(
  place: DataPlace,
  path: string,
  file: number,
  spec: ColumnSpec,
  into: Indexing,
): Promise<IndexedFile> {
  const content = await openContent(place, path);
  try {
    into.cutter.startFile(file);
    const layout = await indexContent(path, content, spec, into);
    if ((await content.file.size()) !== content.bytes) throw changing(path);
    const records = into.cutter.endFile();
    return { path, bytes: content.bytes, records, ...(layout === undefined ? {} : { layout }) };
  } finally {
    await content.file.close();
  }
}

const changing = (path: string): PaddletError =>
  new PaddletError('DataChanged', `${path} changed while it was being indexed`);

async function indexContent(
  path: string,
  content: Content,
  spec: ColumnSpec,
  into: Indexing,
): Promise<FileLayout | undefined> {
  const first = new Uint8Array(Math.min(HEAD_BYTES, content.bytes));
  await content.file.read(first, 0);
  const head = headOf(path, first, first.length === content.bytes, spec);
  into.onBytes(head?.offset ?? first.length);
  if (head === undefined) return undefined;
  const { layout, offset, line } = head;
  const stretch = {
    file: path,
    from: offset,
    to: content.bytes,
    firstLine: line,
    async read(at: number, wanted: number) {
      const bytes = new Uint8Array(wanted);
      return bytes.subarray(0, await content.file.read(bytes, at));
    },
  };
  const sink = new IndexSink(into);
  const { selection } = into;
  const selected =
    selection === undefined
      ? sink
      : new SelectingSink(sink, new Selector(selection, path), splitBy(selection, spec.columns), 0);
  const plan = planOf(spec, layout, into.labels ?? ANY_LABEL, path);
  const stopped = await readStretch(stretch, plan, selected, sink);
  if (stopped !== undefined) throw stoppedEarly(path, stopped);
  return layout;
}

function stoppedEarly(path: string, stopped: Stopped): PaddletError {
  return stopped.kind === 'open' ? openQuote(path, stopped) : changing(path);
}

export function openQuote(path: string, { line, column }: Stopped & { kind: 'open' }): PaddletError {
  return new PaddletError('DataInvalid', `${path}:${line}:${column}: this quote is not closed`, {
    hint: 'write a quote in a quoted text twice, or set data.csv.quote to none if quotes are ordinary characters',
  });
}

class IndexSink implements PieceSink, SliceWatch {
  readonly quota = LIMITS.pieceRecords;
  badRecords = 0;
  readonly #into: Indexing;
  #offset = 0;

  constructor(into: Indexing) {
    this.#into = into;
  }

  show(slice: Uint8Array, lines: Uint8Array, offset: number): void {
    this.#into.onBytes(slice.length);
    this.#into.cutter.show(lines, offset);
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

/** Without headers, columns are where they are in the first file that has records. Throws `DataInvalid`. */
function refuseOtherWidth(files: readonly IndexedFile[], { path, layout }: IndexedFile): void {
  const first = files.find((file) => file.layout !== undefined);
  if (first?.layout === undefined || layout === undefined || first.layout.fields === layout.fields) return;
  throw new PaddletError(
    'DataInvalid',
    `${path} has ${layout.fields} fields a line, ${first.path} has ${first.layout.fields}`,
    { hint: 'without a header all files have the same columns' },
  );
}
