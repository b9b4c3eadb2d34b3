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

const pooling = z
  .enum(['sum', 'mean'])
  .describe('Whether to add or average the vectors if a column has several values.');
const initStddev = z.number().min(0).describe("Standard deviation of the vectors' initial values.");
const dropoutRate = share().describe('Dropout rate: fraction of the inputs that a training step sets to 0.');

export const tower = {
  hidden: z
    .array(countOf(1, LIMITS.layerUnits))
    .max(LIMITS.hiddenLayers)
    .default([128])
    .describe('Units of each hidden layer, from the inputs to the outputs.'),
  activation: z.enum(ACTIVATIONS).default('relu').describe('Activation function of the hidden layers.'),
  normalization: z
    .enum(['none', 'layer', 'batch'])
    .default('none')
    .describe(
      'Normalization before each activation: of each record (`layer`), or of each unit over the mini-batch (`batch`).',
    ),
  dropout: share()
    .default(0)
    .describe("Dropout rate: fraction of each hidden layer's outputs that a training step sets to 0."),
};

export const vectors = { pooling: pooling.default('mean'), initStddev: initStddev.default(0.01) };

export const fedColumns = z
  .strictObject({
    wide: columnNames.optional().describe('Columns that get one weight per value. Default: categories and crosses.'),
    deep: columnNames
      .optional()
      .describe(
        'Columns that feed the tower: categories by their vectors, and numbers. Default: all categories and numbers.',
      ),
  })
  .default({})
  .describe('Which columns feed which part of the model.');

const common = {
  name: layerName
    .optional()
    .describe('Name of the layer. Default: its type and its number among the layers of that type, as in `dense2`.'),
};
const from = z
  .union([layerName, z.array(layerName).min(1).max(LIMITS.layers)])
  .optional()
  .describe('Names of the layers to read. Default: the layer before this one.');
const reading = { ...common, from };
const columns = columnNames.optional().describe('Columns to read. Default: all categories and crosses.');
const epsilon = z
  .number()
  .gt(0)
  .optional()
  .describe('Added to the variance, to prevent division by zero. Default: 0.00001.');

const layer = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('numbers').describe('The numbers of each record.'),
    columns: columnNames.optional().describe('Columns to read. Default: all numbers.'),
    ...common,
  }),
  z.strictObject({
    type: z
      .literal('embedding')
      .describe('Embedding: concatenates the vectors of the features of each column. Has a sparse table.'),
    width: countOf(1, 1024).describe('Width of a vector, in floats.'),
    columns,
    pooling: pooling.optional(),
    initStddev: initStddev.optional(),
    ...common,
  }),
  z.strictObject({
    type: z.literal('linear').describe('Weighted sum of features. Has a sparse table.'),
    columns,
    ...common,
  }),
  z.strictObject({
    type: z.literal('dense').describe('Dense layer: x W + b.'),
    units: countOf(1, LIMITS.layerUnits)
      .optional()
      .describe('Number of outputs. Default: the number of outputs of the model.'),
    bias: z.boolean().optional().describe('Whether the layer has a bias b. Default: true.'),
    ...reading,
  }),
  ...ACTIVATIONS.map((type) => z.strictObject({ type: z.literal(type).describe('Activation function.'), ...reading })),
  z.strictObject({
    type: z.literal('layerNorm').describe('Layer normalization: normalizes each record.'),
    epsilon,
    ...reading,
  }),
  z.strictObject({
    type: z.literal('batchNorm').describe('Batch normalization: normalizes each unit over the mini-batch.'),
    epsilon,
    rate: z.number().gt(0).lt(1).optional().describe('Weight of a mini-batch in the running statistics. Default: 0.1.'),
    ...reading,
  }),
  z.strictObject({ type: z.literal('dropout').describe('Dropout.'), rate: dropoutRate, ...reading }),
  z.strictObject({ type: z.literal('concat').describe('Concatenates the outputs of several layers.'), ...reading }),
  z.strictObject({ type: z.literal('add').describe('Adds the outputs of several layers.'), ...reading }),
  z.strictObject({
    type: z.literal('fm').describe('Factorization machine: sums the dot products of all pairs of vectors.'),
    ...reading,
  }),
]);

export const layersSchema = z
  .array(layer)
  .min(1)
  .max(LIMITS.layers)
  .describe('Layers with their settings, from the inputs to the outputs.');

/** Breaks the build when the layers of the job file and of the models differ. */
const _layersAgree: (layers: z.output<typeof layersSchema>) => readonly LayerSpec[] = (layers) => layers;
void _layersAgree;
