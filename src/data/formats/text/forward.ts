/** Text with columns read once, forwards, for predictions: what only training needs may be missing; texts are kept. */
import { assert } from '../../../base/assert.ts';
import { tooLong } from '../../chunk-check.ts';
import type { ColumnSpec } from '../../columns/column.ts';
import { cutParts, type ForwardPart } from '../../forward-parts.ts';
import type { LabelRule } from '../../labels.ts';
import type { ForwardGroup, ForwardHead, ForwardOptions, ForwardReader, ReadColumns } from '../format.ts';
import { type Kept, planFor, type TextForm } from './form.ts';
import { GroupSink, type GroupSinkOptions, type GroupSource } from './group-sink.ts';
import { openQuote } from './indexer.ts';
import { type LinePlan, pathBytes } from './plan.ts';
import { readText } from './read-text.ts';
import { placeOf } from './stretch.ts';

/** No column of the plan has a label. */
export const NO_LABEL: LabelRule = { task: 'regression' };

export function openTextForward(
  form: TextForm,
  { bytes, isWhole }: ForwardHead,
  options: ForwardOptions,
): ForwardReader {
  const { file, keep, columns, sliceBytes } = options;
  assert(columns !== undefined, 'the format has columns');
  const placed = form.scored?.(columns, options, { bytes, isWhole }) ?? columns;
  const head = form.headOf(file, bytes, isWhole, withoutTraining(placed));
  if (head === undefined) return { kept: keep, async *parts() {}, read: () => [] };
  const kept = form.keptIn(file, keep, head, placed);
  const inputs: ReadColumns = { ...columns, ...withoutTraining(placed) };
  const plan = planFor(form, inputs, head.layout, NO_LABEL, file);
  const group = { ...options, columns: inputs };
  return {
    kept: kept.names,
    async *parts(source) {
      await source.take(head.offset);
      const { offset, line } = head;
      const { wholeRecords, lineEnd } = plan.form;
      yield* cutParts(source, { offset, line, wholeRecords, lineEnd, sliceBytes });
    },
    read: (part) => readPart(part, plan, new GroupSink(group, textSource(part.bytes, plan, kept, group)), file),
  };
}

function textSource(
  text: Uint8Array,
  { form }: LinePlan,
  kept: Kept,
  { file, columns, batchSize }: GroupSinkOptions,
): GroupSource {
  return {
    from: 0,
    roomAt(at) {
      const left = text.length - at;
      // Few long lines need less room than a batch.
      const records = Math.min(batchSize, Math.max(1, Math.ceil((left + 1) / form.leastBytes)));
      return { records, bytes: left + records * pathBytes(file, columns) };
    },
    texts: kept.names.length === 0 ? undefined : kept.textsIn(text),
  };
}

function readPart(
  { bytes, offset, first, long }: ForwardPart,
  plan: LinePlan,
  sink: GroupSink,
  file: string,
): readonly ForwardGroup[] {
  if (long?.isOpen) throw openQuote(file, { kind: 'open', line: long.line, column: 1 });
  if (long?.begins !== undefined && long.begins !== plan.form.dialect.comment) {
    const reason = tooLong(long.bytes);
    sink.bad({ file, line: long.line, byteOffset: long.start, reason }, -long.bytes, 0);
  }
  const done = readText({ file, bytes, offset, firstLine: first }, plan, sink);
  if (done.openQuote !== undefined) throw openQuote(file, { kind: 'open', ...placeOf(bytes, first, done) });
  return sink.groups();
}

/** Columns that a prediction needs nothing of. A header may lack them; without one the others have positions. */
export const withoutTraining = (spec: ColumnSpec): ColumnSpec => ({
  ...spec,
  columns: spec.columns.filter(({ type }) => !['label', 'weight', 'group', 'time', 'ignore'].includes(type)),
});
