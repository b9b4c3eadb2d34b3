/** The built-in models by name. */

import { checkParameterSpec } from '../tensor/check-options.ts';
import { createDeepFm, type DeepFmOptions } from './deepfm.ts';
import { createFieldAwareMachine, type FfmOptions } from './ffm.ts';
import { createFactorizationMachine, type FmOptions } from './fm.ts';
import type { ModelColumn } from './layers/columns.ts';
import { createNetworkModel } from './layers/network-model.ts';
import type { LayerSpec } from './layers/specs.ts';
import { createLinear, type LrOptions } from './lr.ts';
import { createMlp, type MlpOptions } from './mlp.ts';
import type { Model } from './model.ts';
import { createSoftmax } from './softmax.ts';
import { createWideDeep, type WideDeepOptions } from './wide-deep.ts';

export const MODEL_TYPES = ['lr', 'softmax', 'fm', 'ffm', 'mlp', 'wide_deep', 'deepfm', 'layers'] as const;
export type ModelType = (typeof MODEL_TYPES)[number];
/** Those that a name and the data make; the others want a list of layers. */
export const NAMED_MODELS = MODEL_TYPES.filter((type) => type !== 'layers');
export type NamedModel = (typeof NAMED_MODELS)[number];

/** Whether a list of layers computes the model: then computing takes far longer than exchanging the parameters. */
export const hasLayers = ({ type }: { readonly type: ModelType }): boolean =>
  type === 'mlp' || type === 'wide_deep' || type === 'deepfm' || type === 'layers';

/** Options as the job file names them; their defaults are those of the models. */
export type ModelSpec =
  | ({ readonly type: 'lr' } & Partial<LrOptions>)
  | { readonly type: 'softmax' }
  | ({ readonly type: 'fm' } & Partial<FmOptions>)
  | ({ readonly type: 'ffm' } & Partial<FfmOptions>)
  | ({ readonly type: 'mlp' } & Partial<MlpOptions>)
  | ({ readonly type: 'wide_deep' } & Partial<WideDeepOptions>)
  | ({ readonly type: 'deepfm' } & Partial<DeepFmOptions>)
  | LayersSpec;

/** What a built-in model says in its file: the layers, from the data to the outputs. */
interface LayersSpec {
  readonly type: 'layers';
  readonly task?: Model['task'];
  readonly layers: readonly LayerSpec[];
}

/** What the job's data and its seed say. */
export interface ModelFacts {
  /** `featureBound` of the index that the job trains on; used by models with dense inputs. */
  readonly inputWidth: number;
  /** `labelBound` of the index; used by models of classes. */
  readonly classes: number;
  /** `fieldBound` of the index; used by models that read fields. */
  readonly fields: number;
  /** `training.seed`; used by models that draw at random. */
  readonly seed: number;
  /** That models may read; undefined where the data has none. */
  readonly columns?: readonly ModelColumn[] | undefined;
  /** The data is not known: nothing but names and kinds follows from these facts. */
  readonly isOutline?: boolean;
}

/** Facts that every model accepts: what a model is called, takes and declares by name does not depend on the data. */
const ANY_FACTS: ModelFacts = { inputWidth: 1, classes: 2, fields: 1, seed: 1 };

/** What a model is before any data is known. */
export interface ModelOutline {
  readonly input: Model['input'];
  readonly readsFields: boolean;
  readonly task: Model['task'];
  /** Names of its sparse tables, and of its dense parameters but for statistics, whose optimizer is given. */
  readonly tables: readonly string[];
  readonly blocks: readonly string[];
}

/** What the model predicts. */
export function taskOf(spec: ModelSpec): Model['task'] {
  if (spec.type === 'softmax') return 'multiclass';
  return spec.task ?? (spec.type === 'mlp' ? 'multiclass' : 'binary');
}

/** `columns`: of the data, if it has any. Throws `JobInvalid` when layers do not fit together, or to the columns. */
export function outlineOf(spec: ModelSpec, columns?: readonly ModelColumn[]): ModelOutline {
  const model = createModel(spec, { ...ANY_FACTS, columns, isOutline: true });
  const { input, readsFields = false, task, parameters } = model;
  checkParameterSpec(parameters);
  return {
    input,
    readsFields,
    task,
    tables: parameters.sparse.map(({ name }) => name),
    blocks: parameters.dense.flatMap(({ name, statisticRate }) => (statisticRate === undefined ? [name] : [])),
  };
}

/** Throws `DataInvalid` when the data does not suit the model, `JobInvalid` when its layers do not fit together. */
export function createModel(spec: ModelSpec, facts: ModelFacts): Model {
  switch (spec.type) {
    case 'lr':
      return createLinear(spec);
    case 'softmax':
      return createSoftmax(facts);
    case 'fm':
      return createFactorizationMachine(spec);
    case 'ffm':
      return createFieldAwareMachine(facts, spec);
    case 'mlp':
      return createMlp(facts, spec);
    case 'wide_deep':
      return createWideDeep(facts, spec);
    case 'deepfm':
      return createDeepFm(facts, spec);
    case 'layers': {
      const { type, layers } = spec;
      return createNetworkModel({ type, task: taskOf(spec), layers }, facts);
    }
  }
}
