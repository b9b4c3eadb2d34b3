import { Counter, Histogram, type Registry } from 'prom-client';
import { PhaseTimes } from '../../base/phase-times.ts';
import type { Clock } from '../../base/seams.ts';
import { PSERVER_TIMES, type PserverShare, type PserverTime } from '../../cluster/role-times.ts';
import { counter, gauge } from '../../cluster/series.ts';
import type { ParameterMemoryStats } from '../../tensor/parameters.ts';
import { type CopyCounts, type CopyMetrics, registerCopyMetrics } from './copy-metrics.ts';
import { registerSaveMetrics, type SaveMetrics } from './save-metrics.ts';

export interface PserverMetrics {
  pushed(outcome: 'applied' | 'duplicate', bytes: number): void;
  pulled(bytes: number): void;
  duplicatePushes(): number;
  /** Of a push that was applied. */
  staleness(updates: number): void;
  tooStale(): void;
  waitedForStaleness(ms: number): void;
  /** A unit that was to be handed over: it went, or stayed. */
  moved(outcome: 'kept' | 'moved'): void;
  readonly copies: CopyMetrics;
  readonly saves: SaveMetrics;
  /** What the thread does now. */
  readonly times: WorkTimes;
  /** Milliseconds of all of its time. */
  spentMs(): Readonly<Record<PserverShare, number>>;
}

export interface PserverStats extends ParameterMemoryStats {
  readonly units: number;
  readonly shards: number;
  /** What the schedule of the job makes of the learning rate. Undefined while nothing is served. */
  readonly rateShare?: number | undefined;
}

export type WorkTimes = Pick<PhaseTimes<PserverTime>, 'enter' | 'during'>;

/** The pserver's series on /metrics. `stats` is undefined until the shards are loaded. */
export function registerPserverMetrics(
  registry: Registry,
  clock: Pick<Clock, 'monotonicMs' | 'idleMs'>,
  stats: () => PserverStats | undefined,
  copies: () => CopyCounts | undefined,
  saveIntervalMs: () => number | undefined = () => undefined,
): PserverMetrics {
  /** Of requests. Plain numbers: prom-client looks up the labels of each increase. */
  const counts = { applied: 0, duplicate: 0, pushedBytes: 0, pulls: 0, pulledBytes: 0 };
  new Counter({
    name: 'paddlet_pserver_pushes_total',
    help: 'Pushes by outcome: applied, or dropped as duplicate',
    labelNames: ['outcome'],
    registers: [registry],
    collect() {
      this.reset();
      for (const outcome of ['applied', 'duplicate'] as const) this.inc({ outcome }, counts[outcome]);
    },
  });
  counter(registry, 'paddlet_pserver_pushed_bytes_total', 'Bytes of applied gradients', () => counts.pushedBytes);
  counter(registry, 'paddlet_pserver_pulls_total', 'Pulls answered', () => counts.pulls);
  counter(
    registry,
    'paddlet_pserver_pulled_bytes_total',
    'Bytes of values answered to pulls',
    () => counts.pulledBytes,
  );
  gauge(registry, 'paddlet_pserver_rows', 'Rows of sparse tables held', () => stats()?.rows);
  gauge(registry, 'paddlet_pserver_bytes', 'Bytes of parameters and optimizer state', () => stats()?.bytes);
  gauge(registry, 'paddlet_pserver_reserved_bytes', 'Bytes of kernel memory reserved', () => stats()?.reservedBytes);
  gauge(
    registry,
    'paddlet_pserver_learning_rate_share',
    'Factor that the schedule applies to learning rates',
    () => stats()?.rateShare,
  );
  gauge(registry, 'paddlet_pserver_units', 'Units of shards led', () => stats()?.units);
  gauge(registry, 'paddlet_pserver_shards', 'Shards held as primary', () => stats()?.shards);
  const staleness = new Histogram({
    name: 'paddlet_pserver_staleness',
    help: 'Staleness of each applied push: updates of the shard since the values that the push was computed from',
    buckets: [0, 1, 2, 4, 8, 16, 32, 64, 128, 256],
    registers: [registry],
  });
  const tooStale = new Counter({
    name: 'paddlet_pserver_too_stale_total',
    help: 'Pushes refused because they were staler than the bound',
    registers: [registry],
  });
  const waited = new Counter({
    name: 'paddlet_pserver_staleness_wait_seconds_total',
    help: 'Time that pulls waited for the staleness bound',
    registers: [registry],
  });
  const moves = new Counter({
    name: 'paddlet_pserver_moves_total',
    help: 'Units that were to be handed over, by outcome: moved, or kept',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const times = new PhaseTimes<PserverTime>(clock, PSERVER_TIMES);
  const idleBeforeMs = clock.idleMs?.() ?? 0;
  const spentMs = (): Record<PserverShare, number> => {
    const spent = times.spentMs();
    const idle = (clock.idleMs?.() ?? 0) - idleBeforeMs;
    return { ...spent, other: Math.max(0, spent.other - idle), idle };
  };
  registerTimes(registry, spentMs);
  return {
    times,
    spentMs,
    copies: registerCopyMetrics(registry, copies),
    saves: registerSaveMetrics(registry, clock, () => (stats()?.units ?? 0) > 0, saveIntervalMs),
    staleness: (updates) => staleness.observe(updates),
    tooStale: () => tooStale.inc(),
    moved: (outcome) => moves.inc({ outcome }),
    waitedForStaleness: (ms) => waited.inc(ms / 1000),
    pushed(outcome, bytes) {
      counts[outcome] += 1;
      counts.pushedBytes += bytes;
    },
    pulled(bytes) {
      counts.pulls += 1;
      counts.pulledBytes += bytes;
    },
    duplicatePushes: () => counts.duplicate,
  };
}

function registerTimes(registry: Registry, spentMs: () => Readonly<Record<PserverShare, number>>): void {
  new Counter({
    name: 'paddlet_pserver_phase_seconds_total',
    help: 'Time of the main thread, by activity',
    labelNames: ['phase'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [phase, ms] of Object.entries(spentMs())) this.inc({ phase }, ms / 1000);
    },
  });
}
