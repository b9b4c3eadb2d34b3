/** Requests to several pservers that are made together: what is thrown, and when. */
import { describe, expect, it } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import { allSettledOrThrow } from '../../../src/cluster/client/pserver-group.ts';

const toRetry = new PaddletError('NotReady', 'starting');
const fatal = new PaddletError('WrongBatchPlan', 'another plan');
const bug = new TypeError('a bug');

describe('requests that are made together', () => {
  it('give all answers, in their order', async () => {
    expect(await allSettledOrThrow([Promise.resolve(1), Promise.resolve(2)])).toEqual([1, 2]);
    expect(await allSettledOrThrow([])).toEqual([]);
  });

  it('throw only when all have ended, even when the first one fails at once', async () => {
    const slow = Promise.withResolvers<void>();
    let hasThrown = false;
    const together = allSettledOrThrow([Promise.reject(toRetry), slow.promise]).catch((error: unknown) => {
      hasThrown = true;
      return error;
    });
    await new Promise((done) => setImmediate(done));
    expect(hasThrown).toBe(false);
    slow.resolve();
    expect(await together).toBe(toRetry);
  });

  it('throw a bug before a fatal error, and that before one to retry', async () => {
    const failing = (...errors: readonly Error[]): Promise<unknown> =>
      allSettledOrThrow(errors.map((error) => Promise.reject(error)));
    await expect(failing(toRetry, fatal)).rejects.toBe(fatal);
    await expect(failing(toRetry, fatal, bug)).rejects.toBe(bug);
  });
});
