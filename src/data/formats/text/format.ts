/** A data format of lines, whatever their records are. */
import { crc32 } from 'node:zlib';
import { assert } from '../../../base/assert.ts';
import { SLICE_BYTES, Slices } from '../../bytes/slices.ts';
import { changed, countRecords, isOverlong, positionOf, tooLong } from '../../chunk-check.ts';
import type { OpenFiles } from '../../open-files.ts';
import type { Piece, PieceSink } from '../../piece.ts';
import { resolveFiles } from '../../place.ts';
import { type Picking, SelectingSink } from '../../selecting.ts';
import { type Selection, Selector } from '../../selection.ts';
import type { Chunk } from '../../source.ts';
import { SpareRoom } from '../../spare-memory.ts';
import { type AnyPiece, type Format, type ParsedTask, type ReadOptions, UNTIMED } from '../format.ts';
import { indexEach } from '../index-sink.ts';
import { openLinesForward } from './forward.ts';
import type { LineKind } from './kind.ts';
import type { LineReading } from './lines.ts';
import { readSlices } from './read-slices.ts';
import { readText } from './read-text.ts';
import { readWhole } from './read-whole.ts';

type LineFormat = Required<Pick<Format, 'hasLabelFiles' | 'find' | 'index' | 'readHead' | 'read' | 'openForward'>>;

export function lineFormat<P extends AnyPiece, C>(kind: LineKind<P, C>): LineFormat {
  return {
    hasLabelFiles: false,
    find: async (place, { what }) => ({ paths: await resolveFiles(place, what), labels: [] }),
    async index(place, found, into) {
      const spec = kind.specOf(into.columns);
      const { notesAll } = kind;
      const picking = (selection: Selection): Picking<P> => kind.pickingOf(selection, spec);
      const indexed = { notes: kind.notesOf(into), picking, notesAll };
      return await indexEach(place, found, into, indexed, async (content, how, sinkFor, watch) => {
        return (await readWhole(kind, content, spec, how, sinkFor(content.path), watch)).layout;
      });
    },
    readHead({ file, bytes, isWhole }, labels, columns, into) {
      const spec = kind.specOf(columns);
      const head = kind.headOf(file, bytes, isWhole, spec);
      if (head === undefined) return;
      const reading = kind.readingOf(file, spec, head.layout, labels);
      assert(reading !== undefined, 'the layout is that of the file');
      // A quote that is open here may be closed after these bytes.
      const text = { file, bytes: bytes.subarray(head.offset), offset: head.offset, firstLine: head.line };
      readText<P>(text, reading, into);
    },
    read: (files, options, chunks) => read(kind, files, options, chunks),
    openForward: (head, options) => openLinesForward(kind.scoringOf(head, options), options),
  };
}

async function read<P extends Piece, C>(
  kind: LineKind<P, C>,
  files: OpenFiles,
  options: ReadOptions,
  chunks: readonly Chunk[],
): Promise<ParsedTask> {
  const { batchSize, labels, selection, times = UNTIMED } = options;
  const spec = kind.specOf(options.columns);
  const records = countRecords(options.files, chunks);
  const bytes = chunks.reduce((sum, chunk) => {
    if (isOverlong(chunk)) return sum;
    return sum + chunk.bytes + chunk.records * kind.pathBytes(files.path(chunk.file), spec);
  }, 0);
  const into = kind.recordsOf(options, { records, bytes, batchSize });
  for (const chunk of chunks) {
    const file = files.path(chunk.file);
    into.startPart(file);
    if (isOverlong(chunk)) {
      const { offset: start, bytes: length } = chunk;
      const record = { file, line: chunk.firstLine, byteOffset: start, reason: tooLong(length) };
      into.bad(record, { start, end: start + length });
      continue;
    }
    const end = into.records + chunk.records;
    const reading = kind.readingOf(file, spec, options.files[chunk.file]!.layout, labels);
    if (reading === undefined) throw changed(file, chunk);
    const sink =
      selection === undefined
        ? into
        : new SelectingSink(
            into,
            new Selector(selection, file),
            kind.pickingOf(selection, spec),
            positionOf(chunk, file),
          );
    await readChunk(files, chunk, reading, sink, options);
    // Which records are left out follows from the position, which comes over the wire.
    if (into.records !== end) throw changed(file, chunk);
  }
  return times.during('parse', () => into.finish());
}

/** Throws `DataChanged` if the bytes are not those that were indexed. */
async function readChunk<P extends Piece>(
  files: OpenFiles,
  chunk: Chunk,
  reading: LineReading<P>,
  sink: PieceSink<P>,
  { times = UNTIMED }: ReadOptions,
): Promise<void> {
  const file = files.path(chunk.file);
  const to = chunk.offset + chunk.bytes;
  let at = chunk.offset;
  let crc = 0;
  const source = {
    async read(into: Uint8Array): Promise<number> {
      const count = Math.min(into.length, to - at);
      const bytes = await files.bytes(chunk.file, at, count, into.subarray(0, count));
      crc = times.during('read', () => crc32(bytes, crc));
      at += count;
      // Before the last bytes, the checksum cannot be compared.
      if (at === to && crc !== chunk.crc32) throw changed(file, chunk);
      return count;
    },
  };
  const { offset, firstLine: line } = chunk;
  const sliceBytes = Math.min(SLICE_BYTES, chunk.bytes + 1);
  const room = new SpareRoom();
  try {
    const slices = new Slices(source, { offset, line, rules: reading.rules, sliceBytes, room: room.take });
    if ((await readSlices(slices, { file, reading, times }, sink)) !== undefined) throw changed(file, chunk);
  } finally {
    room.close();
  }
}
