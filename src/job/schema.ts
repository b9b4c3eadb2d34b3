/**
 * The job: as users write it (`jobFileSchema`) and as the roles use it (`Job`: defaults applied, lists for paths,
 * durations in milliseconds). The second form is what the store's `/job` carries; it is validated again when read.
 */

import * as z from 'zod';
import { PaddletError } from '../base/errors.ts';
import type { Frozen } from '../base/frozen.ts';
import { LIMITS } from '../base/limits.ts';
import type { ColumnSpec } from '../data/columns/column.ts';
import type { Selection } from '../data/selection.ts';
import { DEFAULT_TOP_K } from '../model/ranking.ts';
import { taskOf } from '../model/registry.ts';
import type { TrainingChoice } from '../tensor/optimizer.ts';
import { parseByteSize } from './byte-size.ts';
import { resolveColumns, resolveDialect, resolvedColumnsSchema, resolvedDialectSchema } from './columns.ts';
import { durationMs } from './duration.ts';
import { evaluationFields } from './evaluation.ts';
import {
  blocksSchema,
  checkpointFields,
  checkpointInterval,
  clusterCounts,
  dataFields,
  deltaAbout,
  deltaFields,
  deltaInterval,
  hookFields,
  jobName,
  leaseTtl,
  modelSchema,
  optimizerSchema,
  recordsPerTaskNumber,
  resolvedTablesSchema,
  tablesSchema,
  taskCounts,
  taskTimeout,
  timeoutFloor,
  trainingFields,
  warmStartFields,
} from './fields.ts';
import { pullAheadOf } from './pull-ahead.ts';
import { dataSchema } from './record-format.ts';
import { resolvedSplitSchema, resolveSplit } from './selection.ts';

export type { ModelSpec } from './fields.ts';

/** A section whose fields all have defaults may be left out. */
const optionalSection = <T extends z.ZodRawShape>(shape: T, about: string) =>
  z
    .strictObject(shape)
    .prefault({} as z.input<z.ZodObject<T>>)
    .describe(about);

export const jobFileSchema = z.strictObject({
  name: jobName,
  data: dataSchema.describe('The data to train on.'),
  model: modelSchema.describe('The model to train.'),
  optimizer: optimizerSchema
    .prefault({ type: 'adagrad' })
    .describe('Optimizer of all parameters that `tables` and `blocks` do not name.'),
  tables: tablesSchema,
  blocks: blocksSchema,
  training: optionalSection(trainingFields, 'Mode, passes and batches.'),
  evaluation: z
    .strictObject(evaluationFields)
    .optional()
    .describe('Evaluates the job while it trains, keeps the best model, and can stop early.'),
  cluster: optionalSection({ ...clusterCounts, leaseTtl }, 'The processes of the job.'),
  tasks: optionalSection({ ...taskCounts, timeout: taskTimeout, timeoutFloor }, 'What to do if tasks fail.'),
  checkpoint: optionalSection(
    {
      ...checkpointFields,
      interval: checkpointInterval,
      delta: z
        .strictObject({ interval: deltaInterval, ...deltaFields })
        .optional()
        .describe(deltaAbout),
    },
    'When and where parameters are saved.',
  ),
  hooks: optionalSection(hookFields, 'Commands to run before the first pass and after the last.'),
  warmStart: z.strictObject(warmStartFields).optional().describe('Starts the job with the parameters of another job.'),
});
export type JobFile = z.output<typeof jobFileSchema>;

const pathList = z.array(z.string().min(1).max(LIMITS.jobPathCharacters)).max(LIMITS.jobPaths);
const ms = z.int().min(1);

/** The resolved form, as the store carries it. */
export const jobSchema = z.strictObject({
  name: jobName,
  data: z.strictObject({
    format: dataFields.format,
    train: pathList.min(1),
    /** Empty except for idx; then as long as `train`. */
    trainLabels: pathList,
    /** Empty when the job is not evaluated. */
    test: pathList,
    testLabels: pathList,
    recordsPerTask: recordsPerTaskNumber.describe('Records per task.'),
    shuffle: dataFields.shuffle,
    split: resolvedSplitSchema.optional(),
    negativeSampling: dataFields.negativeSampling,
    /** Columns, for formats with columns. */
    columns: resolvedColumnsSchema.optional(),
    dialect: resolvedDialectSchema.optional(),
    groupBy: dataFields.groupBy,
    labelWeights: dataFields.labelWeights,
    /** Records of jobs from before there was a choice lack it. */
    topK: dataFields.topK.unwrap().default(DEFAULT_TOP_K),
    corruptChunks: dataFields.corruptChunks,
    maxBadRecords: dataFields.maxBadRecords,
    cache: dataFields.cache,
    cacheBytes: dataFields.cacheBytes,
  }),
  model: modelSchema,
  optimizer: optimizerSchema,
  tables: resolvedTablesSchema,
  blocks: blocksSchema,
  training: z.strictObject({ ...trainingFields, pullAhead: trainingFields.pullAhead.unwrap() }),
  evaluation: z
    .strictObject({
      ...evaluationFields,
      /** Empty for the test files or records. */
      data: pathList,
      labels: pathList,
      metric: evaluationFields.metric.unwrap(),
    })
    .optional(),
  cluster: z.strictObject({ ...clusterCounts, leaseTtlMs: ms }),
  tasks: z.strictObject({ ...taskCounts, timeoutMs: z.union([z.literal('auto'), ms]), timeoutFloorMs: ms }),
  checkpoint: z.strictObject({
    ...checkpointFields,
    intervalMs: z.union([z.literal('off'), ms]),
    delta: z.strictObject({ intervalMs: ms, ...deltaFields }).optional(),
  }),
  hooks: z.strictObject(hookFields),
  warmStart: z.strictObject(warmStartFields).optional(),
});

/** A whole, valid job. Plain JSON. */
export type Job = Frozen<z.output<typeof jobSchema>>;

/** A job as its file describes it: the number of records per task may still have to be chosen. */
export type RequestedJob = Omit<Job, 'data'> & {
  readonly data: Omit<Job['data'], 'recordsPerTask'> & Pick<JobFile['data'], 'recordsPerTask'>;
};

/** Breaks the build when the settings of tables and optimizers in the job file and in the tensor core differ. */
const _settingsAgree: (job: Job) => TrainingChoice = (job) => job;
void _settingsAgree;

/** The job as the store's `/job` carries it. Throws `StoreValueInvalid`. */
export function parseJob(value: unknown): Job {
  const parsed = jobSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const message = `the job in the store: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}`;
  throw new PaddletError('StoreValueInvalid', message, {
    hint: 'another version of paddlet wrote the job, or someone edited it',
  });
}

/** Makes the job from a validated file. */
export function resolveJob(file: JobFile): RequestedJob {
  const { leaseTtl: lease, ...counts } = file.cluster;
  const { timeout, timeoutFloor: floor, ...failures } = file.tasks;
  return {
    name: file.name,
    data: {
      format: file.data.format,
      train: asList(file.data.train),
      trainLabels: asList(file.data.trainLabels),
      test: asList(file.data.test),
      testLabels: asList(file.data.testLabels),
      recordsPerTask: file.data.recordsPerTask,
      shuffle: file.data.shuffle,
      ...(file.data.split === undefined ? {} : { split: resolveSplit(file.data) }),
      ...(file.data.negativeSampling === undefined ? {} : { negativeSampling: file.data.negativeSampling }),
      ...resolvedSpec(file.data),
      ...(file.data.groupBy === undefined ? {} : { groupBy: file.data.groupBy }),
      labelWeights: file.data.labelWeights,
      topK: file.data.topK ?? DEFAULT_TOP_K,
      corruptChunks: file.data.corruptChunks,
      maxBadRecords: file.data.maxBadRecords,
      cache: file.data.cache,
      cacheBytes: file.data.cacheBytes,
    },
    model: file.model,
    optimizer: file.optimizer,
    tables: resolvedTables(file.tables),
    blocks: file.blocks,
    training: { ...file.training, pullAhead: pullAheadOf(file) },
    ...(file.evaluation === undefined ? {} : { evaluation: resolvedEvaluation(file, file.evaluation) }),
    cluster: { ...counts, leaseTtlMs: durationMs(lease) },
    tasks: {
      ...failures,
      timeoutMs: timeout === 'auto' ? timeout : durationMs(timeout),
      timeoutFloorMs: durationMs(floor),
    },
    checkpoint: resolvedCheckpoint(file.checkpoint),
    hooks: file.hooks,
    ...(file.warmStart === undefined ? {} : { warmStart: file.warmStart }),
  };
}

function resolvedCheckpoint({ interval, delta, ...rest }: JobFile['checkpoint']): Job['checkpoint'] {
  return {
    ...rest,
    intervalMs: interval === 'off' ? interval : durationMs(interval),
    ...(delta && { delta: { maxShare: delta.maxShare, intervalMs: durationMs(delta.interval) } }),
  };
}

const resolvedTables = (tables: JobFile['tables']): Job['tables'] =>
  Object.fromEntries(
    Object.entries(tables).map(([name, { maxBytes, ...rules }]) => {
      const bytes = typeof maxBytes === 'string' ? parseByteSize(maxBytes) : maxBytes;
      return [name, { ...rules, ...(bytes === undefined ? {} : { maxBytes: bytes }) }];
    }),
  );

function resolvedEvaluation(
  { model }: JobFile,
  { everyPasses, everyRounds, data, labels, metric, ...rest }: NonNullable<JobFile['evaluation']>,
): NonNullable<Job['evaluation']> {
  return {
    ...(everyRounds === undefined ? { everyPasses: everyPasses ?? 1 } : { everyRounds }),
    data: asList(data),
    labels: asList(labels),
    metric: metric ?? (taskOf(model) === 'regression' ? 'rmse' : 'logloss'),
    ...rest,
  };
}

function resolvedSpec({ format, columns, csv, missing }: JobFile['data']): Pick<Job['data'], 'columns' | 'dialect'> {
  if (columns === undefined) return {};
  const dialect = resolveDialect(format, csv, missing);
  return { columns: resolveColumns(columns, dialect), dialect };
}

/** The columns of a job; undefined for a format without columns. */
export const columnSpecOf = ({ data: { columns, dialect } }: RequestedJob): ColumnSpec | undefined =>
  columns === undefined || dialect === undefined ? undefined : { columns, dialect };

/** Which records of its files a dataset of the job has; undefined for all of them. */
export function selectionOf({ data, training }: RequestedJob, part: Selection['part']): Selection | undefined {
  const { split, negativeSampling } = data;
  const negatives = part === 'train' ? negativeSampling : undefined;
  return split === undefined && negatives === undefined ? undefined : { part, seed: training.seed, split, negatives };
}

function asList(paths: string | string[] | undefined): string[] {
  return paths === undefined ? [] : typeof paths === 'string' ? [paths] : paths;
}

/** JSON Schema (draft 2020-12) of the job file, for editors. Committed as docs/job.schema.json. */
export function jobJsonSchema(): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(jobFileSchema, { io: 'input' });
  return { $schema, title: 'paddlet job file', ...rest };
}
