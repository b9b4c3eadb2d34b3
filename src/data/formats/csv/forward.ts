/** CSV read once, forwards, for predictions: what only training needs may be missing, and texts are carried over. */
import { assert } from '../../../base/assert.ts';
import { PaddletError } from '../../../base/errors.ts';
import type { ColumnSpec, FieldColumn } from '../../columns/column.ts';
import type { ForwardBytes } from '../../forward.ts';
import type { LabelRule } from '../../labels.ts';
import type { ForwardGroup, ForwardOptions, ForwardRecords, ReadColumns } from '../format.ts';
import { GroupSink } from './group-sink.ts';
import { openQuote } from './indexer.ts';
import { keptFields } from './kept-fields.ts';
import { type FileHead, HEAD_BYTES, headOf } from './layout.ts';
import { type LinePlan, planOf } from './plan.ts';
import { readSlices } from './stretch.ts';

/** No column of the plan has a label. */
const NO_LABEL: LabelRule = { task: 'regression' };

export async function readCsvForward(source: ForwardBytes, options: ForwardOptions): Promise<ForwardRecords> {
  const { file, keep, columns } = options;
  assert(columns !== undefined, 'CSV has columns');
  const bytes = await source.peek(HEAD_BYTES);
  const isWhole = bytes.length < HEAD_BYTES;
  const placed = withoutLabel(columns, options, headOf(file, bytes, isWhole, { ...columns, columns: [] }));
  const head = headOf(file, bytes, isWhole, withoutTraining(placed));
  if (head === undefined) return { kept: keep, groups: noGroups() };
  const kept = keptFields(file, keep, head, placed);
  const inputs: ReadColumns = { ...columns, ...withoutTraining(placed) };
  await source.take(head.offset);
  const plan = planOf(inputs, head.layout, NO_LABEL, file);
  const sink = new GroupSink({ ...options, columns: inputs, plan, kept: kept.map(({ field }) => field) });
  return { kept: kept.map(({ name }) => name), groups: groupsOf(source, options, head, plan, sink) };
}

async function* noGroups(): AsyncGenerator<ForwardGroup> {}

async function* groupsOf(
  source: ForwardBytes,
  { file, sliceBytes }: ForwardOptions,
  { offset, line }: FileHead,
  plan: LinePlan,
  sink: GroupSink,
): AsyncGenerator<ForwardGroup> {
  const stretch = {
    ...{ file, from: offset, firstLine: line },
    read: (_: number, bytes: number) => source.take(bytes),
    ...(sliceBytes === undefined ? {} : { sliceBytes }),
  };
  const slices = readSlices(stretch, plan, sink, sink);
  for (;;) {
    const { done, value: stopped } = await slices.next();
    yield* sink.takeGroups();
    if (stopped?.kind === 'open') throw openQuote(file, stopped);
    assert(stopped === undefined, 'the sink takes all records, up to the end of the source');
    if (done === true) return;
  }
}

/** Columns that a prediction needs nothing of. A header may lack them; without one the others have positions. */
const withoutTraining = (spec: ColumnSpec): ColumnSpec => ({
  ...spec,
  columns: spec.columns.filter(({ type }) => !['label', 'weight', 'group', 'time', 'ignore'].includes(type)),
});

/**
 * The columns as they are in a file without a header, whose lines may lack the field of the label: those behind it then
 * move up. Throws `DataInvalid` for any other number of fields than the job's files have.
 */
function withoutLabel(
  spec: ReadColumns,
  { file, fields }: Pick<ForwardOptions, 'file' | 'fields'>,
  head: FileHead | undefined,
): ReadColumns {
  const found = head?.layout.fields;
  if (spec.dialect.header || found === undefined || fields === undefined || found === fields) return spec;
  const label = spec.columns.find(({ type }) => type === 'label');
  if (found !== fields - 1 || label === undefined || label.type !== 'label' || label.position === undefined) {
    throw new PaddletError('DataInvalid', `${file} has ${found} fields a line, the files of the job have ${fields}`, {
      hint: 'without a header all columns of the job are expected, or all but the label',
    });
  }
  const { position: missing } = label;
  const closedUp = (column: FieldColumn): FieldColumn =>
    column.position === undefined || column.position < missing ? column : { ...column, position: column.position - 1 };
  return {
    ...spec,
    columns: spec.columns
      .filter((column) => column !== label)
      .map((column) => (column.type === 'cross' ? column : closedUp(column))),
  };
}
