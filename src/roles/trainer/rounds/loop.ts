/**
 * A trainer in sync mode (docs/modes.md): in each round it computes the lanes assigned to it from the version of
 * the round, pushes each to every pserver, and waits for the next version, which is the barrier.
 * `src/core/rounds/lane-work.ts` decides what to do next. A new assignment interrupts any waiting. After an error the
 * trainer asks for the position of the rounds, and pushes the lanes that it keeps again.
 */
import { unreachable } from '../../../base/assert.ts';
import { backoffMs } from '../../../base/backoff.ts';
import { isPaddletError, type PaddletError } from '../../../base/errors.ts';
import { abortAfter } from '../../../cluster/abort.ts';
import type { PulledList } from '../../../cluster/client/joined-pull.ts';
import { type LaneDelivery, laneOfError } from '../../../cluster/client/lane-sender.ts';
import type { MasterClient } from '../../../cluster/client/master-client.ts';
import type { VersionClient } from '../../../cluster/client/version-client.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import { orAborted, pauseOrAborted, throwIfAborted } from '../../../cluster/waiting.ts';
import { createLaneWork, type LaneStep, type LaneWork } from '../../../core/rounds/lane-work.ts';
import type { RoundPlan } from '../../../core/rounds/plan.ts';
import type { Model } from '../../../model/model.ts';
import type { IdList, IdRouter } from '../../../tensor/id-router.ts';
import type { Activity } from '../activity.ts';
import type { GradientCheck } from '../compute/gradient-check.ts';
import type { RequestTimes } from '../request-times.ts';
import { ExchangeTimes } from './exchange-times.ts';
import { KeptLanes } from './kept-lanes.ts';
import type { LaneAssignment } from './lane-assignment.ts';
import { type LaneBatches, prepareLanes } from './lane-batches.ts';
import { LanePrefetch } from './lane-prefetch.ts';
import type { LaneReader } from './lane-reader.ts';
import { createLaneReports, type LaneReports } from './lane-reports.ts';
import { logBarrierWait } from './log-barrier-wait.ts';
import { type PulledBatches, pushLanes } from './push-lanes.ts';

/** A lane that failed here is tried again after this time, if it is still assigned to this trainer. */
const LANE_RETRY_MS = 1_000;
/** On a stop: the time for computed lanes to reach every pserver. */
const DRAIN_TIMEOUT_MS = 3_000;

export interface RoundLoopOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly id: string;
  readonly model: Model;
  readonly plan: RoundPlan;
  readonly reader: LaneReader;
  readonly master: MasterClient;
  readonly client: VersionClient;
  readonly router: IdRouter;
  readonly activity: Activity;
  readonly gradientCheck: GradientCheck;
  readonly times: RequestTimes;
  readonly lanes: LaneAssignment;
  /** Aborts when the trainer is to end. */
  readonly stopSignal: AbortSignal;
  /** True on a stop: other trainers finish the round now, or all trainers do when the job continues. */
  readonly isDraining: () => boolean;
}

/** Returns when all rounds are done. */
export async function runRounds(options: RoundLoopOptions): Promise<void> {
  const loop = new RoundLoop(options);
  try {
    await loop.run();
  } finally {
    options.activity.end();
    await loop.end();
  }
}

class RoundLoop {
  readonly #options: RoundLoopOptions;
  readonly #work: LaneWork<LaneDelivery>;
  readonly #kept: KeptLanes;
  readonly #reports: LaneReports;
  readonly #prefetch: LanePrefetch;
  readonly #times: ExchangeTimes;
  /** Pulled with the last exchange, for the round that it led to. */
  #pulled: PulledBatches | undefined;
  #interruption: { readonly changed: AbortSignal; readonly signal: AbortSignal } | undefined;
  /** Errors since a version was last confirmed. */
  #disturbances = 0;

  constructor(options: RoundLoopOptions) {
    const { context } = options;
    this.#options = options;
    this.#work = createLaneWork();
    this.#kept = new KeptLanes(options.model);
    this.#reports = createLaneReports({ ...options, log: context.host.log });
    this.#times = new ExchangeTimes(context.host.clock, options.times);
    this.#prefetch = new LanePrefetch((round, lanes) => prepareLanes(options, round, lanes));
  }

  async run(): Promise<void> {
    const { lanes, stopSignal } = this.#options;
    for (;;) {
      throwIfAborted(stopSignal);
      this.#kept.restrict(this.#work.kept());
      if (lanes.isDone()) return;
      this.#work.assigned(lanes.mine(), lanes.until());
      try {
        await this.#take(this.#work.next());
      } catch (error) {
        if (!isPaddletError(error)) throw error;
        throwIfAborted(stopSignal);
        // The assignment has changed: decide again.
        if (error.code === 'Interrupted') continue;
        if (error.code !== 'VersionGone' && error.code !== 'RoundAhead' && error.code !== 'StaleTimeline') throw error;
        await this.#disturbed(error);
      }
    }
  }

  /**
   * On a stop returns the lanes to the master, and delivers what is computed, so that the round does not wait for this
   * trainer.
   */
  async end(): Promise<void> {
    try {
      if (this.#options.isDraining()) await Promise.all([this.#reports.returned(), this.#deliverKept()]);
    } finally {
      this.#kept.restrict([]);
    }
  }

  async #deliverKept(): Promise<void> {
    const { client, context } = this.#options;
    const kept = this.#work.kept();
    if (kept.length === 0) return;
    const late = abortAfter(context.host.clock, DRAIN_TIMEOUT_MS);
    try {
      await client.deliver(kept, late.signal);
    } catch (error) {
      if (!isPaddletError(error)) throw error;
      context.host.log.info(`leaving lanes that some pservers lack to another trainer: ${error.message}`);
    } finally {
      late.cancel();
    }
  }

  /** Aborts when the trainer is to end or its assignment changes. */
  #interrupted(): AbortSignal {
    const { stopSignal, lanes } = this.#options;
    const changed = lanes.changeSignal();
    if (this.#interruption?.changed !== changed) {
      this.#interruption = { changed, signal: AbortSignal.any([stopSignal, changed]) };
    }
    return this.#interruption.signal;
  }

  async #take(step: LaneStep): Promise<void> {
    const { activity, lanes, stopSignal, reader } = this.#options;
    switch (step.do) {
      case 'standBy':
        activity.enter('idle');
        this.#times.clear();
        this.#forget();
        reader.ahead(0, []);
        await lanes.changed.until(() => (lanes.isDone() || lanes.mine().length > 0 ? true : undefined), stopSignal);
        return;
      case 'look':
        activity.enter('wait');
        await this.#askPosition({});
        return;
      case 'finished':
        activity.enter('idle');
        this.#times.clear();
        this.#forget();
        // Until the master says that they are done, or gives more, or all pservers are set back to a cut.
        await this.#askPosition({ above: this.#work.at()!.version });
        return;
      case 'compute':
        await this.#compute(step.lanes);
        return;
      case 'reportStuck':
        await this.#reportStuck();
        return;
      case 'exchange':
        await this.#exchange();
        return;
      default:
        unreachable(step);
    }
  }

  async #askPosition(options: { readonly above?: number }): Promise<void> {
    this.#work.positionKnown(await this.#options.client.roundPosition(options, this.#interrupted()));
  }

  #forget(): void {
    this.#pulled = undefined;
    this.#prefetch.clear();
  }

  async #disturbed(error: PaddletError): Promise<void> {
    const { context, stopSignal } = this.#options;
    context.host.log.debug(`asking for the position of the rounds again: ${error.code}: ${error.message}`);
    this.#forget();
    this.#work.disturbed();
    this.#disturbances += 1;
    const retries = this.#disturbances - 3;
    if (retries >= 0) await pauseOrAborted(context.host.clock, backoffMs(retries), stopSignal);
  }

  /** Starts with those of the lanes whose values are already pulled. */
  async #compute(lanes: readonly number[]): Promise<void> {
    const { activity, client, reader } = this.#options;
    const { timeline, version } = this.#work.at()!;
    const ready = this.#pulled;
    this.#pulled = undefined;
    if (ready !== undefined && ready.timeline === timeline && ready.batches.round === version) {
      const mine = lanes.filter((lane) => ready.batches.records.has(lane));
      if (mine.length > 0) {
        await this.#push(ready, mine);
        return;
      }
    }
    activity.enter('read');
    reader.ahead(version, this.#options.lanes.mine());
    const batches = await orAborted(prepareLanes(this.#options, version, lanes), this.#interrupted());
    for (const [lane, error] of batches.failures) await this.#laneFailed(version, lane, error);
    if (batches.records.size === 0) return;
    activity.enter('pull');
    const onReached = (waitedMs: number): void => this.#times.reached(waitedMs);
    const exchange = { at: { timeline, version }, lists: listsOf(batches), deliveries: [], onReached };
    let pulled: readonly PulledList[];
    this.#times.begin();
    try {
      pulled = await client.exchange(exchange, this.#interrupted());
      this.#times.end(0);
    } catch (error) {
      if (!isFatal(error)) throw error;
      for (const lane of batches.records.keys()) await this.#laneFailed(version, lane, error);
      return;
    }
    await this.#push({ timeline, batches, pulled }, [...batches.records.keys()]);
  }

  async #push(ready: PulledBatches, lanes: readonly number[]): Promise<void> {
    const { context, client } = this.#options;
    const isPast = await pushLanes(
      {
        ...this.#options,
        clock: context.host.clock,
        kept: this.#kept,
        onComputed: (lane, delivery) => this.#work.computed(lane, delivery),
        onFailed: (lane, error) => this.#laneFailed(ready.batches.round, lane, error),
      },
      ready,
      lanes,
    );
    if (isPast) this.#confirmed();
    // Lanes that share a list are pushed under separate routes.
    ready.batches.unions.forEach(({ positions }, list) => {
      if (positions.length > 1) ready.pulled[list]!.routed.release();
    });
    client.recycle(ready.pulled);
  }

  #confirmed(): void {
    this.#work.confirmed();
    this.#disturbances = 0;
  }

  async #exchange(): Promise<void> {
    const { activity, client, context, lanes, reader } = this.#options;
    const { timeline, version } = this.#work.at()!;
    const next = version + 1;
    const until = lanes.until();
    const mine = next < until ? lanes.mine() : [];
    reader.ahead(next, mine);
    const batches = await orAborted(this.#prefetch.take(next, mine), this.#interrupted());
    const barrier = logBarrierWait(context.host, version, lanes);
    const retry = this.#work.hasFailed() ? abortAfter(context.host.clock, LANE_RETRY_MS) : undefined;
    activity.enter('push');
    const kept = this.#work.kept();
    this.#times.begin();
    try {
      const pulled = await client.exchange(
        {
          at: { timeline, version: next },
          lists: listsOf(batches),
          deliveries: kept,
          onSent: () => {
            if (next + 1 < until) this.#prefetch.start(next + 1, mine);
          },
          onPending: barrier.pending,
          onDelivered: () => {
            this.#times.delivered();
            activity.enter('wait');
          },
          onReached: (waitedMs) => this.#times.reached(waitedMs),
        },
        retry === undefined ? this.#interrupted() : AbortSignal.any([this.#interrupted(), retry.signal]),
      );
      this.#times.end(kept.length);
      this.#confirmed();
      this.#pulled = { timeline, batches, pulled };
    } catch (error) {
      if (retry?.signal.aborted === true) this.#work.retry();
      if (!isFatal(error)) throw error;
      await this.#exchangeFailed(error, version, batches);
    } finally {
      barrier.cancel();
      retry?.cancel();
    }
  }

  /** A push of the round `version` failed, or the pull for the round after it. */
  async #exchangeFailed(error: PaddletError, version: number, batches: LaneBatches): Promise<void> {
    const { context, stopSignal } = this.#options;
    const lane = laneOfError(error);
    if (lane !== undefined) {
      await this.#laneFailed(version, lane, error);
      return;
    }
    if (batches.lanes.length === 0) throw error;
    for (const pulling of batches.lanes) await this.#report(batches.round, pulling, error);
    await pauseOrAborted(context.host.clock, LANE_RETRY_MS, stopSignal);
  }

  async #laneFailed(round: number, lane: number, error: PaddletError): Promise<void> {
    this.#work.failed(lane);
    await this.#report(round, lane, error);
  }

  async #report(round: number, lane: number, error: PaddletError): Promise<void> {
    if (error.code === 'Interrupted') throw error;
    await this.#reports.failed(lane, { timeline: this.#work.at()!.timeline, version: round }, error);
  }

  async #reportStuck(): Promise<void> {
    const { activity, client } = this.#options;
    activity.enter('wait');
    const before = this.#work.at()!;
    const signal = this.#interrupted();
    // The answers of the pservers were of different moments: some may have been about to move on.
    const now = await client.roundPosition({}, signal);
    this.#work.positionKnown(now);
    if (now.timeline !== before.timeline || now.version !== before.version || now.oldest <= now.version) return;
    const kept = this.#work.kept();
    if (kept.length > 0) await client.deliver(kept, signal);
    await this.#reports.stuck(now, signal);
    this.#work.positionKnown(await client.roundPosition({ above: now.version }, signal));
  }
}

const listsOf = ({ unions }: LaneBatches): (readonly IdList[])[] => unions.map(({ ids }) => ids);

/** An error that is not an interruption, and that asking for the position again does not fix. */
const isFatal = (error: unknown): error is PaddletError =>
  isPaddletError(error) && error.action === 'fatal' && error.code !== 'Interrupted';
