/** What messages say of a member that cannot be connected to. */
import { expect, it } from 'vitest';
import { whyUnreachable } from '../../../src/store/etcd/unreachable.ts';
import { FakeClock } from '../support.ts';

const access = { tls: undefined };

it('a name server that is silent is not a member that is silent', async () => {
  const clock = new FakeClock();
  const resolve = (): Promise<never> => new Promise(() => {});
  const why = whyUnreachable({ host: 'etcd1:2379', access, clock, limitMs: 1_000, resolve });
  await clock.advance(1_000);
  expect(await why).toBe('the host name etcd1 was not resolved in time');
});

it('a name that does not exist', async () => {
  const resolve = () => Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' }));
  expect(await whyUnreachable({ host: 'nope:1', access, clock: new FakeClock(), limitMs: 1_000, resolve })).toBe(
    'the host name nope cannot be resolved (ENOTFOUND)',
  );
});
