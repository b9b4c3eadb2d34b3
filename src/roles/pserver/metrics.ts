/** The series of a pserver on /metrics: its work, its saves, and the copies of its units. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { PhaseTimes } from '../../base/phase-times.ts';
import type { Clock } from '../../base/seams.ts';
import { PSERVER_TIMES, type PserverShare, type PserverTime } from '../../cluster/role-times.ts';
import { counter, gauge, gauges } from '../../cluster/series.ts';
import type { TableReport } from '../../protocol/messages/table-report.ts';
import type { OwnedStats } from './held/owned-shards.ts';

export interface PserverMetrics {
  pushed(outcome: 'applied' | 'duplicate', bytes: number): void;
  pulled(bytes: number): void;
  duplicatePushes(): number;
  /** Records the staleness of an accepted push, in updates. */
  staleness(updates: number): void;
  tooStale(): void;
  waitedForStaleness(ms: number): void;
  /** A unit that was to be handed over has moved, or this pserver has kept it. */
  moved(outcome: 'kept' | 'moved'): void;
  readonly copies: CopyMetrics;
  readonly saves: SaveMetrics;
  /** Records the current activity of the thread. */
  readonly times: WorkTimes;
  /** Returns the time of the thread so far by activity, in milliseconds, including idle time. */
  spentMs(): Readonly<Record<PserverShare, number>>;
}

export interface PserverStats extends OwnedStats {
  /** Factor that the job's schedule applies to the learning rate. Undefined while this pserver does not serve. */
  readonly rateShare?: number | undefined;
}

export type WorkTimes = Pick<PhaseTimes<PserverTime>, 'enter' | 'during'>;

/** Registers the series of the pserver. `stats` and `copies` return undefined until the shards are loaded. */
export function registerPserverMetrics(
  registry: Registry,
  clock: Pick<Clock, 'monotonicMs' | 'idleMs'>,
  stats: () => PserverStats | undefined,
  copies: () => CopyCounts | undefined,
  saveIntervalMs: () => number | undefined = () => undefined,
  tables: () => readonly TableReport[] = () => [],
): PserverMetrics {
  /** Counts of requests. They are plain numbers, because prom-client looks up the labels for each increase. */
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
  registerHeld(registry, stats);
  registerTableSeries(registry, tables);
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

/** Registers the series of what this pserver holds. */
function registerHeld(registry: Registry, stats: () => PserverStats | undefined): void {
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

// ---- tables with admission, eviction or a bound

/** Registers series that are absent if the job has no such table. */
function registerTableSeries(registry: Registry, tables: () => readonly TableReport[]): void {
  const gaugeOf = (name: string, help: string, read: (table: TableReport) => number | undefined): void => {
    const valuesOf = (): Record<string, number> =>
      Object.fromEntries(tables().flatMap((table) => [[table.name, read(table)] as const].filter(isKnown)));
    gauges(registry, name, help, 'table', valuesOf);
  };
  gaugeOf('paddlet_pserver_table_rows', 'Rows of a table with admission, eviction or a bound', ({ rows }) => rows);
  gaugeOf(
    'paddlet_pserver_table_candidates',
    'Candidates of a table: ids with a count but without a row',
    ({ candidates }) => candidates,
  );
  gaugeOf('paddlet_pserver_table_bytes', 'Logical bytes of a table, as its bound counts them', ({ bytes }) => bytes);
  gaugeOf(
    'paddlet_pserver_table_bound_bytes',
    'Most logical bytes of a table in the shards held',
    ({ boundBytes }) => boundBytes,
  );
  const counterOf = (name: string, help: string, read: (table: TableReport) => number): void => {
    new Counter({
      name,
      help,
      labelNames: ['table'],
      registers: [registry],
      collect() {
        this.reset();
        for (const table of tables()) this.inc({ table: table.name }, read(table));
      },
    });
  };
  counterOf('paddlet_pserver_table_updated_total', 'Ids that had a row', ({ updated }) => updated);
  counterOf('paddlet_pserver_table_admitted_total', 'Ids that got a row', ({ admitted }) => admitted);
  counterOf(
    'paddlet_pserver_table_not_admitted_total',
    'Ids that got no row, because of their count or draw',
    ({ notAdmitted }) => notAdmitted,
  );
  counterOf('paddlet_pserver_table_refused_total', 'Ids for which the bound had no room', ({ refused }) => refused);
  new Counter({
    name: 'paddlet_pserver_table_evicted_total',
    help: 'Rows and candidates evicted, by cause: by the bound, or because they were unseen for too long',
    labelNames: ['table', 'cause', 'kind'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { name: table, evicted } of tables()) {
        for (const cause of ['bound', 'unseen'] as const) {
          for (const kind of ['rows', 'candidates'] as const) this.inc({ table, cause, kind }, evicted[cause][kind]);
        }
      }
    },
  });
}

const isKnown = (entry: readonly [string, number | undefined]): entry is readonly [string, number] =>
  entry[1] !== undefined;

// ---- saves

export interface SavedFile {
  readonly tookMs: number;
  readonly bytes: number;
  readonly isDelta: boolean;
  /** Number of deltas on the last base, this file included. */
  readonly deltas: number;
}

export interface SaveMetrics {
  saved(file: SavedFile): void;
  /** The disk refused the save. */
  failed(): void;
}

/** In seconds, from a small model to a model that fills a disk. */
const SAVE_BUCKETS = [0.1, 0.5, 2, 10, 60, 300];

/**
 * Registers the series of saves. `hasUnits`: without units there is nothing to save, and the checkpoint has age 0.
 * `intervalMs`: interval of the job's saves; undefined if it is unknown, or the job does not save by time.
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
  const written = new Counter({
    name: 'paddlet_pserver_checkpoint_bytes_total',
    help: 'Bytes of saved checkpoints: bases have all rows, deltas only what changed since',
    labelNames: ['kind'],
    registers: [registry],
  });
  for (const kind of ['base', 'delta']) written.inc({ kind }, 0);
  const chain = new Gauge({
    name: 'paddlet_pserver_checkpoint_deltas',
    help: 'Deltas that this process has saved since its last base',
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
    saved: ({ tookMs, bytes, isDelta, deltas }) => {
      outcomes.inc({ outcome: 'saved' });
      written.inc({ kind: isDelta ? 'delta' : 'base' }, bytes);
      chain.set(deltas);
      seconds.observe(tookMs / 1000);
      sinceMs = clock.monotonicMs();
    },
    failed: () => outcomes.inc({ outcome: 'failed' }),
  };
}

// ---- copies of units

/** Events of units that this pserver leads or starts to lead. */
export interface CopyMetrics {
  /** This pserver was promoted to primary of a unit, because the former primary died. */
  promoted(): void;
  /**
   * A promoted unit has had its first update. `ms`: time since its last update under the former primary, including time
   * in which no trainer pushed.
   */
  resumed(ms: number): void;
  /** This pserver has handed a unit over: another copy was promoted to primary. */
  handedOver(): void;
  /** A copy that was made for another pserver has joined the in-sync set, or was given up. */
  joined(outcome: 'joined' | 'failed'): void;
  /** This pserver has removed a copy from the in-sync set. */
  removed(): void;
  /** A unit has dropped this number of updates, because not all of its copies had them. */
  dropped(updates: number): void;
}

export interface CopyCounts {
  /** Number of units that this pserver leads and that have fewer in-sync copies than the job asks for. */
  readonly lacking: number;
  /** Number of copies here of units that other pservers lead. */
  readonly copies: number;
}

/** Registers the series of copies. `counts` returns undefined while this pserver does not serve. */
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
