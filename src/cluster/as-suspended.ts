/** What a role answers when it loses what it owns while it works on a request. */
import { isPaddletError, PaddletError } from '../base/errors.ts';

/** Ours to die of, or given up in leaving: whoever asked asks again, and finds the next owner. */
export function asSuspended(error: unknown): never {
  if (isPaddletError(error, 'LeaseGone', 'Interrupted')) {
    throw new PaddletError('Suspended', error.message, { cause: error });
  }
  throw error;
}
