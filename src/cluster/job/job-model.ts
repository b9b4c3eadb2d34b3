/** The model of a job and its label rule: functions of the job's record, so that every role makes the same ones. */
import { withZeros } from '../../checkpoint/load/warm-plan.ts';
import type { Dialect } from '../../data/columns/column.ts';
import { checkReads, modelColumnsOf, rowsOf } from '../../data/columns/inputs.ts';
import { RowMaker } from '../../data/columns/rows.ts';
import type { ForwardOptions, ReadColumns } from '../../data/formats/format.ts';
import type { DataFormat } from '../../data/formats/registry.ts';
import type { LabelRule } from '../../data/labels.ts';
import type { Selection } from '../../data/selection.ts';
import type { TaskReaderOptions } from '../../data/task-reader.ts';
import { delimiterOf } from '../../job/columns.ts';
import { columnSpecOf, selectionOf } from '../../job/schema.ts';
import type { Model } from '../../model/model.ts';
import { createModel } from '../../model/registry.ts';
import { type TrainedSpec, trainedSpec } from '../../tensor/optimizer.ts';
import type { JobRecord } from './job-record.ts';

interface ModelSource {
  readonly makeModel?: (record: JobRecord) => Model;
}

/** `makeModel` makes a model that is not built in; without it the job's `model` section says which one it is. */
export function modelOf(record: JobRecord, context: ModelSource = {}): Model {
  const { train, job } = record;
  const spec = columnSpecOf(job);
  const facts = {
    inputWidth: inputWidthOf(record),
    classes: classesOf(record),
    fields: train.fieldBound,
    seed: job.training.seed,
    columns: spec && modelColumnsOf(spec.columns, train.columns?.statistics ?? []),
  };
  const model = context.makeModel?.(record) ?? createModel(job.model, facts);
  if (model.reads !== undefined) checkReads(model.reads, spec?.columns ?? []);
  const zeroed = record.warmStart?.zeroed ?? [];
  return zeroed.length === 0 ? model : { ...model, parameters: withZeros(model.parameters, zeroed) };
}

/** The parameters of a job, each with its optimizer. */
export const trainedSpecOf = (record: JobRecord, context: ModelSource = {}): TrainedSpec =>
  trainedSpec(modelOf(record, context).parameters, record.job);

export function labelRuleOf(record: JobRecord, model: Model): LabelRule {
  const { task } = model;
  // Left out where it says nothing: the rule is part of the key of what is kept (docs/data-cache.md).
  const weights = record.job.data.labelWeights ? { mayHaveWeight: true } : {};
  return task === 'multiclass' ? { task, classes: classesOf(record), ...weights } : { task, ...weights };
}

/** Number of classes of a multiclass model. */
export function classesOf({ train, test }: JobRecord): number {
  return Math.max(train.labelBound, test?.labelBound ?? 0);
}

/** How files are read for the model of a job. `part`: of its own files; without it all records of the files. */
export function readingOf(
  record: JobRecord,
  model: Model,
  part?: Selection['part'],
): Pick<TaskReaderOptions, 'format' | 'labels' | 'inputWidth' | 'columns' | 'selection' | 'readsFields'> {
  const selection = part && selectionOf(record.job, part);
  const columns = columnsOf(record, model);
  return {
    format: record.job.data.format,
    labels: labelRuleOf(record, model),
    inputWidth: inputWidthOf(record, model),
    ...(model.readsFields && { readsFields: true }),
    ...(columns === undefined ? {} : { columns }),
    ...(selection === undefined ? {} : { selection }),
  };
}

/**
 * How records for predictions are read: in the job's format, or in another one with the same records. `delimiter`
 * replaces the job's.
 */
export function forwardReadingOf(
  record: JobRecord,
  model: Model,
  format: DataFormat,
  delimiter?: string,
): Pick<ForwardOptions, 'columns' | 'inputWidth' | 'mayHaveWeight' | 'fields' | 'readsFields'> {
  const { data } = record.job;
  const { columns, inputWidth, readsFields } = readingOf(record, model);
  return {
    columns: columns && { ...columns, dialect: dialectIn(format, data.format, columns.dialect, delimiter) },
    inputWidth,
    readsFields,
    mayHaveWeight: data.labelWeights,
    // The number of fields of interactions is unknown.
    fields: data.format === 'interactions' ? undefined : record.train.columns?.fields,
  };
}

/** Dialect of lines that replace those of the job: interactions have no quotes, and may have runs of blanks. */
function dialectIn(format: DataFormat, ofJob: DataFormat, dialect: Dialect, delimiter: string | undefined): Dialect {
  if (format === ofJob) return { ...dialect, delimiter: delimiter ?? dialect.delimiter };
  const { runs: _, ...others } = dialect;
  const quote = format === 'interactions' ? null : ofJob === 'interactions' ? '"' : dialect.quote;
  return { ...others, delimiter: delimiter ?? delimiterOf(format), quote };
}

/** Names of the scores of a record: one, or one a class. */
export function scoreNamesOf(record: JobRecord, { task }: Pick<Model, 'task'>): string[] {
  if (task !== 'multiclass') return ['score'];
  const label = columnSpecOf(record.job)?.columns.find((column) => column.type === 'label');
  const named = label?.type === 'label' ? label.classes : undefined;
  return Array.from({ length: classesOf(record) }, (_, label) => named?.[label] ?? String(label));
}

/** One object for a record: what is worked out of the columns is kept with it. */
const known = new WeakMap<JobRecord, ReadColumns>();

function columnsOf(
  record: JobRecord,
  { input, readsFields, reads }: Pick<Model, 'input' | 'readsFields' | 'reads'>,
): ReadColumns | undefined {
  const spec = columnSpecOf(record.job);
  if (spec === undefined) return undefined;
  const { groupBy } = record.job.data;
  const columns = known.get(record) ?? {
    ...spec,
    statistics: record.train.columns?.statistics ?? [],
    input,
    ...(readsFields && { readsFields }),
    ...(reads && { reads }),
    ...(groupBy !== undefined && { groupBy }),
  };
  known.set(record, columns);
  return columns;
}

/** Inputs of a dense record: of all numbers, or of those that the model reads. */
function inputWidthOf({ job, train }: JobRecord, { reads }: Pick<Model, 'reads'> = {}): number {
  const spec = columnSpecOf(job);
  if (spec === undefined) return Number(train.featureBound);
  const known = { columns: spec.columns, statistics: train.columns?.statistics ?? [] };
  return (reads === undefined ? new RowMaker(known) : rowsOf(known, reads.numbers)).width;
}
