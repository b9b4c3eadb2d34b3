/**
 * The key `/job`: what all roles must agree on. The first master creates it; it never changes. The two numbers of a job
 * that can change have separate keys: `/ps_desired` and `/passes_desired`.
 */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { warmPlanSchema } from '../../checkpoint/load/warm-plan.ts';
import { parseStoreValue } from '../../core/tasks/state.ts';
import { defaultUnits } from '../../core/units/units.ts';
import { slotsOf } from '../../data/columns/column.ts';
import type { NumberStatistics } from '../../data/columns/statistics.ts';
import { columnSpecOf, type Job, parseJob } from '../../job/schema.ts';
import type { Keys } from '../../store/keys.ts';
import type { KeyValue, Store } from '../../store/store.ts';
import { parseDesired } from '../placement/ps-desired.ts';

const count = z.int().min(0);

/** What is known of a number column, of all records. */
const numberStatistics = z.strictObject({
  name: z.string(),
  present: count,
  missing: count,
  mean: z.number(),
  deviation: z.number(),
  min: z.number(),
  max: z.number(),
  bounds: z.array(z.number()).max(LIMITS.quantiles).optional(),
});

const dataFactsSchema = z.strictObject({
  records: count,
  tasks: count,
  /** Decimal text: up to 2^64, which is more than a JSON number holds. */
  featureBound: z.string().regex(/^\d{1,20}$/),
  labelBound: count,
  /** Highest field of a feature + 1, or the columns that make features; 0 where features have no fields. */
  fieldBound: count.max(LIMITS.fields),
  digest: z.string(),
  /** Present for formats with columns. */
  columns: z
    .strictObject({
      /** Fields per line. */
      fields: count,
      statistics: z.array(numberStatistics).max(LIMITS.columns),
      /** Names of the columns that have a value in every record. */
      complete: z.array(z.string()).max(LIMITS.columns).optional(),
    })
    .optional(),
});

/**
 * The version of all keys of a job: raised whenever one of them changes its name or its value. An executable reads only
 * its own version.
 */
export const JOB_RECORD_VERSION = 12;

const recordSchema = z.strictObject({
  version: z.literal(JOB_RECORD_VERSION),
  /** Unique: a job with the same name that is started later is another job. */
  id: z.uuid(),
  /** Seconds since 1970. */
  created: z.number(),
  /** Folder that relative data paths start from, unless a role has another. */
  dataDir: z.string(),
  /**
   * Digest of everything that determines the records of push `j` of task `t` in pass `p` (docs/modes.md "Batch plan
   * id"); every request names it.
   */
  batchPlanId: z.string(),
  train: dataFactsSchema,
  test: dataFactsSchema.optional(),
  /** Groups of shards that live and move together: shard s is of unit s mod `units`. Fixed for the life of the job. */
  units: z.int().min(1).max(LIMITS.units),
  /** What is loaded from another job's checkpoint, for jobs with a warm start. */
  warmStart: warmPlanSchema.optional(),
  job: z.unknown(),
});

export type DataFacts = z.infer<typeof dataFactsSchema>;
export type JobRecord = Omit<z.infer<typeof recordSchema>, 'job'> & { readonly job: Job };

/** Since the job was published, rounded to milliseconds. */
export const elapsedSeconds = ({ created }: Pick<JobRecord, 'created'>, wallSeconds: number): number =>
  Math.round((wallSeconds - created) * 1000) / 1000;

export function batchPlanId(job: Job, indexDigest: string): string {
  const { batchSize, pushEvery, seed, mode, lanes, onBadGradient, maxGradientNorm, classWeights } = job.training;
  const decides = {
    batchSize,
    pushEvery,
    recordsPerTask: job.data.recordsPerTask,
    seed,
    index: indexDigest,
    ...(job.data.shuffle === 'records' ? { shuffle: 'records' } : {}),
    ...(job.data.labelWeights ? { labelWeights: true } : {}),
    ...(mode === 'sync' ? { lanes } : {}),
    ...(onBadGradient === 'fail' ? {} : { onBadGradient }),
    ...(maxGradientNorm === undefined ? {} : { maxGradientNorm }),
    ...(classWeights === undefined ? {} : { classWeights }),
  };
  return createHash('sha256').update(JSON.stringify(decides)).digest('hex');
}

/** Worked out once, when the job is published: a restore to more pservers leaves the units as they are. */
export const unitsOf = ({ cluster }: Job): number =>
  cluster.units ?? defaultUnits(cluster.shards, cluster.maxPservers ?? cluster.pservers);

/** Throws `VersionMismatch` for a record of another version, `StoreValueInvalid` for one that cannot be read. */
export function parseJobRecord(key: string, value: string): JobRecord {
  const { version } = parseStoreValue(versionSchema, key, value);
  if (version !== JOB_RECORD_VERSION) throw otherVersion(key, version);
  const record = parseStoreValue(recordSchema, key, value);
  const job = parseJob(record.job);
  const { shards } = job.cluster;
  if (record.units > shards) {
    throw new PaddletError(
      'StoreValueInvalid',
      `${key}: expected at most ${shards} units, one per shard, got ${record.units}`,
    );
  }
  const fault = statisticsFault(job, record.train.columns?.statistics ?? []);
  if (fault !== undefined) throw new PaddletError('StoreValueInvalid', `${key}: ${fault}`);
  return { ...record, job };
}

/** What is wrong with what is known of number columns: features are made with it. */
function statisticsFault(job: Job, statistics: readonly NumberStatistics[]): string | undefined {
  const { numbers } = slotsOf(columnSpecOf(job)?.columns ?? []);
  const names = numbers.map(({ name }) => name).join(', ');
  const known = statistics.map(({ name }) => name).join(', ');
  if (names !== known) return `expected statistics of the columns ${names || 'none'}, got ${known || 'none'}`;
  const odd = numbers.find(({ quantiles }, at) => {
    const { bounds } = statistics[at]!;
    const isAscending = bounds?.every((bound, next) => next === 0 || bounds[next - 1]! < bound) ?? true;
    return (bounds === undefined) !== (quantiles === undefined) || !isAscending;
  });
  return odd && `expected the quantile bounds of column ${odd.name} in ascending order`;
}

const versionSchema = z.object({ version: count });

const otherVersion = (key: string, version: number): PaddletError =>
  new PaddletError(
    'VersionMismatch',
    `expected version ${JOB_RECORD_VERSION} of the job record at ${key}, got version ${version}`,
    {
      hint: 'finish the job with the paddlet version that started it, or start it over with `paddlet run JOB --fresh`',
      details: { found: version, expected: JOB_RECORD_VERSION },
    },
  );

/** The value of `/passes_desired`. */
export const parsePasses = ({ key, value }: KeyValue): number =>
  parseStoreValue(z.int().min(1).max(LIMITS.passes), key, value);

/**
 * With the numbers of `/ps_desired` and `/passes_desired`: a restore changes the one, a continuation the other.
 * Undefined when there is no job.
 */
export async function readJobRecord(store: Store, keys: Keys): Promise<JobRecord | undefined> {
  const gets = [keys.job, keys.psDesired, keys.passesDesired].map((get) => ({ get }));
  const { results } = await store.txn({ if: [], then: gets });
  return recordIn(keys, results);
}

/** `found`: the entries of `/job`, `/ps_desired` and `/passes_desired`, read at one revision. */
export function recordIn(keys: Keys, found: readonly (KeyValue | undefined)[]): JobRecord | undefined {
  const [entry, desired, passes] = found;
  if (entry === undefined) return undefined;
  const record = parseJobRecord(keys.job, entry.value);
  if (desired === undefined) throw missingBeside(keys, keys.psDesired);
  if (passes === undefined) throw missingBeside(keys, keys.passesDesired);
  const { job } = record;
  const cluster = { ...job.cluster, pservers: parseDesired(desired) };
  const training = { ...job.training, passes: parsePasses(passes) };
  return { ...record, job: { ...job, cluster, training } };
}

const missingBeside = (keys: Keys, key: string): PaddletError =>
  new PaddletError('StoreValueInvalid', `${key} is missing although ${keys.job} exists`);
