/** The index of files of text with columns: each is parsed once, for its records and what is known of its numbers. */
import { PaddletError } from '../../../base/errors.ts';
import type { PieceSink } from '../../columns/piece-sink.ts';
import type { Content } from '../../content.ts';
import type { DataPlace } from '../../place.ts';
import type { FileLayout, IndexedFile } from '../../source.ts';
import { FORWARD_HEAD_BYTES, type FoundFiles, type Indexing, type ReadFile, type WholeFile } from '../format.ts';
import { indexEach, selectedFor } from '../index-sink.ts';
import { planFor, type TextForm } from './form.ts';
import { readStretch, type SliceWatch, type Stopped } from './stretch.ts';

export async function indexText(
  form: TextForm,
  place: DataPlace,
  found: FoundFiles,
  into: Indexing,
): Promise<IndexedFile[]> {
  let first: LaidOut | undefined;
  return await indexEach(place, found, into, async (content, how, sink) => {
    const { path } = content;
    const watch: SliceWatch = {
      show: (_slice, lines, offset) => sink.show(lines, offset),
      retire: (to) => sink.retire(to),
      interrupt: () => sink.interrupt(),
    };
    const { layout } = await readWhole(form, content, how, selectedFor(sink, path, into), watch);
    if (layout === undefined) return undefined;
    first ??= { path, layout };
    if (!how.columns.dialect.header) refuseOtherWidth(first, { path, layout });
    return layout;
  });
}

const NO_WATCH: SliceWatch = { show() {}, retire() {}, interrupt() {} };

/** As `Format.readFile`. `watch` sees the bytes that are read. */
export async function readWhole(
  form: TextForm,
  content: Content,
  { columns, labels, onBytes, beforeRead = async () => {} }: WholeFile,
  sink: PieceSink,
  watch = NO_WATCH,
): Promise<ReadFile> {
  const { path } = content;
  const first = new Uint8Array(Math.min(FORWARD_HEAD_BYTES, content.bytes));
  await content.file.read(first, 0);
  const head = form.headOf(path, first, first.length === content.bytes, columns);
  onBytes(head?.offset ?? first.length);
  if (head === undefined) return { layout: undefined, isWhole: true };
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
  const stopped = await readStretch(stretch, planFor(form, columns, layout, labels, path), sink, watch);
  if (stopped?.kind === 'full') return { layout, isWhole: false };
  if (stopped?.kind === 'open') throw openQuote(path, stopped);
  if (stopped?.kind === 'short' || (await content.file.size()) !== content.bytes) throw changing(path);
  return { layout, isWhole: true };
}

const changing = (path: string): PaddletError =>
  new PaddletError('DataChanged', `${path} changed while it was being read`);

export function openQuote(path: string, { line, column }: Stopped & { kind: 'open' }): PaddletError {
  return new PaddletError('DataInvalid', `${path}:${line}:${column}: this quote is not closed`, {
    hint: 'double each quote inside a quoted field, or set data.csv.quote to none if quotes are ordinary characters',
  });
}

interface LaidOut {
  readonly path: string;
  readonly layout: FileLayout;
}

/** Without headers, columns are where they are in the first file that has records. Throws `DataInvalid`. */
function refuseOtherWidth(first: LaidOut, { path, layout }: LaidOut): void {
  if (first.layout.fields === layout.fields) return;
  throw new PaddletError(
    'DataInvalid',
    `${path} has ${layout.fields} fields per line, but ${first.path} has ${first.layout.fields}`,
    { hint: 'if the files have no header, all of them must have the same columns' },
  );
}
