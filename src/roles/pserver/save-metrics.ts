/** The series about checkpoints on /metrics. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Clock } from '../../base/seams.ts';

export interface SaveMetrics {
  saved(tookMs: number): void;
  /** The disk refused it. */
  failed(): void;
}

/** Seconds: from a small model to one that fills a disk. */
const SAVE_BUCKETS = [0.1, 0.5, 2, 10, 60, 300];

/**
 * `hasUnits`: without any there is nothing to save, and a checkpoint has no age. `intervalMs` of the job; undefined
 * when it is not known, or saves nothing by time.
 */
export function registerSaveMetrics(
  registry: Registry,
  clock: Pick<Clock, 'monotonicMs'>,
  hasUnits: () => boolean,
  intervalMs: () => number | undefined,
): SaveMetrics {
  const outcomes = new Counter({
    name: 'paddlet_pserver_checkpoints_total',
    help: 'Checkpoints by outcome: saved, or failed because the disk refused them',
    labelNames: ['outcome'],
    registers: [registry],
  });
  for (const outcome of ['saved', 'failed']) outcomes.inc({ outcome }, 0);
  const seconds = new Histogram({
    name: 'paddlet_pserver_checkpoint_seconds',
    help: 'Time from the start of a checkpoint until it is published, for each saved checkpoint',
    buckets: SAVE_BUCKETS,
    registers: [registry],
  });
  let sinceMs: number | undefined;
  new Gauge({
    name: 'paddlet_pserver_checkpoint_age_seconds',
    help: 'Time since this process saved a checkpoint, or since it first had something to save',
    registers: [registry],
    collect() {
      if (!hasUnits()) {
        sinceMs = undefined;
        this.set(0);
        return;
      }
      sinceMs ??= clock.monotonicMs();
      this.set((clock.monotonicMs() - sinceMs) / 1000);
    },
  });
  new Gauge({
    name: 'paddlet_pserver_checkpoint_interval_seconds',
    help: 'Interval between checkpoints of the job; absent if checkpoints are not saved by time',
    registers: [registry],
    collect() {
      const ms = intervalMs();
      if (ms === undefined) this.remove();
      else this.set(ms / 1000);
    },
  });
  return {
    saved: (tookMs) => {
      outcomes.inc({ outcome: 'saved' });
      seconds.observe(tookMs / 1000);
      sinceMs = clock.monotonicMs();
    },
    failed: () => outcomes.inc({ outcome: 'failed' }),
  };
}
