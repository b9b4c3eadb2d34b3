/** Parquet files for predictions: row groups straight from the file; what only training needs may be missing. */
import { assert } from '../../../base/assert.ts';
import { PaddletError } from '../../../base/errors.ts';
import type { Content } from '../../bytes/content.ts';
import { MAGIC_BYTES } from '../../bytes/packings/packing.ts';
import { isPacked } from '../../bytes/packings/unpack.ts';
import { pathOf } from '../../columns/column.ts';
import { columnRecords } from '../../columns/column-records.ts';
import { fieldColumns } from '../../columns/layout.ts';
import type { ColumnPiece } from '../../columns/piece.ts';
import type { ForwardOptions, ReadColumns, RowsReader } from '../format.ts';
import { NO_LABEL, withoutTraining } from '../text/columns.ts';
import { GroupSink, type GroupSource } from '../text/group-sink.ts';
import type { KeptTexts } from '../text/kind.ts';
import { readColumn } from './column.ts';
import { leafNamed } from './footer.ts';
import type { GroupRecords } from './group-records.ts';
import { planFile, readGroup } from './reader.ts';
import { rowTexts } from './row-texts.ts';
import type { Leaf } from './schema.ts';

/** Rows of a part, of which a thread has two: each may have thousands of scores. */
const PART_ROWS = 1 << 13;

interface ReadGroup {
  readonly records: GroupRecords;
  readonly texts: KeptTexts | undefined;
}

export async function openRows(content: Content, options: ForwardOptions): Promise<RowsReader> {
  const { file, keep, columns, batchSize, watch } = options;
  assert(columns !== undefined, 'the format has columns');
  const inputs: ReadColumns = { ...columns, ...withoutTraining(columns) };
  await refuseAnyPacking(content);
  const planned = await planFile(content, inputs, NO_LABEL);
  const { footer, read } = planned;
  const kept = keep.map((name) => keptLeaf(name, columns, (wanted) => leafNamed(footer, wanted)));
  const decode = async (group: number): Promise<ReadGroup> => {
    const records = await readGroup(planned, group, kept.length);
    const texts: ((row: number) => string)[] = [];
    for (const leaf of kept) texts.push(rowTexts(leaf, await readColumn(footer, group, leaf, read)));
    return { records, texts: kept.length === 0 ? undefined : { of: (row) => texts.map((textOf) => textOf(row)) } };
  };
  // A row group has several parts, so the last decoded group is kept.
  let last: { readonly group: number; readonly decoded: Promise<ReadGroup> } | undefined;
  return {
    kept: keep,
    async *parts() {
      for (const [group, { rows }] of footer.groups.entries()) {
        for (let from = 0; from < rows; from += PART_ROWS) {
          yield { group, from, to: Math.min(rows, from + PART_ROWS) };
        }
      }
    },
    async read({ group, from, to }) {
      if (last?.group !== group) last = { group, decoded: decode(group) };
      const { records, texts } = await last.decoded;
      const piece = records.finish();
      const source: GroupSource = {
        from,
        roomAt(at) {
          const count = Math.min(batchSize, to - at);
          return { records: count, bytes: bytesOfIds(piece, at, at + count) };
        },
        texts,
      };
      const sink = new GroupSink({ file, batchSize, recordsOf: (size) => columnRecords(inputs, size), watch }, source);
      for (const _ of records.pass(file, sink, from, to));
      return sink.groups();
    },
  };
}

/** It would have to be unpacked as a whole first. */
async function refuseAnyPacking({ path, file }: Content): Promise<void> {
  const first = new Uint8Array(MAGIC_BYTES);
  await file.read(first, 0);
  if (!isPacked(first)) return;
  throw new PaddletError('DataInvalid', `the whole file ${path} is compressed, for example with gzip`, {
    hint: 'decompress it: the columns of a Parquet file are already compressed',
  });
}

/** `name`: of a column of the job, or of the file. Throws `DataInvalid`. */
function keptLeaf(name: string, columns: ReadColumns, named: (name: string) => Leaf): Leaf {
  const column = fieldColumns(columns).find((each) => each.name === name);
  const leaf = named(column === undefined ? name : pathOf(column).join('.'));
  if (leaf.element === undefined) return leaf;
  throw new PaddletError('DataInvalid', `column ${leaf.name} contains lists, which --keep does not support`, {
    hint: 'keep only columns with one value per row',
  });
}

/** As text, where an id of a list takes two bytes. */
function bytesOfIds({ lists }: ColumnPiece, from: number, to: number): number {
  let ids = 0;
  for (const { starts, ends } of lists) for (let row = from; row < to; row++) ids += ends[row]! - starts[row]!;
  return 2 * ids;
}
