/**
 * The fields of a job file by section: bounds, defaults and the line that documents each (the JSON Schema's
 * `description`). A field is here only when something implements it.
 */
import * as z from 'zod';
import { LIMITS } from '../base/limits.ts';
import { DATA_FORMATS } from '../data/formats/registry.ts';
import { columnName, columnsSchema, dialectSchema, missingSchema } from './columns.ts';
import { countOf, duration, folder, HOUR_MS, notNegative, paths, positive, rate } from './field-types.ts';
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
  .describe('Name of the job: part of its store keys and the name of its folder.');

export const dataFields = {
  format: z.enum(DATA_FORMATS),
  train: paths.describe(
    'Training files: a file, a folder, a glob, or a list of these. Relative paths start from the data folder.',
  ),
  trainLabels: paths
    .optional()
    .describe('Label files of `train`, in the same order; only for idx. Default: found by name.'),
  test: paths.optional().describe('Test files, on which the finished model is evaluated.'),
  testLabels: paths
    .optional()
    .describe('Label files of `test`, in the same order; only for idx. Default: found by name.'),
  recordsPerTask: countOf(1, 2 ** 31 - 1)
    .default(1000)
    .describe('Records per task, the unit of work that a trainer gets.'),
  shuffle: z
    .enum(['tasks', 'records'])
    .default('tasks')
    .describe('What is shuffled in each pass: the tasks, or the tasks and the records within each task.'),
  split: splitSchema.optional().describe('How to hold test records out of the training files.'),
  negativeSampling: negativeSamplingSchema.optional().describe('How to sample training records with label 0.'),
  columns: columnsSchema.optional(),
  groupBy: columnName.optional().describe('Category column with the group of each record, for metrics by group.'),
  missing: missingSchema
    .optional()
    .describe('Texts that stand for a missing value, in formats with columns. Default: the empty text.'),
  csv: dialectSchema.optional().describe('Dialect of csv, tsv and interactions files.'),
  labelWeights: z
    .boolean()
    .default(false)
    .describe(
      'Whether labels of libsvm and libffm data may have a weight, as in `1:0.5`, which is the weight of the record.',
    ),
  topK: countOf(1, LIMITS.topK)
    .optional()
    .describe(
      'Cutoff k of `hitRate` and `ndcg`: the number of top-ranked records in each group; only for binary models. Default: 10.',
    ),
  corruptChunks: z
    .enum(['fail', 'skip'])
    .default('fail')
    .describe('Whether the job fails at a corrupt chunk of a RecordIO file, or skips it.'),
  maxBadRecords: countOf(0, 2 ** 31 - 1)
    .default(0)
    .describe('Maximum number of bad records in a task; a task with more fails.'),
  cache: z
    .enum(['on', 'off'])
    .default('on')
    .describe('Whether tasks are parsed once and kept in the cache folder for later passes.'),
  cacheBytes: countOf(2 ** 20, 2 ** 50)
    .default(2 ** 34)
    .describe('Maximum size of parsed tasks in the cache folder; the least recently used are removed first.'),
};

const binaryOrRegression = () =>
  z.enum(['binary', 'regression']).default('binary').describe('What the model predicts: a probability or a number.');

const saveDir = folder
  .optional()
  .describe('Folder for the merged model, which a trainer writes after each pass as one safetensors file.');

const anyTask = (usual: 'binary' | 'multiclass') =>
  z
    .enum(['binary', 'multiclass', 'regression'])
    .default(usual)
    .describe('What the model predicts: a probability, one for each class, or a number.');

export const modelSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('lr').describe('Linear model: logistic regression, or least squares.'),
    task: binaryOrRegression(),
    saveDir,
  }),
  z.strictObject({ type: z.literal('softmax').describe('Multinomial logistic regression on dense inputs.'), saveDir }),
  z.strictObject({
    type: z.literal('fm').describe('Factorization machine of degree two.'),
    factors: countOf(1, 1024).default(8).describe("Length of each feature's factor vector."),
    initStddev: notNegative().default(0.01).describe('Standard deviation of the initial factor vectors.'),
    task: binaryOrRegression(),
    saveDir,
  }),
  z.strictObject({
    type: z.literal('ffm').describe('Field-aware factorization machine: a vector of each feature for each field.'),
    factors: countOf(1, 1024).default(4).describe('Length of each of these vectors.'),
    initScale: notNegative().default(1).describe('Initial vectors are uniform from 0 to this, divided by √factors.'),
    normalize: z.boolean().default(true).describe('Whether the values of each record are divided by their L2 norm.'),
    task: binaryOrRegression(),
    saveDir,
  }),
  z.strictObject({
    type: z.literal('mlp').describe('Multilayer perceptron: dense layers on records of numbers.'),
    ...tower,
    task: anyTask('multiclass'),
    saveDir,
  }),
  z.strictObject({
    type: z.literal('wide_deep').describe('Wide & Deep: a linear model and a tower of dense layers, of columns.'),
    columns: fedColumns,
    embedding: countOf(1, 1024).default(8).describe("Width of each category's vector."),
    ...vectors,
    ...tower,
    task: binaryOrRegression(),
    saveDir,
  }),
  z.strictObject({
    type: z.literal('deepfm').describe('DeepFM: a factorization machine and a tower of dense layers, of columns.'),
    columns: fedColumns,
    factors: countOf(1, 1024).default(8).describe("Length of each feature's factor vector."),
    ...vectors,
    ...tower,
    task: binaryOrRegression(),
    saveDir,
  }),
  z.strictObject({
    type: z.literal('layers').describe('A custom model: a list of layers.'),
    task: anyTask('binary'),
    layers: layersSchema,
    saveDir,
  }),
]);
export type ModelSpec = z.infer<typeof modelSchema>;

const learningRate = (value: number) => positive().default(value).describe('Step size.');
const l2 = () =>
  notNegative().default(0).describe('Weight of the L2 penalty, applied to the values that an update touches.');
const epsilon = (value: number) =>
  positive().default(value).describe('Added to the denominator for numerical stability.');
const beta1 = () => rate().default(0.9).describe('Decay rate of the mean of gradients.');
const beta2 = () => rate().default(0.999).describe('Decay rate of the mean of squared gradients.');

export const optimizerSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('sgd').describe('Plain gradient descent.'),
    learningRate: learningRate(0.1),
    l2: l2(),
  }),
  z.strictObject({
    type: z.literal('momentum').describe('Gradient descent with momentum.'),
    learningRate: learningRate(0.01),
    momentum: rate().default(0.9).describe('Fraction of the last step that is kept.'),
    l2: l2(),
  }),
  z.strictObject({
    type: z.literal('adagrad').describe('AdaGrad.'),
    learningRate: learningRate(0.1),
    initialAccumulator: notNegative().default(0.1).describe('Initial sum of squared gradients.'),
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
      .describe('Fraction of the value that each step subtracts, times the step size.'),
  }),
  z.strictObject({
    type: z.literal('ftrl').describe('FTRL-proximal.'),
    alpha: positive().default(0.1).describe('Step size.'),
    beta: notNegative().default(1).describe('Smooths the step size of rare features.'),
    lambda1: notNegative().default(0).describe('Weight of the L1 penalty: rare features stay at zero.'),
    lambda2: notNegative().default(0).describe('Weight of the L2 penalty.'),
  }),
]);

/** By the parameter's name; which names a model has is for the rules. */
const byParameter = (what: string) =>
  z
    .record(
      z.string().min(1).max(LIMITS.parameterNameBytes),
      z.strictObject({ optimizer: optimizerSchema.describe(`How the pservers apply the gradients of this ${what}.`) }),
    )
    .default({});

export const tablesSchema = byParameter('table').describe(
  'Settings of single sparse tables by name (lr: w; fm, ffm, wide_deep and deepfm: w, v): an optimizer other than `optimizer`.',
);
export const blocksSchema = byParameter('parameter').describe(
  'Settings of single dense parameters by name (lr, fm and ffm: bias; softmax: W, b; of deep models: hidden1.W, …): an optimizer other than `optimizer`.',
);

const stalenessFields = {
  bound: countOf(0, 1_000_000).describe(
    'Maximum staleness of a push: the updates of a shard since the values that the push was computed from.',
  ),
  policy: z
    .enum(['wait', 'refuse', 'scale'])
    .default('wait')
    .describe(
      'How the bound is enforced: fast trainers `wait`, stale pushes are `refuse`d and computed again, or their learning rate is `scale`d.',
    ),
};

export const trainingFields = {
  mode: z
    .enum(['async', 'sync'])
    .default('async')
    .describe(
      'How gradients are applied: `async`, each as it arrives; `sync`, in rounds, with bitwise reproducible results.',
    ),
  passes: countOf(1, LIMITS.passes).default(1).describe('Passes (epochs) over the training data.'),
  batchSize: countOf(1, LIMITS.batchRecords).default(128).describe('Records per mini-batch.'),
  pushEvery: countOf(1, 1_000_000).default(1).describe('Mini-batches whose gradients are summed into one push.'),
  pullEvery: countOf(1, 1_000_000).default(1).describe('Mini-batches computed with one pull of the parameters.'),
  pullAhead: countOf(0, LIMITS.pullAhead)
    .optional()
    .describe(
      'Number of pulls that a trainer sends ahead of the mini-batches that it computes, so that it need not ' +
        'wait for them; only in async mode. Default: 2, or fewer under a staleness bound; 0 with policy `wait`.',
    ),
  lanes: countOf(1, LIMITS.lanes)
    .default(8)
    .describe(
      'Mini-batches per round in sync mode: the number of logical workers, which are distributed over the live trainers.',
    ),
  seed: countOf(0, 2 ** 32 - 1)
    .default(1)
    .describe('Seed of the initial values and of the order of tasks.'),
  onBadGradient: z
    .enum(['fail', 'clip'])
    .default('fail')
    .describe(
      'What happens when a gradient has NaN or infinite values: the job `fail`s, or they count as 0 (`clip`, which ' +
        'needs `maxGradientNorm`).',
    ),
  maxGradientNorm: positive()
    .optional()
    .describe('The largest L2 norm of a gradient; a larger one is scaled down to it.'),
  classWeights: z
    .record(z.string(), positive().max(LIMITS.classWeight))
    .optional()
    .describe('Weights of training records by class number: `{1: 5}`. Other classes have weight 1.'),
  staleness: z.strictObject(stalenessFields).optional().describe('Limit of the staleness of gradients.'),
  schedule: scheduleSchema
    .optional()
    .describe('How the learning rate changes during training. Default: it is constant.'),
};

export const clusterCounts = {
  pservers: countOf(1, LIMITS.pservers).default(1).describe('Parameter servers.'),
  minPservers: countOf(1, LIMITS.pservers)
    .default(1)
    .describe('Fewest pservers that the job may be resized or restored to.'),
  maxPservers: countOf(1, LIMITS.pservers)
    .optional()
    .describe(
      'Most pservers that the job may be resized or restored to. Default: a quarter of `units`, or `pservers` if that is more.',
    ),
  trainers: countOf(1, LIMITS.trainers)
    .default(1)
    .describe('Trainers that `paddlet run` starts; `paddlet resize` changes that.'),
  minTrainers: countOf(1, LIMITS.trainers).default(1).describe('Trainers that must be live before training starts.'),
  maxTrainers: countOf(1, LIMITS.trainers)
    .default(LIMITS.trainers)
    .describe('Maximum number of trainers that work at the same time; others stand by.'),
  shards: countOf(1, LIMITS.shards)
    .default(512)
    .describe('Parts that the parameters are partitioned into; fixed for the life of the job.'),
  units: countOf(1, LIMITS.units)
    .optional()
    .describe('Groups of shards that live and move together. Default: 64, or 4 times `maxPservers` if that is more.'),
  replicas: countOf(1, LIMITS.replicas)
    .default(1)
    .describe('Copies of each unit, on different pservers. With 2 or more, a pserver that dies costs no update.'),
  minInSync: countOf(1, LIMITS.replicas)
    .default(1)
    .describe('Copies that must have an update before it is acknowledged; with fewer live copies, updates wait.'),
};
export const leaseTtl = duration(1000, HOUR_MS)
  .default('5s')
  .describe('Time after which the lease of a dead process expires; 1s to 1h.');

export const taskCounts = {
  maxFailures: countOf(0, 1_000_000)
    .default(3)
    .describe('Maximum number of failures of a task in a pass; after one more the task is discarded.'),
  maxDiscarded: countOf(0, LIMITS.tasks)
    .default(0)
    .describe('Maximum number of discarded tasks; after one more the job fails.'),
};
export const taskTimeout = z
  .union([z.literal('auto'), duration(100, 24 * HOUR_MS)])
  .default('auto')
  .describe('How long one attempt at a task may take; `auto` adapts to the measured duration of tasks.');
export const timeoutFloor = duration(100, 24 * HOUR_MS)
  .default('30s')
  .describe('Lower bound of the `auto` timeout.');

export const checkpointFields = {
  dir: folder.optional().describe('Folder of the checkpoints, shared by the machines of a cluster.'),
  keep: countOf(0, 1000).default(1).describe('Older checkpoints that each pserver keeps besides the newest.'),
  everyPasses: countOf(1, 1_000_000).optional().describe('Also save after this number of passes.'),
  everyBatches: countOf(1, 2 ** 40)
    .optional()
    .describe('Also save after this number of mini-batches.'),
  maxBytesPerSecond: countOf(1024, 2 ** 40)
    .optional()
    .describe('Limit of the write rate while saving, in bytes per second; the last save of a process is not limited.'),
};
export const checkpointInterval = z
  .union([z.literal('off'), duration(100, 24 * HOUR_MS)])
  .default('10m')
  .describe('Time between two checkpoints of a pserver; `off` disables saving by time.');

const commands = () => z.array(z.string().min(1).max(LIMITS.hookCharacters)).max(LIMITS.hookCommands).default([]);

export const hookFields = {
  before: commands().describe('Shell commands that the master runs before the first pass, one after another.'),
  after: commands().describe('Shell commands that the master runs after the last pass and after the final evaluation.'),
};

export const warmStartFields = {
  from: folder.describe('Checkpoint folder of the job to start from. A relative path starts from the data folder.'),
  vars: z
    .array(z.string().min(1).max(LIMITS.parameterNameBytes))
    .min(1)
    .max(LIMITS.parameters)
    .default(['*'])
    .describe('Parameters and tables to load: names, with the wildcards `*` and `?`.'),
  optimizerState: z
    .boolean()
    .default(true)
    .describe('Load the optimizer state too; needs an optimizer of the same type.'),
  missing: z
    .enum(['fail', 'initialize', 'zero'])
    .default('fail')
    .describe('What to do with selected parameters and tables that are missing from the checkpoint.'),
};
