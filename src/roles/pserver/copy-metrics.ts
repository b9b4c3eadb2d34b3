/** The series about copies of units on /metrics: how many there are, and what changes of them. */
import { Counter, Histogram, type Registry } from 'prom-client';
import { gauge } from '../../cluster/series.ts';

/** What has happened here, of units that this pserver leads or begins to lead. */
export interface CopyMetrics {
  /** It leads a unit whose primary died. */
  promoted(): void;
  /**
   * So long after the last update of a unit under its former primary the first one was applied under this one. Time in
   * which no trainer pushed counts as well.
   */
  resumed(ms: number): void;
  /** Another copy leads a unit, by the wish of this pserver. */
  handedOver(): void;
  /** A copy that was made for another pserver is in sync, or was given up. */
  joined(outcome: 'joined' | 'failed'): void;
  /** A copy was taken out of the in-sync set. */
  removed(): void;
  /** Updates that not all copies had, of one unit. */
  dropped(updates: number): void;
}

export interface CopyCounts {
  /** Units that it leads with fewer copies in sync than the job asks for. */
  readonly lacking: number;
  /** Copies that it has of units that others lead. */
  readonly copies: number;
}

/** `counts` is undefined until the shards are loaded. */
export function registerCopyMetrics(registry: Registry, counts: () => CopyCounts | undefined): CopyMetrics {
  const registers = [registry];
  const counter = (name: string, help: string): Counter => new Counter({ name, help, registers });
  gauge(registry, 'paddlet_pserver_lacking_units', 'Units led that lack copies', () => counts()?.lacking);
  gauge(registry, 'paddlet_pserver_copies', 'Copies of units that other pservers lead', () => counts()?.copies);
  const promotions = counter(
    'paddlet_pserver_promotions_total',
    'Units promoted to primary here because their primary died',
  );
  const failoverSeconds = new Histogram({
    name: 'paddlet_pserver_failover_seconds',
    help: 'Time from the last update of a unit by its dead primary to the first update here, including time without pushes',
    buckets: [0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 7.5, 10, 15, 30, 60],
    registers,
  });
  const handOvers = counter('paddlet_pserver_hand_overs_total', 'Units whose other copy was promoted to primary');
  const removals = counter('paddlet_pserver_removals_total', 'Copies taken out of the in-sync set');
  const dropped = counter(
    'paddlet_pserver_dropped_updates_total',
    'Updates of units dropped because a copy lacked them',
  );
  const joins = new Counter({
    name: 'paddlet_pserver_joins_total',
    help: 'Copies made for other pservers, by outcome',
    labelNames: ['outcome'],
    registers,
  });
  return {
    promoted: () => promotions.inc(),
    resumed: (ms) => failoverSeconds.observe(ms / 1000),
    handedOver: () => handOvers.inc(),
    joined: (outcome) => joins.inc({ outcome }),
    removed: () => removals.inc(),
    dropped: (updates) => dropped.inc(updates),
  };
}
