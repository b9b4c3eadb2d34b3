/** Files of columns that `paddlet data convert` has made, as a data format. */
import { crc32 } from 'node:zlib';
import { assert } from '../../../base/assert.ts';
import { openContent } from '../../bytes/content.ts';
import { changed, countRecords, positionOf } from '../../chunk-check.ts';
import type { FieldColumn } from '../../columns/column.ts';
import { columnRecords } from '../../columns/column-records.ts';
import { fitsLayout } from '../../columns/layout.ts';
import type { ColumnPiece } from '../../columns/piece.ts';
import { columnPicking } from '../../columns/selecting.ts';
import type { OpenFiles } from '../../open-files.ts';
import type { TaskSink } from '../../parsed/task-records.ts';
import type { PieceSink } from '../../piece.ts';
import { resolveFiles } from '../../place.ts';
import { SelectingSink } from '../../selecting.ts';
import { Selector } from '../../selection.ts';
import type { Chunk } from '../../source.ts';
import { SpareRoom } from '../../spare-memory.ts';
import { type Format, type ParsedTask, type ReadOptions, UNTIMED } from '../format.ts';
import { decodeHeader, FRAME_BYTES, headerBytes } from './header.ts';
import { countColumns, indexColumns, readColumns } from './indexer.ts';
import { type BlockPlan, BlockRecords, blockPlan, Fault } from './records.ts';
import { blocksIn } from './stretch.ts';

export const columnsFormat: Format = {
  input: 'columns',
  hasFields: true,
  placing: 'name',
  hasLabelFiles: false,
  parserVersion: 1,
  find: async (place, { what }) => ({ paths: await resolveFiles(place, what), labels: [] }),
  index: indexColumns,
  readFile: (content, how, into) => readColumns(content, how, into),
  async countRecords(place, path, columns) {
    assert(columns !== undefined, 'a columns file has columns');
    const content = await openContent(place, path);
    try {
      return await countColumns(content, columns);
    } finally {
      await content.file.close();
    }
  },
  read,
};

const isKept = ({ type }: FieldColumn): boolean => type !== 'ignore';

async function read(files: OpenFiles, options: ReadOptions, chunks: readonly Chunk[]): Promise<ParsedTask> {
  const { batchSize, columns, labels, times = UNTIMED } = options;
  assert(columns !== undefined, 'a columns file has columns');
  const records = countRecords(options.files, chunks);
  const bytes = chunks.reduce((sum, chunk) => sum + chunk.bytes, 0);
  const into = columnRecords(columns, { records, bytes, batchSize });
  for (const chunk of chunks) {
    const file = files.path(chunk.file);
    const { layout } = options.files[chunk.file]!;
    if (layout === undefined || !fitsLayout(columns, layout, isKept)) throw changed(file, chunk);
    into.startPart(file);
    try {
      await readChunk(files, chunk, blockPlan(file, columns, layout, labels), into, options);
    } catch (error) {
      // The bytes are not those that were indexed.
      if (error instanceof Fault) throw changed(file, chunk);
      throw error;
    }
  }
  return times.during('parse', () => into.finish());
}

/** Path of the file that the columns were made from. Throws `DataInvalid`. */
async function sourceOf(files: OpenFiles, { file, offset }: Chunk): Promise<string> {
  const path = files.path(file);
  const frame = await files.bytes(file, 0, Math.min(FRAME_BYTES, offset));
  const bytes = Math.min(headerBytes(path, Buffer.from(frame)), offset);
  return decodeHeader(path, Buffer.from(await files.bytes(file, 0, bytes))).source;
}

async function readChunk(
  files: OpenFiles,
  chunk: Chunk,
  plan: BlockPlan,
  into: TaskSink<ColumnPiece>,
  { columns, selection }: ReadOptions,
): Promise<void> {
  const { file } = plan;
  const end = into.records + chunk.records;
  const first = selection === undefined ? chunk.firstRecord : positionOf(chunk, file);
  let sink: PieceSink<ColumnPiece> = into;
  if (selection !== undefined) {
    const selector = new Selector(selection, await sourceOf(files, chunk));
    sink = new SelectingSink(into, selector, columnPicking(selection, columns!.columns), first);
  }
  const to = chunk.offset + chunk.bytes;
  const room = new SpareRoom();
  const stretch = {
    from: chunk.offset,
    to,
    // The records before are copied.
    read: (offset: number, bytes: number) => files.bytes(chunk.file, offset, bytes, room.take(bytes)),
  };
  let crc = 0;
  try {
    for await (const { block, bytes, offset } of blocksIn(stretch)) {
      crc = crc32(bytes, crc);
      // Nothing is known to be as it was indexed before the last block.
      if (offset + bytes.length === to && crc !== chunk.crc32) throw changed(file, chunk);
      const records = new BlockRecords(block, bytes, offset, plan);
      let at = Math.max(0, first - block.position);
      while (at < block.records && into.records < end && sink.quota > 0) {
        at = records.pass(at, end - into.records, sink);
      }
    }
  } finally {
    room.close();
  }
  if (into.records !== end) throw changed(file, chunk);
}
