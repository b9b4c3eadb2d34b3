/** The fields of the section `evaluation` of a job file. */
import * as z from 'zod';
import { LIMITS } from '../base/limits.ts';
import { EVALUATION_METRICS } from '../model/metrics.ts';
import { countOf, notNegative, paths } from './field-types.ts';

export const evaluationFields = {
  everyPasses: countOf(1, LIMITS.passes)
    .optional()
    .describe('Evaluates after this number of passes, and after the last. Default: 1, unless `everyRounds` is given.'),
  everyRounds: countOf(1, 2 ** 40)
    .optional()
    .describe('Sync mode, in place of `everyPasses`: evaluates after this number of rounds.'),
  data: paths.optional().describe('Held-out files. Default: the test files, or the test records of `data.split`.'),
  labels: paths.optional().describe('Label files of `data`, in the same order; only for idx. Default: found by name.'),
  metric: z
    .enum(EVALUATION_METRICS)
    .optional()
    .describe('By which models are compared. Default: `logloss`, of regression `rmse`.'),
  patience: countOf(1, 1_000_000)
    .optional()
    .describe('Early stopping: so many evaluations in a row that are no better than the best end the job.'),
  minDelta: notNegative().default(0).describe('By how much the metric of a better model must differ.'),
};
