/** Layers of a model in the job file, and what the models that are made of layers share. */
import * as z from 'zod';
import { LIMITS } from '../base/limits.ts';
import { ACTIVATIONS } from '../model/layers/activations.ts';
import type { LayerSpec } from '../model/layers/specs.ts';

const countOf = (min: number, max: number) => z.int().min(min).max(max);
const share = () => z.number().min(0).lt(1);

/** Parameters are called after their layer, as in `hidden1.W`. */
const layerName = z
  .string()
  .max(LIMITS.layerNameCharacters)
  .regex(/^[A-Za-z][\w.-]*$/, 'expected a letter, then letters, digits, ., _ and -');
const columnNames = z.array(z.string().min(1).max(LIMITS.columnNameCharacters)).min(1).max(LIMITS.columns);

const pooling = z.enum(['sum', 'mean']).describe('How the vectors of a column with several values are put together.');
const initStddev = z.number().min(0).describe('Standard deviation of the initial vectors.');
const dropoutRate = share().describe('Share of its inputs that a training step leaves out.');

export const tower = {
  hidden: z
    .array(countOf(1, LIMITS.layerUnits))
    .max(LIMITS.hiddenLayers)
    .default([128])
    .describe('Units of each hidden layer, from the inputs on.'),
  activation: z.enum(ACTIVATIONS).default('relu').describe('Function between the layers.'),
  normalization: z
    .enum(['none', 'layer', 'batch'])
    .default('none')
    .describe(
      'Normalization before each activation: of each record (`layer`), or of each unit over the mini-batch (`batch`).',
    ),
  dropout: share().default(0).describe("Share of each hidden layer's outputs that a training step leaves out."),
};

export const vectors = { pooling: pooling.default('mean'), initStddev: initStddev.default(0.01) };

export const fedColumns = z
  .strictObject({
    wide: columnNames.optional().describe('Those with a weight for each value. Default: categories and crosses.'),
    deep: columnNames.optional().describe('Those of the tower: categories by vectors, numbers. Default: all of these.'),
  })
  .default({})
  .describe('Which columns feed what.');

const common = {
  name: layerName.optional().describe('Default: its type and its number among those of the type, as `dense2`.'),
};
const from = z
  .union([layerName, z.array(layerName).min(1).max(LIMITS.layers)])
  .optional()
  .describe('Names of the layers that it reads. Default: the one before it.');
const reading = { ...common, from };
const columns = columnNames.optional().describe('Columns that it reads. Default: all categories and crosses.');
const epsilon = z.number().gt(0).optional().describe('Added to the variance. Default: 0.00001.');

const layer = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('numbers').describe('The numbers of each record.'),
    columns: columnNames.optional().describe('Columns that it reads. Default: all numbers.'),
    ...common,
  }),
  z.strictObject({
    type: z.literal('embedding').describe('Vectors of the features of each column, side by side: a table.'),
    width: countOf(1, 1024).describe('Floats of a vector.'),
    columns,
    pooling: pooling.optional(),
    initStddev: initStddev.optional(),
    ...common,
  }),
  z.strictObject({ type: z.literal('linear').describe('A weighted sum of features: a table.'), columns, ...common }),
  z.strictObject({
    type: z.literal('dense').describe('x W + b.'),
    units: countOf(1, LIMITS.layerUnits).optional().describe('Default: the outputs of the model.'),
    bias: z.boolean().optional().describe('Whether there is a b. Default: true.'),
    ...reading,
  }),
  ...ACTIVATIONS.map((type) => z.strictObject({ type: z.literal(type).describe('This function.'), ...reading })),
  z.strictObject({ type: z.literal('layerNorm').describe('Normalization of each record.'), epsilon, ...reading }),
  z.strictObject({
    type: z.literal('batchNorm').describe('Normalization of each unit over the mini-batch.'),
    epsilon,
    rate: z.number().gt(0).lt(1).optional().describe('Share of the way that running statistics go. Default: 0.1.'),
    ...reading,
  }),
  z.strictObject({ type: z.literal('dropout').describe('Leaves floats out.'), rate: dropoutRate, ...reading }),
  z.strictObject({ type: z.literal('concat').describe('Several layers side by side.'), ...reading }),
  z.strictObject({ type: z.literal('add').describe('The sum of several layers.'), ...reading }),
  z.strictObject({ type: z.literal('fm').describe('Products of all pairs of vectors.'), ...reading }),
]);

export const layersSchema = z.array(layer).min(1).max(LIMITS.layers).describe('From the data to the outputs.');

/** Breaks the build when the layers of the job file and of the models differ. */
const _layersAgree: (layers: z.output<typeof layersSchema>) => readonly LayerSpec[] = (layers) => layers;
void _layersAgree;
