import { Flags } from '@oclif/core';
import { PaddletError } from '../../base/errors.ts';

/** For commands that score with the model of a job. */
export const bestFlag = Flags.boolean({
  description: 'Use the best model of a job that is evaluated while it trains, instead of the newest model.',
});

export const bestOfNoJob = (path: string): PaddletError =>
  new PaddletError('Usage', `${path} is a checkpoint, and --best means one that a job keeps`, {
    hint: 'name the job, or leave --best out',
  });
