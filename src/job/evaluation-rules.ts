/** Rules between evaluation, after a job and while it trains, and the rest of the job. */

import { formatOf } from '../data/formats/registry.ts';
import type { EvaluationMetric } from '../model/metrics.ts';
import type { Model } from '../model/model.ts';
import { taskOf } from '../model/registry.ts';
import type { JobFile } from './schema.ts';
import { typeOf } from './selection.ts';

interface Broken {
  readonly path: readonly string[];
  readonly atKey?: boolean;
  readonly message: string;
}

const METRICS_OF: Readonly<Record<Model['task'], readonly EvaluationMetric[]>> = {
  binary: ['logloss', 'auc', 'groupedAuc', 'hitRate', 'ndcg', 'accuracy', 'rmse'],
  multiclass: ['logloss', 'accuracy'],
  regression: ['rmse'],
};

const OF_GROUPS: ReadonlySet<EvaluationMetric> = new Set(['groupedAuc', 'hitRate', 'ndcg']);

export const evaluationRules = (file: JobFile): Broken[] => [
  ...rankingRules(file),
  ...(file.evaluation === undefined ? [] : rulesWhileTraining(file, file.evaluation)),
];

function rankingRules({ data, model }: JobFile): Broken[] {
  const task = taskOf(model);
  if (data.topK === undefined || (task === 'binary' && mayHaveGroups(data))) return [];
  const message =
    task === 'binary'
      ? 'this metric ranks records within groups: expected data.groupBy, or a column of type group'
      : `only for binary models: ${model.type} has task ${task}`;
  return [{ path: ['data', 'topK'], atKey: true, message }];
}

const mayHaveGroups = ({ columns, groupBy }: JobFile['data']): boolean =>
  mayBeGrouped(columns && Object.values(columns).map(typeOf), groupBy);

/** `types`: of the columns; of formats without named columns the records say it. */
export const mayBeGrouped = (
  types: readonly (string | undefined)[] | undefined,
  groupBy: string | undefined,
): boolean => types === undefined || groupBy !== undefined || types.includes('group');

function rulesWhileTraining(
  { data, model, training }: JobFile,
  evaluation: NonNullable<JobFile['evaluation']>,
): Broken[] {
  const broken: Broken[] = [];
  const refuse = (field: string, message: string): void => void broken.push({ path: ['evaluation', field], message });
  const { everyPasses, everyRounds, metric, labels } = evaluation;
  if (everyRounds !== undefined && everyPasses !== undefined)
    refuse('everyRounds', 'expected either this or everyPasses');
  if (everyRounds !== undefined && training.mode !== 'sync') {
    refuse('everyRounds', 'expected everyPasses: only sync mode has rounds');
  }
  if (evaluation.data === undefined && data.test === undefined && data.split === undefined) {
    const message = 'expected held-out records: set evaluation.data, data.test or data.split';
    broken.push({ path: ['evaluation'], atKey: true, message });
  }
  if (metric !== undefined && OF_GROUPS.has(metric) && !mayHaveGroups(data)) {
    refuse('metric', `${metric} is a metric by group: expected data.groupBy, or a column of type group`);
  }
  const known = METRICS_OF[taskOf(model)];
  if (metric !== undefined && !known.includes(metric)) refuse('metric', `expected one of ${known.join(', ')}`);
  if (labels !== undefined && evaluation.data === undefined) refuse('labels', 'only with evaluation.data');
  if (labels !== undefined && !formatOf(data.format).hasLabelFiles) {
    refuse('labels', `${data.format} records contain their labels`);
  }
  return broken;
}
