/**
 * Mode sync on a trainer (DESIGN §6): round after round, computes the lanes that it was dealt from the version of the round,
 * pushes each to every pserver, and waits for the next version, which is the barrier. What to do next is decided by
 * `src/core/rounds/lane-work.ts`. A new assignment interrupts any waiting; after any disturbance it asks where the rounds stand, and
 * pushes again what it keeps.
 */
import { unreachable } from '../../../base/assert.ts';
import { isPaddletError, type PaddletError } from '../../../base/errors.ts';
import { type LaneDelivery, laneOfError } from '../../../cluster/client/lane-sender.ts';
import type { MasterClient } from '../../../cluster/client/master-client.ts';
import type { VersionClient } from '../../../cluster/client/version-client.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import { orAborted, pauseOrAborted, throwIfAborted } from '../../../cluster/waiting.ts';
import { createLaneWork, type LaneStep, type LaneWork } from '../../../core/rounds/lane-work.ts';
import type { RoundPlan } from '../../../core/rounds/plan.ts';
import type { Model, PulledValues } from '../../../model/model.ts';
import { backoffMs, pause } from '../../../store/backoff.ts';
import type { IdRouter } from '../../../tensor/id-router.ts';
import type { Activity } from '../activity.ts';
import { DATA_CODES } from '../tasks/dealt-task.ts';
import type { LaneAssignment } from './lane-assignment.ts';
import { computeLane, type LaneBatches, prepareLanes } from './lane-batches.ts';
import type { LaneReader } from './lane-reader.ts';
import { logBarrierWait } from './log-barrier-wait.ts';

const REQUEST_TIMEOUT_MS = 10_000;
/** A lane that could not be computed here is tried again after so long, if it is still this trainer's. */
const TRY_AGAIN_MS = 1_000;
/** Asked to stop: for the lanes of the round in work to arrive. */
const DRAIN_MS = 3_000;
/** After so long of computing what is computed goes out, and the rest of the process has its turn. */
const BREATH_MS = 20;

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
  readonly lanes: LaneAssignment;
  /** Aborts when the trainer is to end. */
  readonly over: AbortSignal;
  /** Asked to stop: the others go on with the round, or all go on with it another time. */
  readonly isDraining: () => boolean;
}

/** Returns when all rounds are done. */
export async function runRounds(options: RoundLoopOptions): Promise<void> {
  const loop = new RoundLoop(options);
  try {
    await loop.run();
  } finally {
    options.activity.end();
    await loop.drain();
  }
}

/** Values of a version with the batches that they were pulled for. */
interface Hand {
  readonly timeline: number;
  readonly batches: LaneBatches;
  readonly values: PulledValues | undefined;
}

class RoundLoop {
  readonly #options: RoundLoopOptions;
  readonly #work: LaneWork<LaneDelivery>;
  #hand: Hand | undefined;
  /** Batches that are being made ready before they are wanted. */
  #early:
    | { readonly round: number; readonly lanes: readonly number[]; readonly batches: Promise<LaneBatches> }
    | undefined;
  #signal: { readonly steady: AbortSignal; readonly either: AbortSignal } | undefined;
  /** Disturbances since a version was last confirmed. */
  #troubles = 0;

  constructor(options: RoundLoopOptions) {
    const { plan, record } = options;
    this.#options = options;
    this.#work = createLaneWork(plan.firstOf(record.job.training.passes));
  }

  async run(): Promise<void> {
    const { lanes, over } = this.#options;
    for (;;) {
      throwIfAborted(over);
      if (lanes.isOver()) return;
      this.#work.assigned(lanes.mine());
      try {
        await this.#take(this.#work.next());
      } catch (error) {
        if (!isPaddletError(error)) throw error;
        throwIfAborted(over);
        // Other lanes than before: look what is to be done now.
        if (error.code === 'Interrupted') continue;
        if (error.code !== 'VersionGone' && error.code !== 'RoundAhead' && error.code !== 'StaleTimeline') throw error;
        await this.#disturbed(error);
      }
    }
  }

  /** Hands the lanes back, and sees to it that the round does not have to wait for what is computed already. */
  async drain(): Promise<void> {
    const { id, isDraining, master, record } = this.#options;
    if (!isDraining()) return;
    const header = { type: 'returnLanes' as const, job: record.id, batchPlanId: record.batchPlanId, trainer: id };
    await Promise.all([master.tell({ header }), this.#deliverKept()]);
  }

  async #deliverKept(): Promise<void> {
    const { client, context } = this.#options;
    const kept = this.#work.kept();
    if (kept.length === 0) return;
    const late = new AbortController();
    const cancel = context.host.clock.after(DRAIN_MS, () => late.abort());
    try {
      await client.deliver(kept, late.signal);
    } catch (error) {
      if (!isPaddletError(error)) throw error;
      // Another trainer computes them.
      context.host.log.info(`lanes of the round in work are left behind: ${error.message}`);
    } finally {
      cancel();
    }
  }

  /** Aborts when the trainer is to end or has other lanes than now. */
  #until(): AbortSignal {
    const { over, lanes } = this.#options;
    const steady = lanes.steady();
    if (this.#signal?.steady !== steady) this.#signal = { steady, either: AbortSignal.any([over, steady]) };
    return this.#signal.either;
  }

  async #take(step: LaneStep): Promise<void> {
    const { activity, client, lanes, over, reader } = this.#options;
    switch (step.do) {
      case 'standBy':
        activity.enter('idle');
        this.#forget();
        reader.ahead(0, []);
        await lanes.changed.until(() => (lanes.isOver() || lanes.mine().length > 0 ? true : undefined), over);
        return;
      case 'look':
        activity.enter('wait');
        this.#work.positionKnown(await client.roundPosition({}, this.#until()));
        return;
      case 'finished':
        activity.enter('idle');
        this.#forget();
        // Until the master says so too; or all are set back to a cut.
        this.#work.positionKnown(await client.roundPosition({ above: this.#work.at()!.version }, this.#until()));
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

  #forget(): void {
    this.#hand = undefined;
    this.#early = undefined;
  }

  async #disturbed(error: PaddletError): Promise<void> {
    const { context, over } = this.#options;
    context.host.log.debug(`looking again where the rounds stand: ${error.code}: ${error.message}`);
    this.#forget();
    this.#work.disturbed();
    this.#troubles += 1;
    if (this.#troubles > 2) await pauseOrAborted(context.host.clock, backoffMs(this.#troubles - 3), over);
  }

  /** Of those lanes first what values are at hand for. */
  async #compute(lanes: readonly number[]): Promise<void> {
    const { activity, client, reader } = this.#options;
    const { timeline, version } = this.#work.at()!;
    const hand = this.#hand;
    this.#hand = undefined;
    if (hand !== undefined && hand.timeline === timeline && hand.batches.round === version) {
      const ready = lanes.filter((lane) => hand.batches.records.has(lane));
      if (ready.length > 0) {
        await this.#push(hand, ready);
        return;
      }
    }
    activity.enter('read');
    reader.ahead(version, this.#options.lanes.mine());
    const batches = await orAborted(prepareLanes(this.#options, version, lanes), this.#until());
    for (const [lane, error] of batches.failures) await this.#fail(version, lane, error);
    if (batches.records.size === 0) return;
    activity.enter('pull');
    let values: PulledValues | undefined;
    try {
      values = await client.exchange({ at: { timeline, version }, ids: batches.ids, deliveries: [] }, this.#until());
    } catch (error) {
      if (!isFatal(error)) throw error;
      for (const lane of batches.records.keys()) await this.#fail(version, lane, error);
      return;
    }
    await this.#push({ timeline, batches, values }, [...batches.records.keys()]);
  }

  async #push(hand: Hand, lanes: readonly number[]): Promise<void> {
    await this.#pushEach(hand, lanes);
    if (hand.values !== undefined) this.#options.client.recycle(hand.values);
  }

  async #pushEach({ timeline, batches, values }: Hand, lanes: readonly number[]): Promise<void> {
    const { activity, client, context, model } = this.#options;
    const { clock } = context.host;
    const version = batches.round;
    let breathedMs = clock.monotonicMs();
    for (const lane of lanes) {
      activity.enter('compute');
      if (clock.monotonicMs() - breathedMs > BREATH_MS) {
        await pause(clock, 0);
        breathedMs = clock.monotonicMs();
        // Others were faster with the rest.
        if (client.isPast({ timeline, version })) {
          this.#confirmed();
          return;
        }
      }
      try {
        const push = computeLane(model, batches, lane, { timeline, values });
        activity.enter('push');
        this.#work.computed(lane, client.begin(push));
        activity.trained(push.records, push.metrics);
      } catch (error) {
        if (!isPaddletError(error)) throw error;
        await this.#fail(version, lane, error);
      }
    }
  }

  #confirmed(): void {
    this.#work.confirmed();
    this.#troubles = 0;
  }

  async #exchange(): Promise<void> {
    const { activity, client, context, lanes, plan, reader } = this.#options;
    const { timeline, version } = this.#work.at()!;
    const next = version + 1;
    const mine = plan.placeOf(next) === undefined ? [] : lanes.mine();
    reader.ahead(next, mine);
    const batches = await orAborted(this.#batchesOf(next, mine), this.#until());
    const barrier = logBarrierWait(context.host, version, lanes);
    const retry = this.#retrySoon();
    activity.enter('push');
    try {
      const values = await client.exchange(
        {
          at: { timeline, version: next },
          ids: batches.ids,
          deliveries: this.#work.kept(),
          onSent: () => this.#prepareEarly(next + 1, mine),
          onPending: barrier.pending,
          onDelivered: () => activity.enter('wait'),
        },
        retry === undefined ? this.#until() : AbortSignal.any([this.#until(), retry.signal]),
      );
      this.#confirmed();
      this.#hand = { timeline, batches, values };
    } catch (error) {
      if (retry?.signal.aborted === true) this.#work.retry();
      if (!isFatal(error)) throw error;
      await this.#exchangeFailed(error, version, batches);
    } finally {
      barrier.cancel();
      retry?.cancel();
    }
  }

  async #exchangeFailed(error: PaddletError, version: number, batches: LaneBatches): Promise<void> {
    const { context, over } = this.#options;
    const lane = laneOfError(error);
    if (lane !== undefined) {
      await this.#fail(version, lane, error);
      return;
    }
    if (batches.lanes.length === 0) throw error;
    for (const one of batches.lanes) await this.#report(batches.round, one, error);
    await pauseOrAborted(context.host.clock, TRY_AGAIN_MS, over);
  }

  #batchesOf(round: number, lanes: readonly number[]): Promise<LaneBatches> {
    const early = this.#early;
    this.#early = undefined;
    if (early?.round === round && isSame(early.lanes, lanes)) return early.batches;
    return prepareLanes(this.#options, round, lanes);
  }

  /** While the answer is on its way. */
  #prepareEarly(round: number, lanes: readonly number[]): void {
    if (this.#early?.round === round || this.#options.plan.placeOf(round) === undefined) return;
    const batches = prepareLanes(this.#options, round, lanes);
    batches.catch(() => {});
    this.#early = { round, lanes, batches };
  }

  #retrySoon(): { readonly signal: AbortSignal; readonly cancel: () => void } | undefined {
    if (!this.#work.hasFailed()) return undefined;
    const soon = new AbortController();
    const cancel = this.#options.context.host.clock.after(TRY_AGAIN_MS, () => soon.abort());
    return { signal: soon.signal, cancel };
  }

  async #fail(round: number, lane: number, error: PaddletError): Promise<void> {
    this.#work.failed(lane);
    await this.#report(round, lane, error);
  }

  async #report(round: number, lane: number, error: PaddletError): Promise<void> {
    const { context, id, master, over, record } = this.#options;
    if (error.code === 'Interrupted') throw error;
    context.host.log.error(`lane ${lane} of round ${round} failed: ${error.code}: ${error.message}`);
    const { timeline } = this.#work.at()!;
    const header = {
      type: 'failLane' as const,
      job: record.id,
      batchPlanId: record.batchPlanId,
      trainer: id,
      timeline,
      round,
      lane,
      code: error.code,
      error: error.message.slice(0, 4000),
      data: DATA_CODES.has(error.code),
    };
    (await master.request({ header }, { timeoutMs: REQUEST_TIMEOUT_MS, signal: over })).free();
  }

  async #reportStuck(): Promise<void> {
    const { activity, client, context, id, master, record } = this.#options;
    activity.enter('wait');
    const before = this.#work.at()!;
    const until = this.#until();
    // The pservers were asked one beside the other: they may have been about to move on.
    const now = await client.roundPosition({}, until);
    this.#work.positionKnown(now);
    if (now.timeline !== before.timeline || now.version !== before.version || now.oldest <= now.version) return;
    const kept = this.#work.kept();
    if (kept.length > 0) await client.deliver(kept, until);
    const { timeline, version: round } = now;
    context.host.log.warn(`round ${round} is stuck: a pserver has no version ${round} any more to compute it from`);
    const header = {
      type: 'roundStuck' as const,
      job: record.id,
      batchPlanId: record.batchPlanId,
      trainer: id,
      timeline,
      round,
    };
    (await master.request({ header }, { timeoutMs: REQUEST_TIMEOUT_MS, signal: until })).free();
    this.#work.positionKnown(await client.roundPosition({ above: round }, until));
  }
}

const isSame = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((one, i) => one === b[i]);

/** Not one to look again after, and not an interruption. */
const isFatal = (error: unknown): error is PaddletError =>
  isPaddletError(error) && error.action === 'fatal' && error.code !== 'Interrupted';
