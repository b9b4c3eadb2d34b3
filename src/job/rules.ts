/** Rules between the fields of a job, for a file whose fields are valid one by one. */

import { isPaddletError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { modelColumnsOf } from '../data/columns/inputs.ts';
import type { Format } from '../data/formats/format.ts';
import { eitherOf, formatOf, formatsWhere } from '../data/formats/registry.ts';
import { type ModelOutline, outlineOf } from '../model/registry.ts';
import { hasLearningRate } from '../tensor/optimizer.ts';
import { classWeightRules } from './class-weight-rules.ts';
import { brokenColumnRules } from './column-rules.ts';
import { resolveColumns } from './columns.ts';
import { durationMs } from './duration.ts';
import { evaluationRules } from './evaluation-rules.ts';
import { mostAhead } from './pull-ahead.ts';
import type { JobFile } from './schema.ts';
import { selectionRules } from './selection-rules.ts';

export interface RuleBroken {
  /** The field to point at. */
  readonly path: readonly string[];
  /** Point at the name of the field rather than at its value. */
  readonly atKey?: boolean;
  readonly message: string;
}

export function brokenRules(file: JobFile): RuleBroken[] {
  const outline = outlineIn(file);
  return [
    ...clusterRules(file),
    ...replicaRules(file),
    ...labelRules(file),
    ...('message' in outline ? [outline] : rulesOfModel(file, outline)),
    ...selectionRules(file),
    ...gradientRules(file),
    ...classWeightRules(file),
    ...syncRules(file),
    ...evaluationRules(file),
  ];
}

const rulesOfModel = (file: JobFile, outline: ModelOutline): RuleBroken[] => [
  ...modelRules(file, outline),
  ...columnRules(file, outline),
  ...parameterRules(file, outline),
  ...deltaRules(file, outline),
  ...emptyRules(file),
  ...evictionRules(file),
  ...stalenessRules(file, outline),
  ...scheduleRules(file, outline),
];

/** What the model is, of the columns of the job, or why its layers do not fit. */
function outlineIn({ data, model }: JobFile): ModelOutline | RuleBroken {
  // Where they are does not matter here.
  const columns = data.columns && modelColumnsOf(resolveColumns(data.columns, { header: true }));
  try {
    return outlineOf(model, columns);
  } catch (error) {
    if (!isPaddletError(error, 'JobInvalid')) throw error;
    const isNamed = 'columns' in model && Object.keys(model.columns).length > 0;
    const path = ['model', model.type === 'layers' ? 'layers' : isNamed ? 'columns' : 'type'];
    return { path, message: error.hint === undefined ? error.message : `${error.message}; ${error.hint}` };
  }
}

function clusterRules({ cluster }: JobFile): RuleBroken[] {
  const { shards, pservers, trainers, minTrainers, maxTrainers, minPservers } = cluster;
  const maxPservers = cluster.maxPservers ?? pservers;
  const broken: RuleBroken[] = [];
  const refuse = (field: string, message: string): void => void broken.push({ path: ['cluster', field], message });
  if (shards < pservers) {
    refuse('pservers', `expected at least as many shards as pservers (${pservers}), got ${shards}`);
  }
  if (pservers < minPservers) refuse('pservers', `expected at least minPservers (${minPservers})`);
  else if (pservers > maxPservers) refuse('pservers', `expected at most maxPservers (${maxPservers})`);
  if (shards >= pservers) broken.push(...unitRules(cluster, maxPservers));
  if (minTrainers > maxTrainers) refuse('minTrainers', `expected at most maxTrainers (${maxTrainers})`);
  else if (trainers < minTrainers) refuse('trainers', `expected at least minTrainers (${minTrainers})`);
  else if (trainers > maxTrainers) refuse('trainers', `expected at most maxTrainers (${maxTrainers})`);
  return broken;
}

/** Each pserver can have a unit, and each unit has a shard. */
function unitRules({ units, shards }: JobFile['cluster'], maxPservers: number): RuleBroken[] {
  if (units !== undefined && units > shards) {
    return [{ path: ['cluster', 'units'], message: `expected at most ${shards} (cluster.shards)` }];
  }
  if (maxPservers <= (units ?? shards)) return [];
  const most = units === undefined ? `${shards} (cluster.shards)` : `${units} (cluster.units)`;
  return [{ path: ['cluster', 'maxPservers'], message: `expected at most ${most}` }];
}

function replicaRules({ cluster }: JobFile): RuleBroken[] {
  const { replicas, minInSync, minPservers, maxPservers = replicas } = cluster;
  const broken: RuleBroken[] = [];
  const refuse = (field: string, message: string): void => void broken.push({ path: ['cluster', field], message });
  if (replicas > maxPservers) refuse('replicas', `expected at most maxPservers (${maxPservers})`);
  if (minInSync > replicas) refuse('minInSync', `expected at most replicas (${replicas})`);
  else if (minInSync > minPservers) refuse('minInSync', `expected at most minPservers (${minPservers})`);
  return broken;
}

const countOf = (paths: string | string[] | undefined): number =>
  paths === undefined ? 0 : typeof paths === 'string' ? 1 : paths.length;

function labelRules({ data }: JobFile): RuleBroken[] {
  const broken: RuleBroken[] = [];
  if (data.labelWeights && formatOf(data.format).hasLabelFiles) {
    const message = `not supported for format ${data.format}, which has separate label files`;
    broken.push({ path: ['data', 'labelWeights'], message });
  }
  for (const [files, labels] of [
    ['train', 'trainLabels'],
    ['test', 'testLabels'],
  ] as const) {
    const fileCount = countOf(data[files]);
    const labelCount = countOf(data[labels]);
    if (!formatOf(data.format).hasLabelFiles) {
      const others = formatsWhere(({ hasLabelFiles }) => hasLabelFiles).join(', ');
      const message = `only for format ${others}: ${data.format} records contain their labels`;
      if (labelCount > 0) broken.push({ path: ['data', labels], message });
    } else if (labelCount > 0 && fileCount !== labelCount) {
      const message = `expected as many as ${files} (${fileCount}), got ${labelCount}; if you omit ${labels}, paddlet finds them by name`;
      broken.push({ path: ['data', labels], message });
    }
  }
  return broken;
}

/** Several pushes from one pull make each other stale, and so do pushes that are made before a pull is used. */
function stalenessRules(file: JobFile, outline: ModelOutline): RuleBroken[] {
  const { staleness, pushEvery, pullEvery, pullAhead = 0 } = file.training;
  if (staleness === undefined) return [];
  const broken: RuleBroken[] = [];
  const refuse = (field: string, message: string): void =>
    void broken.push({ path: ['training', 'staleness', field], message });
  const own = Math.ceil(pullEvery / pushEvery) - 1;
  if (staleness.bound < own) {
    refuse('bound', `expected at least ${own}: a trainer makes ${own + 1} pushes from one pull (pullEvery, pushEvery)`);
  }
  const most = mostAhead(file);
  if (pullAhead > most) {
    refuse(
      'bound',
      `training.pullAhead is ${pullAhead}, but this bound allows at most ${most}: raise the bound, or lower training.pullAhead`,
    );
  }
  if (staleness.policy === 'wait' && pullEvery % pushEvery !== 0 && pushEvery % pullEvery !== 0) {
    refuse('policy', 'with wait, expected pushEvery to be a multiple of pullEvery, or the reverse');
  }
  if (staleness.policy === 'scale' && !optimizersOf(file, outline).every(hasLearningRate)) {
    refuse('policy', 'ftrl has no learning rate to scale: expected wait or refuse');
  }
  return broken;
}

function scheduleRules(file: JobFile, outline: ModelOutline): RuleBroken[] {
  if (file.training.schedule === undefined || optimizersOf(file, outline).every(hasLearningRate)) return [];
  const message = 'ftrl has no learning rate to scale: its steps shrink by themselves. Expected no schedule';
  return [{ path: ['training', 'schedule'], atKey: true, message }];
}

function gradientRules({ training: { onBadGradient, maxGradientNorm } }: JobFile): RuleBroken[] {
  if (onBadGradient !== 'clip' || maxGradientNorm !== undefined) return [];
  const message = 'clip needs training.maxGradientNorm: the L2 norm that gradients are clipped to';
  return [{ path: ['training', 'onBadGradient'], message }];
}

/** In a round every lane computes one mini-batch from the newest version. */
function syncRules({ training, tasks }: JobFile): RuleBroken[] {
  if (training.mode !== 'sync') return [];
  const broken: RuleBroken[] = [];
  if (training.pullAhead !== undefined && training.pullAhead > 0) {
    broken.push({
      path: ['training', 'pullAhead'],
      message: 'expected 0: in sync mode a round starts only when the previous round ends',
    });
  }
  for (const field of ['pushEvery', 'pullEvery'] as const) {
    if (training[field] === 1) continue;
    broken.push({ path: ['training', field], message: 'sync mode pulls and pushes every mini-batch: expected 1' });
  }
  if (training.staleness !== undefined) {
    broken.push({
      path: ['training', 'staleness'],
      message: 'only for async mode: in sync mode gradients are never stale',
    });
  }
  if (tasks.maxDiscarded > 0) {
    broken.push({ path: ['tasks', 'maxDiscarded'], message: 'expected 0: sync mode does not discard tasks' });
  }
  return broken;
}

function modelRules({ data, model }: JobFile, { input, readsFields }: ModelOutline): RuleBroken[] {
  const suits = (format: Format): boolean =>
    (format.input === input || format.input === 'columns') && (format.hasFields || !readsFields);
  if (suits(formatOf(data.format))) return [];
  const formats = eitherOf(suits);
  const inputs = { sparse: 'sparse records', dense: 'dense inputs', columns: 'columns' };
  const records = readsFields ? 'the fields of features' : inputs[input];
  return [
    {
      path: ['model', 'type'],
      message: `${model.type} needs ${records}: expected data.format ${formats}, not ${data.format}`,
    },
  ];
}

/** Sections of `data` about columns, by the formats that they are for. */
const SECTIONS = {
  columns: ({ input }: Format): boolean => input === 'columns',
  groupBy: ({ input }: Format): boolean => input === 'columns',
  csv: ({ placing }: Format): boolean => placing === 'position',
  // Files of columns have no texts for missing values; the text that they were converted from has.
  missing: ({ input }: Format): boolean => input === 'columns',
};

function columnRules({ data, model }: JobFile, { input: reads, task }: ModelOutline): RuleBroken[] {
  const { columns, groupBy, csv, missing, format } = data;
  const { input, placing } = formatOf(format);
  const broken: RuleBroken[] = (['columns', 'groupBy', 'csv', 'missing'] as const).flatMap((field) => {
    if (data[field] === undefined || SECTIONS[field](formatOf(format))) return [];
    const message = `only for format ${eitherOf(SECTIONS[field])}`;
    return [{ path: ['data', field], atKey: true, message }];
  });
  if (input !== 'columns') return broken;
  if (csv?.missing !== undefined && missing !== undefined) {
    broken.push({ path: ['data', 'missing'], atKey: true, message: 'data.csv.missing already sets this' });
  }
  if (data.labelWeights) {
    const message = `not supported for format ${format}: use a column of type weight`;
    broken.push({ path: ['data', 'labelWeights'], message });
  }
  if (columns === undefined) {
    const message = `${format} needs data.columns: a type for each column to read`;
    return [...broken, { path: ['data', 'format'], message }];
  }
  const written = placing === 'position' ? csv : undefined;
  const file = { columns, groupBy, csv: written, missing, format };
  const rules = brokenColumnRules(file, { model: model.type, input: reads, task });
  return [...broken, ...rules.map(({ path, message }) => ({ path: ['data', ...path], message }))];
}

/** `tables` and `blocks` name parameters of the model. */
function parameterRules(file: JobFile, outline: ModelOutline): RuleBroken[] {
  return (['tables', 'blocks'] as const).flatMap((section) => {
    const known = outline[section];
    const other = section === 'tables' ? 'blocks' : 'tables';
    return Object.keys(file[section]).flatMap((name) => {
      if (known.includes(name)) return [];
      const has = known.length === 0 ? `has no ${section}` : `has ${known.join(', ')}`;
      const meant = outline[other].includes(name) ? `; did you mean ${other}.${name}?` : '';
      return [{ path: [section, name], atKey: true, message: `the model ${file.model.type} ${has}${meant}` }];
    });
  });
}

function emptyRules(file: JobFile): RuleBroken[] {
  return (['tables', 'blocks'] as const).flatMap((section) =>
    Object.entries(file[section]).flatMap(([name, settings]) =>
      Object.keys(settings).length > 0 ? [] : [{ path: [section, name], message: 'expected at least one setting' }],
    ),
  );
}

function deltaRules({ checkpoint: { interval, keep, delta } }: JobFile, { tables }: ModelOutline): RuleBroken[] {
  if (delta === undefined) return [];
  const broken: RuleBroken[] = [];
  if (tables.length === 0)
    broken.push({
      path: ['checkpoint', 'delta'],
      message: 'expected a model with sparse tables: others save all values',
    });
  if (keep > LIMITS.keptWithDeltas) {
    const message = `expected at most ${LIMITS.keptWithDeltas} with checkpoint.delta, got ${keep}`;
    broken.push({ path: ['checkpoint', 'keep'], message });
  }
  if (interval !== 'off' && durationMs(delta.interval) >= durationMs(interval)) {
    const message = `expected less than checkpoint.interval (${interval}), which is the time between bases`;
    broken.push({ path: ['checkpoint', 'delta', 'interval'], message });
  }
  return broken;
}

function evictionRules({ tables }: JobFile): RuleBroken[] {
  const broken: RuleBroken[] = [];
  for (const [name, { eviction }] of Object.entries(tables)) {
    if (eviction === undefined || Object.keys(eviction).length === 1) continue;
    broken.push({ path: ['tables', name, 'eviction'], message: 'expected either unseenPasses or unseenUpdates' });
  }
  return broken;
}

/** The optimizers that are in use, those of all parameters. */
function optimizersOf({ optimizer, tables, blocks }: JobFile, outline: ModelOutline): JobFile['optimizer'][] {
  return [
    ...outline.tables.map((name) => tables[name]?.optimizer ?? optimizer),
    ...outline.blocks.map((name) => blocks[name]?.optimizer ?? optimizer),
  ];
}
