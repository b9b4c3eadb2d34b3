/**
 * The fields of a job file by section: bounds, defaults and the line that documents each (the JSON Schema's
 * `description`). A field is here only when something implements it.
 */
import * as z from 'zod';
import { LIMITS } from '../base/limits.ts';
import { DATA_FORMATS } from '../data/formats/registry.ts';
import { columnName, columnsSchema, dialectSchema, missingSchema } from './columns.ts';
import { byteSize, countOf, duration, folder, HOUR_MS, notNegative, paths, positive, rate } from './field-types.ts';
import { fedColumns, layersSchema, tower, vectors } from './layers.ts';
import { scheduleSchema } from './schedule.ts';
import { negativeSamplingSchema, splitSchema } from './selection.ts';

/** Safe as part of a store key and as a folder name. */
export const jobName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/,
    'expected 1 to 63 letters, digits, ".", "_" or "-", starting with a letter or digit',
  )
  .describe("Name of the job. It is part of the job's keys in the store and the name of its folder.");

/** Once a job is published, it has a number. */
export const recordsPerTaskNumber = countOf(1, 2 ** 31 - 1);

export const dataFields = {
  format: z.enum(DATA_FORMATS),
  train: paths.describe(
    'Training files: a file, a folder, a glob, or a list of these. A relative path starts at the data folder.',
  ),
  trainLabels: paths
    .optional()
    .describe('idx only: the label file of each training file, in the same order. Default: found by name.'),
  test: paths.optional().describe('Files on which paddlet evaluates the finished model.'),
  testLabels: paths
    .optional()
    .describe('idx only: the label file of each test file, in the same order. Default: found by name.'),
  recordsPerTask: z
    .union([z.literal('auto'), recordsPerTaskNumber])
    .default('auto')
    .describe(
      'Records per task; 1 to 2^31 − 1. A task is the unit of work of a trainer. If the trainer dies, the master hands ' +
        'the task out again. `auto`: chosen from the number of records, `batchSize` and `lanes`.',
    ),
  shuffle: z
    .enum(['tasks', 'records'])
    .default('tasks')
    .describe('What paddlet shuffles in each pass: only the order of the tasks, or also the records within each task.'),
  split: splitSchema.optional().describe('Holds out training records as test records.'),
  negativeSampling: negativeSamplingSchema
    .optional()
    .describe('Binary models: drops a fraction of the training records with label 0.'),
  columns: columnsSchema.optional(),
  groupBy: columnName
    .optional()
    .describe("Formats with columns: column of type category whose value is the record's group, for metrics by group."),
  missing: missingSchema
    .optional()
    .describe('Formats with columns: strings that mean a missing value. Default: the empty string.'),
  csv: dialectSchema.optional().describe('Syntax of csv, tsv and interactions files.'),
  labelWeights: z
    .boolean()
    .default(false)
    .describe('libsvm, libfm and libffm only: whether labels may have weights, as in `1:0.5`.'),
  topK: countOf(1, LIMITS.topK)
    .optional()
    .describe('Cutoff k of `hitRate` and `ndcg`, for binary models with groups. Default: 10.'),
  corruptChunks: z
    .enum(['fail', 'skip'])
    .default('fail')
    .describe('What to do about a corrupt chunk of a RecordIO file: fail the job, or skip the chunk and warn.'),
  maxBadRecords: countOf(0, 2 ** 31 - 1)
    .default(0)
    .describe(
      'Maximum number of bad records per task. paddlet skips and lists bad records. If a task has more, the task fails.',
    ),
  cache: z
    .enum(['on', 'off'])
    .default('on')
    .describe(
      'Whether to cache parsed records, so that later passes do not parse text again. The model is the same. A job of one pass reads the cache, but does not write to it.',
    ),
  cacheBytes: countOf(2 ** 20, 2 ** 50)
    .default(2 ** 34)
    .describe("Maximum size of a host's cached tasks, in bytes. Least recently used tasks are deleted first."),
};

const binaryOrRegression = () =>
  z.enum(['binary', 'regression']).default('binary').describe('Whether the model predicts a probability or a number.');

const saveDir = folder
  .optional()
  .describe(
    'Folder for the merged model, one safetensors file after each pass. A relative path starts at the data folder.',
  );

const anyTask = (usual: 'binary' | 'multiclass') =>
  z
    .enum(['binary', 'multiclass', 'regression'])
    .default(usual)
    .describe('Whether the model predicts a probability, one probability per class, or a number.');

export const modelSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z
      .literal('lr')
      .describe('Logistic regression (`binary`), or linear regression with squared loss (`regression`).'),
    task: binaryOrRegression(),
    saveDir,
  }),
  z.strictObject({
    type: z.literal('softmax').describe('Multinomial logistic regression on idx or numeric columns.'),
    saveDir,
  }),
  z.strictObject({
    type: z.literal('fm').describe('Factorization machine of degree two.'),
    factors: countOf(1, 1024).default(8).describe("Length of each feature's factor vector, in floats."),
    initStddev: notNegative().default(0.01).describe("Standard deviation of the vectors' initial values."),
    task: binaryOrRegression(),
    saveDir,
  }),
  z.strictObject({
    type: z.literal('ffm').describe('Field-aware factorization machine: each feature has one vector for each field.'),
    factors: countOf(1, 1024)
      .default(4)
      .describe('Length of the vector that each feature has for each field, in floats.'),
    initScale: notNegative()
      .default(1)
      .describe("The vectors' initial values are uniform from 0 to initScale / √factors."),
    normalize: z.boolean().default(true).describe("Whether to divide each record's values by their L2 norm."),
    task: binaryOrRegression(),
    saveDir,
  }),
  z.strictObject({
    type: z.literal('mlp').describe('Multilayer perceptron on idx or numeric columns.'),
    ...tower,
    task: anyTask('multiclass'),
    saveDir,
  }),
  z.strictObject({
    type: z.literal('wide_deep').describe('Wide & Deep, on columns: a linear model and a tower of dense layers.'),
    columns: fedColumns,
    embedding: countOf(1, 1024).default(8).describe("Width of each category's embedding vector, in floats."),
    ...vectors,
    ...tower,
    task: binaryOrRegression(),
    saveDir,
  }),
  z.strictObject({
    type: z.literal('deepfm').describe('DeepFM, on columns: a factorization machine and a tower of dense layers.'),
    columns: fedColumns,
    factors: countOf(1, 1024).default(8).describe("Length of each feature's factor vector, in floats."),
    ...vectors,
    ...tower,
    task: binaryOrRegression(),
    saveDir,
  }),
  z.strictObject({
    type: z.literal('layers').describe('Layers of your choice, listed in `layers`.'),
    task: anyTask('binary'),
    layers: layersSchema,
    saveDir,
  }),
]);
export type ModelSpec = z.infer<typeof modelSchema>;

const learningRate = (value: number) => positive().default(value).describe('Step size.');
const l2 = () =>
  notNegative()
    .default(0)
    .describe('Weight of the L2 penalty: an update adds l2 · value to the gradient of each value that it changes.');
const epsilon = (value: number) =>
  positive().default(value).describe('Added to the denominator of a step, to prevent division by zero.');
const beta1 = () => rate().default(0.9).describe('Decay rate of the running mean of the gradients.');
const beta2 = () => rate().default(0.999).describe('Decay rate of the running mean of the squared gradients.');

export const optimizerSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('sgd').describe('Plain gradient descent.'),
    learningRate: learningRate(0.1),
    l2: l2(),
  }),
  z.strictObject({
    type: z.literal('momentum').describe('Gradient descent with momentum.'),
    learningRate: learningRate(0.01),
    momentum: rate().default(0.9).describe('Fraction of the previous step that is added to the next step.'),
    l2: l2(),
  }),
  z.strictObject({
    type: z.literal('adagrad').describe('AdaGrad.'),
    learningRate: learningRate(0.1),
    initialAccumulator: notNegative()
      .default(0.1)
      .describe('Initial sum of squared gradients. A larger value makes the first steps smaller.'),
    epsilon: epsilon(1e-7),
    l2: l2(),
  }),
  z.strictObject({
    type: z.literal('adam').describe('Adam; the L2 penalty is part of the gradient.'),
    learningRate: learningRate(0.001),
    beta1: beta1(),
    beta2: beta2(),
    epsilon: epsilon(1e-8),
    l2: l2(),
  }),
  z.strictObject({
    type: z.literal('adamw').describe('Adam with decoupled weight decay.'),
    learningRate: learningRate(0.001),
    beta1: beta1(),
    beta2: beta2(),
    epsilon: epsilon(1e-8),
    weightDecay: notNegative()
      .default(0.01)
      .describe('Weight decay: each step subtracts learningRate · weightDecay · value.'),
  }),
  z.strictObject({
    type: z.literal('ftrl').describe('FTRL-proximal.'),
    alpha: positive().default(0.1).describe('Step size.'),
    beta: notNegative()
      .default(1)
      .describe(
        'Added to the denominator of the step size. A larger value makes the first steps of a feature smaller.',
      ),
    lambda1: notNegative()
      .default(0)
      .describe('Weight of the L1 penalty, which keeps the weights of rare features at zero.'),
    lambda2: notNegative().default(0).describe('Weight of the L2 penalty.'),
  }),
]);

/** By the parameter's name; which names a model has is for the rules. */
const byParameter = <T extends z.ZodRawShape>(shape: T) =>
  z.record(z.string().min(1).max(LIMITS.parameterNameBytes), z.strictObject(shape)).default({});

const optimizerOf = (what: string) =>
  optimizerSchema.optional().describe(`How the pservers apply the gradients of this ${what}. Default: \`optimizer\`.`);

const admissionSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('count').describe('An id gets a row when enough updates have named it.'),
    min: countOf(2, LIMITS.admissionCount).describe('Updates that must name an id before it gets a row.'),
  }),
  z.strictObject({
    type: z.literal('probability').describe('Each update that names an id gives it a row with a probability.'),
    p: z.number().gt(0).lt(1).describe('Probability that an update that names an id gives it a row.'),
  }),
]);

/** Exactly one of the fields is set (rules.ts). */
const evictionSchema = z.strictObject({
  unseenPasses: countOf(1, LIMITS.unseenPasses)
    .optional()
    .describe('Evict what no update has named in this number of complete passes.'),
  unseenUpdates: countOf(8, LIMITS.unseenUpdates)
    .optional()
    .describe('Evict what this number of updates of the shard have not named.'),
});

const tableRules = {
  optimizer: optimizerOf('table'),
  admission: admissionSchema.optional().describe('Which ids get a row. Default: all.'),
  eviction: evictionSchema.optional().describe('Which rows are evicted. Default: none.'),
};

const tablesText =
  "Settings of sparse tables: w for lr; w and v for fm, ffm, wide_deep and deepfm; for `layers`, the tables of the model's linear and embedding layers, by layer name.";
const maxBytesText = 'Maximum size of the table: beyond it the least recently updated rows are evicted. Default: none.';

export const tablesSchema = byParameter({
  ...tableRules,
  maxBytes: byteSize(1, LIMITS.tableBytes).optional().describe(maxBytesText),
}).describe(tablesText);
/** As the store carries it. */
export const resolvedTablesSchema = byParameter({
  ...tableRules,
  maxBytes: countOf(1, LIMITS.tableBytes).optional().describe(maxBytesText),
});
export const blocksSchema = byParameter({ optimizer: optimizerOf('parameter') }).describe(
  'Optimizers of dense parameters: bias for lr, fm and ffm; W and b for softmax; for deep models, the parameters of their layers, such as hidden1.W. Default: `optimizer`.',
);

const stalenessFields = {
  bound: countOf(0, 1_000_000).describe(
    'Maximum staleness of a gradient: updates that a shard may receive between the pull and the push.',
  ),
  policy: z
    .enum(['wait', 'refuse', 'scale'])
    .default('wait')
    .describe(
      'How paddlet enforces the bound: delay pulls (`wait`), refuse stale pushes (`refuse`), or lower the learning rate of stale pushes (`scale`).',
    ),
};

/** The defaults of the settings that `recordsPerTask: auto` depends on. */
export const USUAL_BATCHES = { batchSize: 128, lanes: 8 } as const;

export const trainingFields = {
  mode: z
    .enum(['async', 'sync'])
    .default('async')
    .describe(
      'When gradients are applied: each gradient as it arrives (`async`), or all gradients of a round together (`sync`), with bitwise reproducible results.',
    ),
  passes: countOf(1, LIMITS.passes).default(1).describe('Passes (epochs) over the training data.'),
  batchSize: countOf(1, LIMITS.batchRecords).default(USUAL_BATCHES.batchSize).describe('Records per mini-batch.'),
  pushEvery: countOf(1, 1_000_000)
    .default(1)
    .describe('Mini-batches whose gradients are summed into one push. A sum never spans two tasks.'),
  pullEvery: countOf(1, 1_000_000)
    .default(1)
    .describe('Mini-batches for which a trainer uses the same pulled parameters.'),
  pullAhead: countOf(0, LIMITS.pullAhead)
    .optional()
    .describe(
      'Async mode: number of pulls that a trainer makes in advance, to wait less. Default: 0 for models with layers; for ' +
        'others 2, or less under a staleness bound, and 0 with policy `wait`.',
    ),
  lanes: countOf(1, LIMITS.lanes)
    .default(USUAL_BATCHES.lanes)
    .describe(
      'Sync mode: mini-batches per round. Each is computed by one logical worker (lane); live trainers share the lanes.',
    ),
  seed: countOf(0, 2 ** 32 - 1)
    .default(1)
    .describe('Seed of initial values, shuffling, dropout, test splits and negative sampling.'),
  onBadGradient: z
    .enum(['fail', 'clip'])
    .default('fail')
    .describe(
      'What to do if a gradient contains NaN or infinite values: fail the job, or set these values to 0 (`clip`, which requires ' +
        '`maxGradientNorm`).',
    ),
  maxGradientNorm: positive()
    .optional()
    .describe('Maximum L2 norm of each gradient; larger gradients are scaled down to this norm.'),
  classWeights: z
    .record(z.string(), positive().max(LIMITS.classWeight))
    .optional()
    .describe("Weight of each class's training records, by class number: `{1: 5}`. Unlisted classes have weight 1."),
  staleness: z
    .strictObject(stalenessFields)
    .optional()
    .describe('Async mode: bounds the staleness of gradients. Default: no bound.'),
  schedule: scheduleSchema.optional().describe('Learning-rate schedule. Default: the rate is constant. Not for ftrl.'),
};

export const clusterCounts = {
  pservers: countOf(1, LIMITS.pservers)
    .default(1)
    .describe('Number of parameter servers. `paddlet resize` changes it while the job runs.'),
  minPservers: countOf(1, LIMITS.pservers)
    .default(1)
    .describe('Minimum number of pservers that `paddlet resize` and `paddlet restore` accept.'),
  maxPservers: countOf(1, LIMITS.pservers)
    .optional()
    .describe(
      'Maximum number of pservers that `paddlet resize` and `paddlet restore` accept; at most `units`. Default: a quarter of `units`, or `pservers` if that is larger.',
    ),
  trainers: countOf(1, LIMITS.trainers)
    .default(1)
    .describe('Number of trainers that `paddlet run` starts. `paddlet resize` changes it while the job runs.'),
  minTrainers: countOf(1, LIMITS.trainers)
    .default(1)
    .describe('Minimum number of live trainers. If fewer are alive, the job waits.'),
  maxTrainers: countOf(1, LIMITS.trainers)
    .default(LIMITS.trainers)
    .describe('Maximum number of trainers that train at once; further trainers stand by.'),
  shards: countOf(1, LIMITS.shards).default(512).describe('Number of shards (partitions of the parameters).'),
  units: countOf(1, LIMITS.units)
    .optional()
    .describe(
      'Number of units (groups of shards that move together). Default: 64, or 4 × `maxPservers` if that is larger; at most `shards`.',
    ),
  replicas: countOf(1, LIMITS.replicas)
    .default(1)
    .describe(
      'Number of copies of each unit, on different pservers. With 2 or more, no acknowledged push is lost if a pserver dies.',
    ),
  minInSync: countOf(1, LIMITS.replicas)
    .default(1)
    .describe(
      'Number of copies that must have received a push before paddlet acknowledges it. If fewer are alive, pushes wait.',
    ),
};
export const leaseTtl = duration(1000, HOUR_MS)
  .default('5s')
  .describe('Time without a lease renewal after which a process loses its index and its tasks; 1s to 1h.');

export const taskCounts = {
  maxFailures: countOf(0, 1_000_000)
    .default(3)
    .describe('Failures that a task may have in a pass. After one more failure, paddlet discards the task.'),
  maxDiscarded: countOf(0, LIMITS.tasks)
    .default(0)
    .describe('Tasks that may be discarded. After one more, the job fails.'),
};
export const taskTimeout = z
  .union([z.literal('auto'), duration(100, 24 * HOUR_MS)])
  .default('auto')
  .describe(
    'Maximum duration of one attempt at a task; 100ms to 24h. `auto`: three times the longest finished attempt.',
  );
export const timeoutFloor = duration(100, 24 * HOUR_MS)
  .default('30s')
  .describe('Minimum of the `auto` timeout; 100ms to 24h.');

export const checkpointFields = {
  dir: folder
    .optional()
    .describe(
      "Folder of the checkpoints. If the job runs on several machines, all of them must share this folder. Default: the job's folder.",
    ),
  keep: countOf(0, 1000).default(1).describe('Number of older checkpoints that each pserver keeps besides the newest.'),
  everyPasses: countOf(1, 1_000_000).optional().describe('Passes after which each pserver also saves.'),
  everyBatches: countOf(1, 2 ** 40)
    .optional()
    .describe('Applied mini-batches after which each pserver also saves.'),
  maxBytesPerSecond: countOf(1024, 2 ** 40)
    .optional()
    .describe(
      "Maximum write rate of a pserver's checkpoint, in bytes per second. Does not limit the last save of a process.",
    ),
};
export const checkpointInterval = z
  .union([z.literal('off'), duration(100, 24 * HOUR_MS)])
  .default('10m')
  .describe(
    "Time from the end of a pserver's checkpoint to the start of the next one; 100ms to 24h. `off` disables saving by time.",
  );

export const deltaFields = {
  maxShare: positive()
    .max(LIMITS.deltaShare)
    .default(0.5)
    .describe('Size of the deltas on one base, as a share of the base. Above it, the next checkpoint is a base.'),
};
export const deltaInterval = duration(100, 24 * HOUR_MS)
  .default('1m')
  .describe(
    "Time from the end of a pserver's checkpoint to the start of the next one; 100ms to 24h, less than `checkpoint.interval`.",
  );
export const deltaAbout =
  'Saves deltas: checkpoints with only the rows that changed since the checkpoint before. `checkpoint.interval` is then the time between bases, which have all rows.';

const commands = () => z.array(z.string().min(1).max(LIMITS.hookCharacters)).max(LIMITS.hookCommands).default([]);

export const hookFields = {
  before: commands().describe('Shell commands that the master runs in order before the first pass.'),
  after: commands().describe(
    'Shell commands that the master runs in order after the last pass, before it publishes the result.',
  ),
};

export const warmStartFields = {
  from: folder.describe("The other job's checkpoint folder or job folder. A relative path starts at the data folder."),
  vars: z
    .array(z.string().min(1).max(LIMITS.parameterNameBytes))
    .min(1)
    .max(LIMITS.parameters)
    .default(['*'])
    .describe('Parameters and tables to load. `*` matches any text, `?` any character.'),
  optimizerState: z
    .boolean()
    .default(true)
    .describe(
      'Whether to load the optimizer state too. If so, each loaded parameter needs the same optimizer type in both jobs.',
    ),
  missing: z
    .enum(['fail', 'initialize', 'zero'])
    .default('fail')
    .describe(
      'What to do if the checkpoint lacks a selected parameter: refuse the job, use the initial values, or use zero.',
    ),
};
