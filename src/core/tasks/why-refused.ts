import type { ErrorCode } from '../../base/errors.ts';
import type { AttemptRef, PassTask } from './address.ts';

/** A report about an attempt that is not live; `numbers` as the queue counts. */
export function whyRefused(
  { pass, task, attempt, trainer }: AttemptRef,
  numbers: PassTask | undefined,
  current: { readonly number: number; readonly hasEnded: boolean },
): { code: ErrorCode; message: string } {
  if (numbers !== undefined && numbers.pass > current.number) {
    return { code: 'PassAfter', message: `pass ${pass} has not started; the job is in pass ${current.number}` };
  }
  if (numbers !== undefined && (current.hasEnded || numbers.pass < current.number)) {
    return { code: 'PassBefore', message: `pass ${pass} has ended` };
  }
  return { code: 'AttemptNotLive', message: `attempt ${attempt} of task ${task} by ${trainer} is not live` };
}
