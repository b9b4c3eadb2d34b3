/** Pulls of a command, which does not wait for ever: a pserver that died may be back soon, or never. */
import { PaddletError } from '../../base/errors.ts';
import type { Clock } from '../../base/seams.ts';
import type { ParameterClient } from '../../cluster/client/parameter-client.ts';

export type Pulls = Pick<ParameterClient, 'pull'>;

/** `RequestTimeout` when a pull is not answered within `limitMs`. */
export const limitedPulls = (client: Pulls, clock: Clock, limitMs: number): Pulls => ({
  async pull(ids, signal) {
    const late = Promise.withResolvers<never>();
    const given = new AbortController();
    const cancel = clock.after(limitMs, () => {
      late.reject(tooLate(limitMs));
      given.abort();
    });
    try {
      return await Promise.race([client.pull(ids, AbortSignal.any([signal, given.signal])), late.promise]);
    } finally {
      cancel();
    }
  },
});

const tooLate = (limitMs: number): PaddletError =>
  new PaddletError('RequestTimeout', `the pservers did not answer within ${limitMs / 1000} s`, {
    hint: 'check with `paddlet status` what the job waits for, or raise --timeout',
  });
