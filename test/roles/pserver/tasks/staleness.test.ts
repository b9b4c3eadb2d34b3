/** The gate of policy `wait` on a pserver that is leaving. */
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import type { Session } from '../../../../src/protocol/messages/channel.ts';
import { registerPserverMetrics } from '../../../../src/roles/pserver/metrics.ts';
import { createStaleness } from '../../../../src/roles/pserver/tasks/staleness.ts';
import { FakeClock } from '../../../store/support.ts';

it('sends away those who wait and those who come later', async () => {
  const staleness = createStaleness({
    clock: new FakeClock(),
    log: { debug() {}, info() {}, warn() {}, error() {} },
    rule: { policy: 'wait', bound: 0 },
    patienceMs: 1_000,
    version: () => 0,
    metrics: registerPserverMetrics(new Registry(), () => undefined),
  });
  const session = (): Session => ({ onClosed: () => () => {} }) as unknown as Session;
  const enter = (trainer: string) => staleness.enter({ trainer, pushes: 1 }, session());
  await enter('first');
  const waiting = enter('second');
  staleness.close();
  await expect(waiting).rejects.toMatchObject({ code: 'NotReady' });
  await expect(enter('third')).rejects.toMatchObject({ code: 'NotReady' });
});
