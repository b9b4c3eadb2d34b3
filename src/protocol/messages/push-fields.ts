/** Fields of pushes, from a trainer and from one copy of a unit to the others. */
import { LIMITS } from '../../base/limits.ts';
import { count, flag, listOf, share } from './field-table.ts';

/** The parts of a pull or a push, numbers counting the model's dense parameters and sparse tables. */
export const parts = {
  dense: listOf(LIMITS.parameters, { parameter: count(LIMITS.parameters - 1) }),
  sparse: listOf(LIMITS.parameters, { table: count(LIMITS.parameters - 1) }),
};

/** Push number `push` of a task. `good` counts the task's good records up to and including this push. */
export const pushOfTask = { pass: count(), task: count(), push: count(), last: flag, good: count() };

/** A push as copies get it. `rateScale`: what the learning rate is multiplied by, as a rate is only made smaller. */
export const placedPush = { ...pushOfTask, rateScale: share, ...parts };
