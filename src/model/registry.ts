/** The built-in models by name. */
import { createFieldAwareMachine, type FfmOptions } from './ffm.ts';
import { createFactorizationMachine, type FmOptions } from './fm.ts';
import { createLinear, type LrOptions } from './lr.ts';
import { createMlp, type MlpOptions } from './mlp.ts';
import type { Model } from './model.ts';
import { createSoftmax } from './softmax.ts';

export const MODEL_TYPES = ['lr', 'softmax', 'fm', 'ffm', 'mlp'] as const;
export type ModelType = (typeof MODEL_TYPES)[number];

/** Options as the job file names them; their defaults are those of the models. */
export type ModelSpec =
  | ({ readonly type: 'lr' } & Partial<LrOptions>)
  | { readonly type: 'softmax' }
  | ({ readonly type: 'fm' } & Partial<FmOptions>)
  | ({ readonly type: 'ffm' } & Partial<FfmOptions>)
  | ({ readonly type: 'mlp' } & Partial<MlpOptions>);

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

export function outlineOf(spec: ModelSpec): ModelOutline {
  const { input, readsFields = false, task, parameters } = createModel(spec, ANY_FACTS);
  return {
    input,
    readsFields,
    task,
    tables: parameters.sparse.map(({ name }) => name),
    blocks: parameters.dense.flatMap(({ name, statisticRate }) => (statisticRate === undefined ? [name] : [])),
  };
}

/** Throws `DataInvalid` when the data does not suit the model. */
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
  }
}
