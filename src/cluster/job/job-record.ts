/** The key `/job`: what all roles must agree on. Created once by the first master, never changed. */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { PaddletError } from '../../base/errors.ts';
import { warmPlanSchema, withZeros } from '../../checkpoint/load/warm-plan.ts';
import { parseStoreValue } from '../../core/tasks/state.ts';
import type { LabelRule } from '../../data/labels.ts';
import { type Job, parseJob } from '../../job/schema.ts';
import type { Model } from '../../model/model.ts';
import { createModel } from '../../model/registry.ts';
import type { Keys } from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';
import { trainedSpec } from '../../tensor/optimizer.ts';
import type { TrainedSpec } from '../../tensor/spec.ts';
import type { RoleContext } from '../context.ts';
import { parseDesired } from '../placement/ps-desired.ts';

const count = z.int().min(0);

const dataFactsSchema = z.strictObject({
  records: count,
  tasks: count,
  featureBound: count,
  labelBound: count,
  digest: z.string(),
});

const recordSchema = z.strictObject({
  version: z.literal(1),
  /** Unique: a job of the same name started later is another job. */
  id: z.uuid(),
  /** Seconds since 1970. */
  created: z.number(),
  /** Folder that relative data paths start at, unless a role is given another. */
  dataDir: z.string(),
  /**
   * Digest over all that decides which records push `j` of task `t` in pass `p` is (DESIGN §5 "Batch plan id"); every
   * connection names it.
   */
  batchPlanId: z.string(),
  train: dataFactsSchema,
  test: dataFactsSchema.optional(),
  /** What is taken over from another job's checkpoint, for jobs with a warm start. */
  warmStart: warmPlanSchema.optional(),
  job: z.unknown(),
});

export type DataFacts = z.infer<typeof dataFactsSchema>;
export type JobRecord = Omit<z.infer<typeof recordSchema>, 'job'> & { readonly job: Job };

/** Since the job was published, to the millisecond. */
export const elapsedSeconds = ({ created }: Pick<JobRecord, 'created'>, wallSeconds: number): number =>
  Math.round((wallSeconds - created) * 1000) / 1000;

export function batchPlanId(job: Job, indexDigest: string): string {
  const { batchSize, pushEvery, seed, mode, lanes } = job.training;
  const decides = {
    batchSize,
    pushEvery,
    recordsPerTask: job.data.recordsPerTask,
    seed,
    index: indexDigest,
    ...(mode === 'sync' ? { lanes } : {}),
  };
  return createHash('sha256').update(JSON.stringify(decides)).digest('hex');
}

export function parseJobRecord(key: string, value: string): JobRecord {
  const record = parseStoreValue(recordSchema, key, value);
  return { ...record, job: parseJob(record.job) };
}

/**
 * With the number of pservers that `/ps_desired` says: a restore to another number changes that key, never `/job`.
 * Undefined when there is no job.
 */
export async function readJobRecord(store: Store, keys: Keys): Promise<JobRecord | undefined> {
  const { results } = await store.txn({ if: [], then: [{ get: keys.job }, { get: keys.psDesired }] });
  const [entry, desired] = results;
  if (entry === undefined) return undefined;
  const record = parseJobRecord(keys.job, entry.value);
  if (desired === undefined)
    throw new PaddletError('StoreValueInvalid', `${keys.psDesired} is missing though the job is there`);
  const pservers = parseDesired(desired);
  const { job } = record;
  return { ...record, job: { ...job, cluster: { ...job.cluster, pservers } } };
}

/** The model of a job: a function of its record, so that every role makes the same one. */
export function modelOf(record: JobRecord, context: Pick<RoleContext, 'makeModel'> = {}): Model {
  const facts = { inputWidth: record.train.featureBound, classes: classesOf(record) };
  const model = context.makeModel?.(record) ?? createModel(record.job.model, facts);
  const zeroed = record.warmStart?.zeroed ?? [];
  return zeroed.length === 0 ? model : { ...model, parameters: withZeros(model.parameters, zeroed) };
}

/** The parameters of a job, each with its optimizer. */
export const trainedSpecOf = (record: JobRecord, context: Pick<RoleContext, 'makeModel'> = {}): TrainedSpec =>
  trainedSpec(modelOf(record, context).parameters, record.job);

export function labelRuleOf(record: JobRecord, model: Model): LabelRule {
  return model.task === 'multiclass' ? { task: 'multiclass', classes: classesOf(record) } : { task: model.task };
}

function classesOf({ train, test }: JobRecord): number {
  return Math.max(train.labelBound, test?.labelBound ?? 0);
}
