/** The answer of a role that loses what it owns while it handles a request. */
import { isPaddletError, PaddletError } from '../base/errors.ts';

/** Fatal to this process only; the caller retries and finds the next owner. */
export function asSuspended(error: unknown): never {
  if (isPaddletError(error, 'LeaseGone', 'Interrupted')) {
    throw new PaddletError('Suspended', error.message, { cause: error });
  }
  throw error;
}
