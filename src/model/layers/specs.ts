/** Layers as a model lists them, and how each is made. A new layer is a file beside this one and two lines here. */
import { PaddletError } from '../../base/errors.ts';
import { type ActivationType, createActivation } from './activations.ts';
import { categoriesOf, type ModelColumn, numbersOf } from './columns.ts';
import { createAdd, createConcat } from './combine.ts';
import { createDense } from './dense.ts';
import { createDropout, type DropoutOptions } from './dropout.ts';
import { createEmbedding, createNumbers } from './inputs.ts';
import type { Layer } from './layer.ts';
import { type BatchNormOptions, createBatchNorm, createLayerNorm, type LayerNormOptions } from './normalization.ts';
import { createPairs } from './pairs.ts';

interface Columns {
  /** Names of columns; by default all of the kind that the layer reads. Only of data with columns. */
  readonly columns?: readonly string[] | undefined;
}

export type LayerKind =
  /** The numbers of each record. */
  | ({ readonly type: 'numbers' } & Columns)
  /** Vectors of the features of each column, side by side. They start normal with mean 0 and this deviation. */
  | ({
      readonly type: 'embedding';
      readonly width: number;
      readonly pooling?: 'sum' | 'mean' | undefined;
      readonly initStddev?: number | undefined;
    } & Columns)
  /** A weighted sum of all features: the linear part of a model. */
  | ({ readonly type: 'linear' } & Columns)
  /** Without `units`: as many as the model has outputs. */
  | { readonly type: 'dense'; readonly units?: number | undefined; readonly bias?: boolean | undefined }
  | { readonly type: ActivationType }
  | ({ readonly type: 'layerNorm' } & LayerNormOptions)
  | ({ readonly type: 'batchNorm' } & BatchNormOptions)
  | ({ readonly type: 'dropout' } & DropoutOptions)
  | { readonly type: 'concat' }
  | { readonly type: 'add' }
  /** All pairs of the vectors of an embedding, as in a factorization machine. */
  | { readonly type: 'fm' };

export type LayerSpec = LayerKind & {
  /** By default its type and the number of the layer among those of the type: `dense2`. */
  readonly name?: string | undefined;
  /** Names of the layers that it reads; by default the one before it. */
  readonly from?: string | readonly string[] | undefined;
};

/** What layers are made from besides their settings. */
export interface LayerFacts {
  /** Numbers of a record, where the data has no columns. */
  readonly inputWidth: number;
  /** Undefined if the data has no columns. */
  readonly columns?: readonly ModelColumn[] | undefined;
  /** Number of outputs of the model: 1, or one for each class. */
  readonly outputs: number;
  /** Before the data is known: what it decides of widths may be otherwise. */
  readonly isOutline?: boolean | undefined;
  /** Seed of the job. */
  readonly seed: number;
}

/** How many layers a layer reads. */
export function inputsOf(type: LayerKind['type']): 'none' | 'one' | 'several' {
  if (type === 'numbers' || type === 'embedding' || type === 'linear') return 'none';
  return type === 'concat' || type === 'add' ? 'several' : 'one';
}

/** `inputs`: as many as `inputsOf` says. Throws `JobInvalid`. */
export function createLayer(name: string, spec: LayerSpec, inputs: readonly Layer[], facts: LayerFacts): Layer {
  const input = inputs[0]!;
  switch (spec.type) {
    case 'numbers':
      return createNumbers(name, numbersOf(name, spec.columns, facts.columns), facts);
    case 'embedding': {
      const { width, pooling, initStddev = 0.01 } = spec;
      const columns = categoriesOf(name, spec.columns, facts.columns);
      const initializer = { type: 'normal', mean: 0, stddev: initStddev } as const;
      return createEmbedding(name, { vectorWidth: width, columns, pooling, initializer });
    }
    case 'linear':
      return createEmbedding(name, {
        vectorWidth: 1,
        columns: categoriesOf(name, spec.columns, facts.columns),
        isOne: true,
        initializer: { type: 'zeros' },
      });
    case 'dense':
      return createDense(name, { units: spec.units ?? facts.outputs, bias: spec.bias }, input);
    case 'relu':
    case 'sigmoid':
    case 'tanh':
      return createActivation(name, spec.type, input);
    case 'layerNorm':
      return createLayerNorm(name, spec, input);
    case 'batchNorm':
      return createBatchNorm(name, spec, input);
    case 'dropout':
      return createDropout(name, spec, input, facts);
    case 'concat':
      return createConcat(name, inputs);
    case 'add':
      return createAdd(name, inputs);
    case 'fm':
      if (input.vectorWidth === undefined || input.width < 2 * input.vectorWidth) {
        const has = input.vectorWidth === undefined ? 'none' : 'one';
        throw new PaddletError(
          'JobInvalid',
          `expected two or more vectors for the layer ${name}, but ${input.name} has ${has}`,
          {
            hint: 'list two or more columns in the embedding; for data without columns use model.type fm',
          },
        );
      }
      return createPairs(name, input);
  }
}
