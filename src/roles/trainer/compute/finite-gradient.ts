/** A gradient with NaN or infinite values is not pushed: it would spoil the parameters for every trainer. */
import { PaddletError } from '../../../base/errors.ts';
import type { Gradients } from '../../../cluster/client/parameter-client.ts';

/**
 * x · 0 is NaN when x is NaN or infinite, and a sum that has a NaN is NaN: one addition for each element, no branch.
 */
export function isFiniteGradient(gradients: Gradients): boolean {
  for (const array of [...gradients.dense, ...gradients.sparse]) {
    let poison = 0;
    for (let i = 0; i < array.length; i++) poison += array[i]! * 0;
    if (Number.isNaN(poison)) return false;
  }
  return true;
}

/** `records`: file and lines, for the message. */
export function badGradient(records: string): PaddletError {
  return new PaddletError('BadGradient', `the gradient of ${records} has NaN or infinite values`, {
    hint: 'the learning rate is too high, or a value in these records is far out of range',
  });
}
