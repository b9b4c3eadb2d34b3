/** What /metrics says of copies of units. */
import { Registry } from 'prom-client';
import { beforeEach, describe, expect, it } from 'vitest';
import { registerCopyMetrics } from '../../../src/roles/pserver/metrics.ts';
import { CountedChanges } from '../../../src/roles/pserver/replicas/counted-changes.ts';
import { FakeClock } from '../../store/support.ts';

let clock: FakeClock;
let registry: Registry;
let led: Set<number>;
let counted: CountedChanges;

beforeEach(() => {
  clock = new FakeClock();
  registry = new Registry();
  led = new Set();
  const metrics = registerCopyMetrics(registry, () => ({ lacking: 2, copies: 5 }));
  const owned = { heads: { of: (unit: number) => (led.has(unit) ? ({} as never) : undefined) } };
  counted = new CountedChanges({ clock, owned, metrics });
});

/** Without buckets and texts. */
const series = async (): Promise<string[]> =>
  (await registry.metrics()).split('\n').filter((line) => /^paddlet/.test(line) && !line.includes('_bucket'));

describe('copies on /metrics', () => {
  it('are counted, with what happens to them', async () => {
    counted.made('remove', 1);
    counted.made('add', 1);
    counted.made('handOver', 1);
    counted.dropped(3);
    counted.joined(true);
    counted.joined(false);
    expect(await series()).toEqual([
      'paddlet_pserver_lacking_units 2',
      'paddlet_pserver_copies 5',
      'paddlet_pserver_promotions_total 0',
      'paddlet_pserver_failover_seconds_sum 0',
      'paddlet_pserver_failover_seconds_count 0',
      'paddlet_pserver_hand_overs_total 1',
      'paddlet_pserver_removals_total 1',
      'paddlet_pserver_dropped_updates_total 3',
      'paddlet_pserver_joins_total{outcome="joined"} 1',
      'paddlet_pserver_joins_total{outcome="failed"} 1',
    ]);
  });

  it('a failover lasts from the last update under the dead primary to the first one under this', async () => {
    counted.applied([0, 1, 2]);
    clock.jump(1_500);
    for (const unit of [1, 2]) counted.made('promote', unit);
    // What was inherited is applied before the unit is led.
    counted.applied([1]);
    led.add(1);
    led.add(2);
    clock.jump(500);
    counted.applied([0, 1]);
    clock.jump(1_000);
    counted.applied([1, 2]);
    const all = await series();
    expect(all).toContain('paddlet_pserver_promotions_total 2');
    expect(all).toContain('paddlet_pserver_failover_seconds_count 2');
    expect(all).toContain('paddlet_pserver_failover_seconds_sum 5');
  });
});
