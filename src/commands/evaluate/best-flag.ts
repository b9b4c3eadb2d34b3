import { Flags } from '@oclif/core';
import { PaddletError } from '../../base/errors.ts';

/** For commands that score with the model of a job. */
export const bestFlag = Flags.boolean({
  description:
    "Use the job's best model instead of the newest model. Only for jobs that are evaluated while they train (evaluation in the job file).",
});

export const bestOfNoJob = (path: string): PaddletError =>
  new PaddletError('Usage', `--best selects the best model that a job keeps, but ${path} is a checkpoint`, {
    hint: 'give the job instead of the checkpoint, or omit --best',
  });
