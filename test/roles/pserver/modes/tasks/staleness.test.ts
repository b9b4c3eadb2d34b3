/** Staleness on a pserver: the gate of policy `wait` when it leaves, and what is compared when units move. */
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import type { Session } from '../../../../../src/protocol/messages/channel.ts';
import { registerPserverMetrics } from '../../../../../src/roles/pserver/metrics.ts';
import { createStaleness } from '../../../../../src/roles/pserver/modes/tasks/staleness.ts';
import { FakeClock } from '../../../../store/support.ts';

it('sends away, when the pserver leaves, those who wait and those who come later', async () => {
  const staleness = createStaleness({
    clock: new FakeClock(),
    log: { debug() {}, info() {}, warn() {}, error() {} },
    rule: { policy: 'wait', bound: 0 },
    patienceMs: 1_000,
    version: () => 0,
    metrics: registerPserverMetrics(
      new Registry(),
      new FakeClock(),
      () => undefined,
      () => undefined,
    ),
  });
  const session = (): Session => ({ onClosed: () => () => {} }) as unknown as Session;
  const enter = (trainer: string) => staleness.enter({ trainer, pushes: 1 }, session());
  await enter('first');
  const waiting = enter('second');
  staleness.close();
  await expect(waiting).rejects.toMatchObject({ code: 'NotReady' });
  await expect(enter('third')).rejects.toMatchObject({ code: 'NotReady' });
});

it('compares versions told under former stamps when units have only moved since', () => {
  const staleness = createStaleness({
    clock: new FakeClock(),
    log: { debug() {}, info() {}, warn() {}, error() {} },
    rule: { policy: 'refuse', bound: 2 },
    patienceMs: 1_000,
    version: () => 10,
    metrics: registerPserverMetrics(
      new Registry(),
      new FakeClock(),
      () => undefined,
      () => undefined,
    ),
  });
  const shards = { stamp: { revision: '5' }, isComparable: (revision: string) => ['4', '5'].includes(revision) };
  expect(staleness.judge(shards, { revision: '4', version: 8 }, 0)).toBe(1);
  expect(() => staleness.judge(shards, { revision: '4', version: 7 }, 0)).toThrow('3 updates old');
  expect(() => staleness.judge(shards, { revision: '3', version: 9 }, 0)).toThrow('another state of the shards');
});
