/** The index of columns files: each is read once, for its records and for what is known of its numbers. */
import { assert } from '../../../base/assert.ts';
import type { Content } from '../../bytes/content.ts';
import type { ColumnSpec } from '../../columns/column.ts';
import type { ColumnPiece } from '../../columns/piece.ts';
import { columnPicking } from '../../columns/selecting.ts';
import type { PieceSink } from '../../piece.ts';
import type { DataPlace } from '../../place.ts';
import type { Picking } from '../../selecting.ts';
import type { Selection } from '../../selection.ts';
import type { FileLayout, IndexedFile } from '../../source.ts';
import type { Format, FoundFiles, Indexing, ReadFile, WholeFile } from '../format.ts';
import { columnNotes, type IndexSink, indexEach, type ReadInto } from '../index-sink.ts';
import { decodeBlock, HEAD_BYTES } from './block.ts';
import { damaged, decodeHeader, type FileHeader, FRAME_BYTES, headerBytes, layoutOf } from './header.ts';
import { BlockRecords, blockPlan, Fault } from './records.ts';
import { blocksIn, type ReadBlock } from './stretch.ts';

export const indexColumns = (
  place: DataPlace,
  found: FoundFiles,
  into: Indexing,
  open?: Format['open'],
): Promise<IndexedFile[]> => {
  const { columns } = into;
  assert(columns !== undefined, 'the format has columns');
  const picking = (selection: Selection): Picking<ColumnPiece> => columnPicking(selection, columns.columns);
  const indexed = { notes: columnNotes(into), picking, notesAll: false };
  const openOne = open && ((from: DataPlace, path: string) => open(from, path, columns));
  const read: ReadInto<ColumnPiece> = async (content, how, sinkFor, watch) => {
    const { source } = (await readHeader(content)).header;
    return (await readColumns(content, { ...how, columns }, sinkFor(source), watch)).layout;
  };
  return indexEach(place, found, into, indexed, read, openOne);
};

/** As `Format.readFile`. `watch` sees the bytes of each block, before and after its records. */
export async function readColumns(
  content: Content,
  { columns, labels, onBytes, beforeRead = async () => {} }: WholeFile,
  sink: PieceSink<ColumnPiece>,
  watch?: Pick<IndexSink<ColumnPiece>, 'show' | 'retire'>,
): Promise<ReadFile & { readonly layout: FileLayout }> {
  const { path } = content;
  const { header, bytes: from } = await readHeader(content);
  const layout = layoutOf(path, header, columns);
  const plan = blockPlan(path, columns, layout, labels);
  onBytes(from);
  let room = new Uint8Array(0);
  const stretch = {
    from,
    to: content.bytes,
    async read(at: number, wanted: number) {
      await beforeRead();
      // The records before were passed on: their bytes are no longer needed.
      if (room.length < wanted) room = new Uint8Array(wanted);
      return room.subarray(0, await content.file.read(room.subarray(0, wanted), at));
    },
  };
  let records = 0;
  let isWhole = false;
  try {
    for await (const read of blocksIn(stretch)) {
      const { block, bytes, offset } = read;
      if (isWhole || block.position !== records) throw new Fault(`the block at byte ${offset} is out of order`);
      isWhole = block.records === 0;
      if (isWhole) continue;
      records += block.records;
      watch?.show(bytes, offset);
      if (!passWhole(read, plan, sink)) return { layout, isWhole: false };
      watch?.retire(offset + bytes.length);
      onBytes(bytes.length);
    }
  } catch (error) {
    if (error instanceof Fault) throw damaged(path, error.message);
    throw error;
  }
  if (!isWhole) throw damaged(path, 'its end is missing');
  return { layout, isWhole: true };
}

/** False when the sink is full before the end of the block. */
function passWhole(
  { block, bytes, offset }: ReadBlock,
  plan: ReturnType<typeof blockPlan>,
  sink: PieceSink<ColumnPiece>,
): boolean {
  const records = new BlockRecords(block, bytes, offset, plan);
  let at = 0;
  while (at < block.records && sink.quota > 0) at = records.pass(at, block.records, sink);
  return at === block.records;
}

/** Throws `DataInvalid`. */
export async function readHeader(content: Content): Promise<{ readonly header: FileHeader; readonly bytes: number }> {
  const frame = Buffer.alloc(FRAME_BYTES);
  const got = await content.file.read(frame, 0);
  const bytes = Buffer.alloc(headerBytes(content.path, frame.subarray(0, got)));
  const length = await content.file.read(bytes, 0);
  return { header: decodeHeader(content.path, bytes.subarray(0, length)), bytes: bytes.length };
}

/** By the last block. Throws `DataInvalid`, even when only the columns are not those of the job. */
export async function countColumns(content: Content, columns: ColumnSpec): Promise<number> {
  layoutOf(content.path, (await readHeader(content)).header, columns);
  const bytes = Buffer.alloc(HEAD_BYTES);
  await content.file.read(bytes, Math.max(0, content.bytes - HEAD_BYTES));
  const block = decodeBlock(bytes);
  if (block === undefined || block.records !== 0) throw damaged(content.path, 'its end is missing');
  return block.position;
}
