/**
 * Sync mode: the service that takes units of shards, serves them and saves them. When the timeline rises, process,
 * index and units stay. The shards go back to the cut, which round-work.ts loads.
 */

import { roundPlanOf } from '../../../../cluster/job/job-plan.ts';
import { lookRulesOf } from '../../../../cluster/job/look-rules.ts';
import type { UnitBytes } from '../../../../cluster/placement/pserver-record.ts';
import { roundShares } from '../../../../core/round-shares.ts';
import type { TableReport } from '../../../../protocol/messages/table-report.ts';
import { createParameters } from '../../../../tensor/wasm-parameters.ts';
import type { ShardsInfo } from '../../../../view/info.ts';
import { sweepOrphans } from '../../files/sweep.ts';
import { OwnedHeads } from '../../held/owned-heads.ts';
import { OwnedShards, type OwnedStats } from '../../held/owned-shards.ts';
import { untilOthersSaved } from '../../replicas/unsaved-copies.ts';
import type { Serving } from '../../serving.ts';
import type { ShardService } from '../../shard-service.ts';
import { NO_UNITS } from './load.ts';
import { RoundWork, type RoundWorkOptions } from './round-work.ts';
import type { TimelineOptions } from './timeline.ts';

export type RoundServiceOptions = Omit<TimelineOptions, 'batches' | 'moves'>;

/**
 * Takes the units that are due and then starts to serve, even if it took none; more units may come later. Until it
 * leads a unit, it refuses requests with a placement stamp, because its answers would cover no shards.
 */
export async function startRoundService(options: RoundServiceOptions): Promise<ShardService> {
  const { context, record, spec, index, fence, folder, cuts, stopSignal, lease } = options;
  const { shards, replicas } = record.job.cluster;
  const { seed, schedule, passes } = record.job.training;
  const { units } = record;
  const batches = roundPlanOf(record);
  const loading = {
    ...{ context, index, folder, units, onWaiting: options.onWaiting },
    expected: { jobId: record.id, parameters: spec, seed, shards },
    warmStart: record.warmStart,
    partingLimitMs: record.job.cluster.leaseTtlMs,
  };
  const { cut } = await cuts.changed.until(() => cuts.current(), stopSignal);
  const heads = new OwnedHeads({ context, fence, signal: lease.lost, areCopied: replicas > 1 }, []);
  const rateShareOf = roundShares(schedule, batches, passes);
  const job = {
    ...{ spec, shards, units, rateShareOf },
    tasks: record.train.tasks,
    looks: lookRulesOf(record.job, spec),
  };
  // Where units have copies, a round is applied later, from a copy of its sum. So the rows that pulls have found cannot
  // be reused.
  const owned = new OwnedShards(job, heads, {
    parameters: createParameters({ spec, seed, shards, recallsPulls: replicas === 1 }),
    ...NO_UNITS,
  });
  const whole = { ...options, batches, loading };
  const work = new RoundWork(whole, cut.timeline, owned);
  const service = new RoundService(whole, work);
  try {
    await work.takeDue();
    await sweepOrphans(options, work.files);
  } catch (error) {
    await service.stopSaving();
    throw error;
  }
  work.start();
  return service;
}

class RoundService implements ShardService {
  readonly #options: RoundWorkOptions;
  readonly #work: RoundWork;
  #last: Promise<unknown> | undefined;

  constructor(options: RoundWorkOptions, work: RoundWork) {
    this.#options = options;
    this.#work = work;
  }

  get serving(): Serving | undefined {
    return this.#work.current?.serving;
  }

  leave(signal: AbortSignal): Promise<boolean> {
    return this.#work.leave(signal);
  }

  freeze(): void {
    this.#work.freeze();
  }

  saveLast(patienceMs: number): Promise<unknown> {
    this.#last ??= this.#work.moves
      .stop()
      .then(() => this.#saveAll(patienceMs))
      .catch((error: unknown) => {
        this.#last = undefined;
        throw error;
      });
    return this.#last;
  }

  async #saveAll(patienceMs: number): Promise<void> {
    const { replicas } = this.#work;
    const { context, lease } = this.#options;
    const { clock, log } = context.host;
    const patience = { clock, log, untilMs: clock.monotonicMs() + patienceMs, signal: lease.lost };
    for (;;) {
      const state = await this.#work.settled();
      state.snapshots.endRateLimit();
      if (replicas !== undefined) await replicas.quiet();
      // The shards may have gone back to a cut in the meantime.
      if (this.#work.current !== state) continue;
      await state.saveLast();
      if (replicas === undefined) return;
      // While the files were being written, another pserver may have died, and this one may now lead its units.
      const { heads } = state.shards;
      const isComplete = heads.units().every((unit) => heads.of(unit)?.head.rest !== undefined);
      if (isComplete) await untilOthersSaved(replicas, patience);
      if (isComplete && !replicas.isTakingOver()) break;
    }
    replicas.close();
  }

  async saveParting(): Promise<void> {
    const state = await this.#work.settled();
    await state.saveParting((await this.#work.replicas?.lastCopies.complete()) ?? []);
  }

  async stopSaving(): Promise<void> {
    const work = this.#work;
    work.moves.close();
    work.replicas?.close();
    const stopping = work.stop();
    work.state.endHolds();
    work.current?.snapshots.abandon();
    await Promise.allSettled([this.#last, stopping]);
    await work.current?.saved();
  }

  stats(): OwnedStats {
    const { state, current } = this.#work;
    const stats = state.shards.stats();
    return current === undefined ? { ...stats, rows: 0, bytes: 0, reservedBytes: 0 } : stats;
  }

  tables(): TableReport[] {
    return this.#work.current?.shards.tables() ?? [];
  }

  unitBytes(): UnitBytes[] {
    return this.#work.state.shards.unitBytes();
  }

  info(): ShardsInfo {
    const { index, lease } = this.#options;
    const { current, waitingFor } = this.#work;
    if (current === undefined) return { state: 'waiting', index, waitingFor };
    const { shards } = current;
    return {
      state: 'working',
      mode: 'sync',
      index,
      ...shards.stats(),
      ...shards.reportedTables(),
      placement: shards.stamp,
      held: lease.isHeld(),
      ...current.info(),
    };
  }
}
