/** The index of CSV files: each is parsed once, for its records and for what is known of its numbers. */
import { assert } from '../../../base/assert.ts';
import { PaddletError } from '../../../base/errors.ts';
import type { ColumnSpec } from '../../columns/column.ts';
import type { PieceSink } from '../../columns/piece-sink.ts';
import { type Content, openContent } from '../../content.ts';
import { ANY_LABEL } from '../../labels.ts';
import type { DataPlace } from '../../place.ts';
import type { FileLayout, IndexedFile } from '../../source.ts';
import type { FoundFiles, Indexing, WholeFile } from '../format.ts';
import { boundClasses, IndexSink, selectedFor } from '../index-sink.ts';
import { HEAD_BYTES, headOf } from './layout.ts';
import { planOf } from './plan.ts';
import { readStretch, type SliceWatch, type Stopped } from './stretch.ts';

export async function indexCsv(place: DataPlace, found: FoundFiles, into: Indexing): Promise<IndexedFile[]> {
  const { columns: spec } = into;
  assert(spec !== undefined, 'CSV has columns');
  const files: IndexedFile[] = [];
  for (const path of found.paths) {
    const file = await indexFile(place, path, files.length, spec, into);
    if (!spec.dialect.header) refuseOtherWidth(files, file);
    files.push(file);
  }
  boundClasses(into, spec);
  return files;
}

async function indexFile(
  place: DataPlace,
  path: string,
  file: number,
  columns: ColumnSpec,
  into: Indexing,
): Promise<IndexedFile> {
  const content = await openContent(place, path);
  try {
    into.cutter.startFile(file);
    const sink = new IndexSink(into);
    const watch: SliceWatch = {
      show: (_slice, lines, offset) => sink.show(lines, offset),
      retire: (to) => sink.retire(to),
      interrupt: () => sink.interrupt(),
    };
    const { labels = ANY_LABEL, onBytes } = into;
    const layout = await readCsv(content, { columns, labels, onBytes }, selectedFor(sink, path, into), watch);
    const records = into.cutter.endFile();
    return { path, bytes: content.bytes, records, ...(layout === undefined ? {} : { layout }) };
  } finally {
    await content.file.close();
  }
}

const NO_WATCH: SliceWatch = { show() {}, retire() {}, interrupt() {} };

/** As `Format.readFile`. `watch` is told of the bytes that are read. */
export async function readCsv(
  content: Content,
  { columns, labels, onBytes, beforeRead = async () => {} }: WholeFile,
  sink: PieceSink,
  watch = NO_WATCH,
): Promise<FileLayout | undefined> {
  const { path } = content;
  const first = new Uint8Array(Math.min(HEAD_BYTES, content.bytes));
  await content.file.read(first, 0);
  const head = headOf(path, first, first.length === content.bytes, columns);
  onBytes(head?.offset ?? first.length);
  if (head === undefined) return undefined;
  const { layout, offset, line } = head;
  const stretch = {
    file: path,
    from: offset,
    to: content.bytes,
    firstLine: line,
    async read(at: number, wanted: number) {
      await beforeRead();
      const bytes = new Uint8Array(wanted);
      const got = await content.file.read(bytes, at);
      onBytes(got);
      return bytes.subarray(0, got);
    },
  };
  const stopped = await readStretch(stretch, planOf(columns, layout, labels, path), sink, watch);
  if (stopped !== undefined) throw stoppedEarly(path, stopped);
  if ((await content.file.size()) !== content.bytes) throw changing(path);
  return layout;
}

export const changing = (path: string): PaddletError =>
  new PaddletError('DataChanged', `${path} changed while it was being read`);

const stoppedEarly = (path: string, stopped: Stopped): PaddletError =>
  stopped.kind === 'open' ? openQuote(path, stopped) : changing(path);

export function openQuote(path: string, { line, column }: Stopped & { kind: 'open' }): PaddletError {
  return new PaddletError('DataInvalid', `${path}:${line}:${column}: this quote is not closed`, {
    hint: 'write a quote in a quoted text twice, or set data.csv.quote to none if quotes are ordinary characters',
  });
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
