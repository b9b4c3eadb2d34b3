/** A gradient with NaN or infinite values is not pushed: it would spoil the parameters for every trainer. */
import { PaddletError } from '../../../base/errors.ts';
import type { Gradients } from '../../../cluster/client/parameter-client.ts';
import { areFinite } from '../../../tensor/finite-array.ts';

export const isFiniteGradient = ({ dense, sparse }: Gradients): boolean =>
  dense.every(areFinite) && sparse.every(areFinite);

/** `records`: file and lines, for the message. */
export function badGradient(records: string): PaddletError {
  return new PaddletError('BadGradient', `the gradient of ${records} has NaN or infinite values`, {
    hint: 'the learning rate is too high, or a value in these records is far out of range',
  });
}
