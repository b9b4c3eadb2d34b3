/** Reads a file of lines from its beginning to its end. */
import { PaddletError } from '../../../base/errors.ts';
import type { Content } from '../../bytes/content.ts';
import { SLICE_BYTES, Slices } from '../../bytes/slices.ts';
import type { Piece, PieceSink } from '../../piece.ts';
import { FORWARD_HEAD_BYTES, type ReadFile, type WholeFile } from '../format.ts';
import type { LineKind } from './kind.ts';
import { readSlices, type SliceWatch, type Stopped } from './read-slices.ts';

/** Implements `Format.readFile`. `watch` sees the bytes that are read. */
export async function readWhole<P extends Piece, C>(
  kind: LineKind<P, C>,
  content: Content,
  spec: C,
  { labels, onBytes, beforeRead = async () => {} }: Omit<WholeFile, 'columns'>,
  sink: PieceSink<P>,
  watch?: SliceWatch,
): Promise<ReadFile> {
  const { path } = content;
  const room = new Uint8Array(Math.min(FORWARD_HEAD_BYTES, content.bytes));
  const first = room.subarray(0, await content.file.read(room, 0));
  const head = kind.headOf(path, first, first.length === content.bytes, spec);
  onBytes(head?.offset ?? first.length);
  if (head === undefined) return { layout: undefined, isWhole: true };
  const { layout, offset } = head;
  const reading = kind.readingOf(path, spec, layout, labels);
  if (reading === undefined) throw changing(path);
  let at = offset;
  const source = {
    async read(into: Uint8Array): Promise<number> {
      await beforeRead();
      const known = first.subarray(at, at + into.length);
      into.set(known);
      const from = at + known.length;
      const more = from < content.bytes ? await content.file.read(into.subarray(known.length), from) : 0;
      const got = known.length + more;
      at += got;
      onBytes(got);
      return got;
    },
  };
  const sliceBytes = Math.min(SLICE_BYTES, content.bytes - offset + 1);
  const slices = new Slices(source, { ...head, rules: reading.rules, sliceBytes });
  const stopped = await readSlices(slices, { file: path, reading, watch }, sink);
  if (stopped?.kind === 'full') return { layout, isWhole: false };
  if (at !== content.bytes || (await content.file.size()) !== content.bytes) throw changing(path);
  if (stopped?.kind === 'open') throw openQuote(path, stopped);
  return { layout, isWhole: true };
}

const changing = (path: string): PaddletError =>
  new PaddletError('DataChanged', `${path} changed while it was being read`);

export function openQuote(path: string, { line, column }: Stopped & { kind: 'open' }): PaddletError {
  return new PaddletError('DataInvalid', `${path}:${line}:${column}: this quote is not closed`, {
    hint: 'double each quote inside a quoted field, or set data.csv.quote to none if quotes are ordinary characters',
  });
}
