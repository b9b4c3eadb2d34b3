import { Flags } from '@oclif/core';
import { PaddletError } from '../../base/errors.ts';

/** Of commands that score with the model of a job. */
export const bestFlag = Flags.boolean({
  description: 'Use the best model of a job that is evaluated while it trains, instead of the newest model.',
});

export const bestOfNoJob = (path: string): PaddletError =>
  new PaddletError('Usage', `--best selects the best model that a job keeps, but ${path} is a checkpoint`, {
    hint: 'give the job instead of the checkpoint, or omit --best',
  });
