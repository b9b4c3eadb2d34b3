/** The result of a job, as `run --json` and `status --json` print it (docs/design.md §11), kept in `/result`. */
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import { EVALUATION_METRICS } from '../../model/metrics.ts';
import { tableReport } from '../../protocol/messages/table-report.ts';

const count = z.int().min(0);

export const metricsSchema = z.strictObject({
  records: count,
  logloss: z.number().optional(),
  auc: z.number().optional(),
  /** Maximum error of `auc` if it comes from a histogram; absent if `auc` is exact. */
  aucBound: z.number().optional(),
  groupedAuc: z.number().optional(),
  /** Metrics of the `topK` records with the highest scores of each group; the three come together. */
  hitRate: z.number().optional(),
  ndcg: z.number().optional(),
  topK: z.int().min(1).max(LIMITS.topK).optional(),
  accuracy: z.number().optional(),
  rmse: z.number().optional(),
  /** Predicted positives / positives: 1 is perfect. */
  calibration: z.number().optional(),
});
export type Metrics = z.infer<typeof metricsSchema>;

/** A model that was kept while the job trained. */
const keptModelSchema = z.strictObject({
  passes: count,
  /** Sync mode. */
  rounds: count.optional(),
  /** Folder of its checkpoint. */
  checkpoint: z.string(),
  /** Metrics of the held-out records. */
  metrics: metricsSchema,
});
export type KeptModel = z.infer<typeof keptModelSchema>;

/** Models of jobs that are evaluated while they train: the newest, and the best by the metric, if a model has it. */
export const keptModelsSchema = z.strictObject({
  metric: z.enum(EVALUATION_METRICS),
  isStoppedEarly: z.boolean(),
  best: keptModelSchema.optional(),
  last: keptModelSchema,
});
export type KeptModels = z.infer<typeof keptModelsSchema>;

export const jobResultSchema = z.strictObject({
  job: z.string(),
  mode: z.enum(['async', 'sync']),
  passes: count,
  /** Over all passes. */
  tasks: z.strictObject({ total: count, done: count, discarded: count }),
  /** Over all passes; lost = passes × indexed − applied − bad − discarded. */
  records: z.strictObject({
    read: count,
    applied: count,
    duplicate: count,
    bad: count,
    discarded: count,
    lost: z.int(),
  }),
  /**
   * `train`: over the last pass, each record scored before training on it; `test`: the test files, by the final model.
   */
  metrics: z.strictObject({ train: metricsSchema.optional(), test: metricsSchema.optional() }),
  evaluation: keptModelsSchema.optional(),
  /** As observed by the pservers that answered, since they started; for jobs with a staleness bound. */
  staleness: z.strictObject({ mean: z.number(), max: count, refused: count }).optional(),
  /** What a warm start takes over: rows and candidates of tables, blocks of dense parameters. A bound may keep less. */
  warmStart: z
    .strictObject({
      from: z.string(),
      job: z.string(),
      loaded: z.array(
        z.strictObject({
          name: z.string(),
          // Results of earlier versions have none.
          kind: z.enum(['dense', 'sparse', 'candidates']).optional(),
          rows: count,
          bytes: count,
        }),
      ),
    })
    .optional(),
  /** Tables with admission, eviction or a bound. Their counts are since the pservers started. */
  tables: z.array(tableReport).optional(),
  /** SHA-256 over all values in canonical order, and over the optimizer's state. */
  modelDigest: z.string(),
  stateDigest: z.string(),
  recordsPerSecond: z.number(),
  elapsedSeconds: z.number(),
  checkpoints: z.array(z.strictObject({ index: count, uuid: z.string(), md5: z.string(), bytes: count })),
});
export type JobResult = z.infer<typeof jobResultSchema>;
