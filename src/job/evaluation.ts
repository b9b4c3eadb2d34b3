/** The fields of the section `evaluation` of a job file. */
import * as z from 'zod';
import { LIMITS } from '../base/limits.ts';
import { EVALUATION_METRICS } from '../model/metrics.ts';
import { countOf, notNegative, paths } from './field-types.ts';

export const evaluationFields = {
  everyPasses: countOf(1, LIMITS.passes)
    .optional()
    .describe(
      'Passes between two evaluations; the last pass is always evaluated. Default: 1, unless `everyRounds` is set.',
    ),
  everyRounds: countOf(1, 2 ** 40)
    .optional()
    .describe('Rounds between two evaluations; only in sync mode, instead of `everyPasses`.'),
  data: paths.optional().describe('Held-out files. Default: the test files, or the test records of `data.split`.'),
  labels: paths.optional().describe('Label files of `data`, in the same order; only for idx. Default: found by name.'),
  metric: z
    .enum(EVALUATION_METRICS)
    .optional()
    .describe('The metric that ranks models. Default: `logloss`; `rmse` for regression.'),
  patience: countOf(1, 1_000_000)
    .optional()
    .describe('Early stopping: the job ends after this number of evaluations in a row without improvement.'),
  minDelta: notNegative().default(0).describe('Minimum change of the metric that counts as an improvement.'),
};
