/** CSV read once, forwards, for predictions: what only training needs may be missing, and texts are carried over. */
import { assert } from '../../../base/assert.ts';
import { PaddletError } from '../../../base/errors.ts';
import { tooLong } from '../../chunk-check.ts';
import type { ColumnSpec, FieldColumn } from '../../columns/column.ts';
import { cutParts, type ForwardPart } from '../../forward-parts.ts';
import type { LabelRule } from '../../labels.ts';
import type { ForwardGroup, ForwardHead, ForwardOptions, ForwardReader, ReadColumns } from '../format.ts';
import { LineEnd, wholeLines } from './fields.ts';
import { GroupSink } from './group-sink.ts';
import { openQuote } from './indexer.ts';
import { keptFields } from './kept-fields.ts';
import { type FileHead, headOf } from './layout.ts';
import { type LinePlan, planOf } from './plan.ts';
import { placeOf } from './stretch.ts';
import { readText } from './text.ts';

/** No column of the plan has a label. */
const NO_LABEL: LabelRule = { task: 'regression' };

export function openCsvForward({ bytes, isWhole }: ForwardHead, options: ForwardOptions): ForwardReader {
  const { file, keep, columns, sliceBytes } = options;
  assert(columns !== undefined, 'CSV has columns');
  const placed = withoutLabel(columns, options, headOf(file, bytes, isWhole, { ...columns, columns: [] }));
  const head = headOf(file, bytes, isWhole, withoutTraining(placed));
  if (head === undefined) return { kept: keep, async *parts() {}, read: () => [] };
  const kept = keptFields(file, keep, head, placed);
  const inputs: ReadColumns = { ...columns, ...withoutTraining(placed) };
  const plan = planOf(inputs, head.layout, NO_LABEL, file);
  const group = { ...options, columns: inputs, plan, kept: kept.map(({ field }) => field) };
  return {
    kept: kept.map(({ name }) => name),
    async *parts(source) {
      await source.take(head.offset);
      const { offset, line } = head;
      const wholeRecords = (text: Uint8Array): number => wholeLines(text, plan.bytes);
      yield* cutParts(source, { offset, line, wholeRecords, lineEnd: () => new LineEnd(plan.bytes), sliceBytes });
    },
    read: (part) => readPart(part, plan, new GroupSink(group, part.bytes), file),
  };
}

function readPart(
  { bytes, offset, first, long }: ForwardPart,
  plan: LinePlan,
  sink: GroupSink,
  file: string,
): readonly ForwardGroup[] {
  if (long?.isOpen) throw openQuote(file, { kind: 'open', line: long.line, column: 1 });
  if (long?.begins !== undefined && long.begins !== plan.bytes.comment) {
    const reason = tooLong(long.bytes);
    sink.bad({ file, line: long.line, byteOffset: long.start, reason }, -long.bytes, 0);
  }
  const done = readText({ file, bytes, offset, firstLine: first }, plan, sink);
  if (done.openQuote !== undefined) throw openQuote(file, { kind: 'open', ...placeOf(bytes, first, done) });
  return sink.groups();
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
