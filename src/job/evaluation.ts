/** The fields of the section `evaluation` of a job file. */
import * as z from 'zod';
import { LIMITS } from '../base/limits.ts';
import { EVALUATION_METRICS } from '../model/metrics.ts';
import { countOf, notNegative, paths } from './field-types.ts';

export const evaluationFields = {
  everyPasses: countOf(1, LIMITS.passes)
    .optional()
    .describe(
      'Passes between two evaluations. paddlet also evaluates after the last pass. Default: 1, unless `everyRounds` is set.',
    ),
  everyRounds: countOf(1, 2 ** 40)
    .optional()
    .describe('Sync mode: rounds between two evaluations. Cannot be combined with `everyPasses`.'),
  data: paths.optional().describe('Held-out files. Default: the test files, or the test records of `data.split`.'),
  labels: paths
    .optional()
    .describe('idx only: the label file of each held-out file, in the same order. Default: found by name.'),
  metric: z
    .enum(EVALUATION_METRICS)
    .optional()
    .describe('Metric that ranks models. Default: `logloss`; for regression `rmse`.'),
  patience: countOf(1, 1_000_000)
    .optional()
    .describe(
      'Early stopping: the job stops after this many evaluations in a row without improvement. Default: no early stopping.',
    ),
  minDelta: notNegative()
    .default(0)
    .describe('Minimum improvement: a better model must improve the metric by more than this value.'),
};
