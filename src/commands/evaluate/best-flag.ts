import { Flags } from '@oclif/core';

/** Of commands that score with the model of a job. */
export const bestFlag = Flags.boolean({
  description: 'With the best model of a job that is evaluated while it trains, in place of its newest.',
});
