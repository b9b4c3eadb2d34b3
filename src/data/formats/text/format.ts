/** A data format of text with columns, whatever its lines are. */
import { crc32 } from 'node:zlib';
import { assert } from '../../../base/assert.ts';
import { changed, countRecords, isOverlong, positionOf, tooLong } from '../../chunk-check.ts';
import { type ColumnSpec, slotsOf } from '../../columns/column.ts';
import { type ColumnRecords, columnRecords } from '../../columns/column-records.ts';
import { fitsLayout } from '../../columns/layout.ts';
import type { PieceSink } from '../../columns/piece-sink.ts';
import { SelectingSink, splitBy } from '../../columns/selecting.ts';
import { StatisticsBuilder } from '../../columns/statistics.ts';
import type { LabelRule } from '../../labels.ts';
import type { OpenFiles } from '../../open-files.ts';
import { resolveFiles } from '../../place.ts';
import { Selector } from '../../selection.ts';
import type { Chunk, TaskRecords } from '../../source.ts';
import { type Format, type ParsedTask, type ReadOptions, UNTIMED, type WatchPieces } from '../format.ts';
import { planFor, type TextForm } from './form.ts';
import { openTextForward } from './forward.ts';
import { indexText, readWhole } from './indexer.ts';
import { type LinePlan, pathBytes } from './plan.ts';
import { readText } from './read-text.ts';
import { readStretch } from './stretch.ts';

export function textFormat(form: TextForm, placing: NonNullable<Format['placing']>, parserVersion: number): Format {
  return {
    input: 'columns',
    hasFields: true,
    placing,
    hasLabelFiles: false,
    parserVersion,
    find: async (place, { what }) => ({ paths: await resolveFiles(place, what), labels: [] }),
    index: (place, found, into) => indexText(form, place, found, into),
    readHead: (head, labels, spec, watch) => readHead(form, head, labels, spec, watch),
    readFile: (content, how, into) => readWhole(form, content, how, into),
    read: (files, options, chunks) => read(form, files, options, chunks),
    openForward: (head, options) => openTextForward(form, head, options),
  };
}

function readHead(
  form: TextForm,
  { file, bytes, isWhole }: { readonly file: string; readonly bytes: Uint8Array; readonly isWhole: boolean },
  labels: LabelRule,
  spec?: ColumnSpec,
  watch?: WatchPieces,
): TaskRecords {
  assert(spec !== undefined, 'the format has columns');
  const head = form.headOf(file, bytes, isWhole, spec);
  // Only labels and what is bad are looked at: any statistics will do.
  const statistics = new StatisticsBuilder(slotsOf(spec.columns)).finish();
  const lines = bytes.reduce((count, byte) => count + (byte === 10 ? 1 : 0), 1);
  const size = { records: lines, bytes: bytes.length + lines * pathBytes(file, spec), batchSize: lines };
  const records = columnRecords({ columns: spec.columns, statistics, input: 'sparse' }, size);
  records.startPart(file);
  if (head === undefined) return records.finish().records;
  const { layout, offset, line } = head;
  const text = { file, bytes: bytes.subarray(offset), offset, firstLine: line };
  // A quote that is not closed here may be closed behind the first bytes.
  readText(text, planFor(form, spec, layout, labels, file), watch === undefined ? records : watched(records, watch));
  return records.finish().records;
}

const watched = (records: ColumnRecords, watch: WatchPieces): PieceSink => ({
  get quota() {
    return records.quota;
  },
  get badRecords() {
    return records.badRecords;
  },
  add(piece, firstLine) {
    watch(piece);
    records.add(piece, firstLine);
  },
  bad: (record) => records.bad(record),
});

async function read(
  form: TextForm,
  files: OpenFiles,
  options: ReadOptions,
  chunks: readonly Chunk[],
): Promise<ParsedTask> {
  const { batchSize, columns, labels, times = UNTIMED } = options;
  assert(columns !== undefined, 'the format has columns');
  const records = countRecords(options.files, chunks);
  const bytes = chunks.reduce((sum, chunk) => {
    if (isOverlong(chunk)) return sum;
    return sum + chunk.bytes + chunk.records * pathBytes(files.path(chunk.file), columns);
  }, 0);
  const into = columnRecords(columns, { records, bytes, batchSize });
  for (const chunk of chunks) {
    const file = files.path(chunk.file);
    into.startPart(file);
    if (isOverlong(chunk)) {
      into.bad({ file, line: chunk.firstLine, byteOffset: chunk.offset, reason: tooLong(chunk.bytes) });
      continue;
    }
    const { layout } = options.files[chunk.file]!;
    const end = into.records + chunk.records;
    if (layout === undefined || !fitsLayout(columns, layout)) throw changed(file, chunk);
    await readChunk(files, chunk, planFor(form, columns, layout, labels, file), into, options);
    if (into.records !== end) throw changed(file, chunk);
  }
  return times.during('parse', () => into.finish());
}

/** Takes the selected records of a chunk. */
function selected(into: PieceSink, chunk: Chunk, file: string, { columns, selection }: ReadOptions): PieceSink {
  if (selection === undefined || columns === undefined) return into;
  const from = positionOf(chunk, file);
  return new SelectingSink(into, new Selector(selection, file), splitBy(selection, columns.columns), from);
}

/** Throws `DataChanged` when the bytes are not those that were indexed. */
async function readChunk(
  files: OpenFiles,
  chunk: Chunk,
  plan: LinePlan,
  into: ColumnRecords,
  options: ReadOptions,
): Promise<void> {
  const file = files.path(chunk.file);
  let crc = 0;
  const stopped = await readStretch(
    {
      file,
      from: chunk.offset,
      to: chunk.offset + chunk.bytes,
      firstLine: chunk.firstLine,
      read: (offset, bytes) => files.bytes(chunk.file, offset, bytes),
    },
    plan,
    selected(into, chunk, file, options),
    {
      show(slice, _lines, _offset, isLast) {
        crc = crc32(slice, crc);
        // Nothing is known to be as it was indexed before the last slice.
        if (isLast && crc !== chunk.crc32) throw changed(file, chunk);
      },
      retire() {},
      interrupt() {},
    },
  );
  if (stopped !== undefined) throw changed(file, chunk);
}
