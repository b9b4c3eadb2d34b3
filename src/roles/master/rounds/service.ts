/**
 * The shell around the dealer of lanes: answers trainers, times it, and fails the job when a lane cannot be computed.
 */
import { unreachable } from '../../../base/assert.ts';
import { isPaddletError, PaddletError } from '../../../base/errors.ts';
import type { Cancel } from '../../../base/seams.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import { createSignal, untilOrLate } from '../../../cluster/waiting.ts';
import { createLaneDealer } from '../../../core/rounds/lane-dealer.ts';
import type { LaneDealer, LaneEffect, LaneEvent } from '../../../core/rounds/lane-events.ts';
import { dataFaultOf } from '../../../core/tasks/failure.ts';
import type { RequestHeader } from '../../../protocol/messages/all-messages.ts';

type FailLane = Extract<RequestHeader, { type: 'failLane' }>;

export interface LanesAnswer {
  readonly number: number;
  /** All rounds that may be computed are done. */
  readonly done: boolean;
  readonly until: number;
  readonly owners: readonly (readonly string[])[];
}

export interface LanesAsker {
  readonly trainer: string;
  /** Number of the assignment that it knows. */
  readonly known: number;
  readonly maxWaitMs: number;
  /** Aborts when the connection of the trainer has ended. */
  readonly closed: AbortSignal;
}

export interface LaneService {
  /** Waits until it is another answer than the one known, or `isWanted`, or so long. */
  getLanes(asker: LanesAsker): Promise<LanesAnswer>;
  /** What the lane is; undefined when the trainer does not have it. */
  failed(report: FailLane): string | undefined;
  tell(event: Extract<LaneEvent, { type: 'roster' | 'joined' | 'left' | 'gone' | 'rounds' }>): void;
  /** Whether all rounds up to there are done: then trainers look for other work. */
  setDone(done: boolean): void;
  /** More rounds may be computed. */
  goOn(until: number): void;
  /** Wakes those who wait, to look again. */
  readonly wake: () => void;
  owners(): readonly (readonly string[])[];
  missingTrainers(): number;
  /** Lanes that got a second trainer so far. */
  readonly helped: () => number;
  close(): void;
}

export interface LaneServiceOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  /** Rounds that may be computed, before `goOn`. */
  readonly until: number;
  /** File and records of a lane in a round, for people. */
  readonly describe: (round: number, lane: number) => string;
  /** False while the master is cut off from the store: then no lane is late. */
  readonly isHeld: () => boolean;
  /** Trainers that wait for lanes are wanted for something else. */
  readonly isWanted: () => boolean;
  /** Ask the pservers for their versions now. */
  readonly look: () => void;
  /** The job cannot go on. */
  readonly onFatal: (error: PaddletError) => void;
}

/** No lane is late before this: help costs more than it can save. */
const FLOOR_MS = 200;
/** Two masters in a row are not to count alike: what a trainer knows of one is then nothing to the next. */
const FIRST_NUMBERS = 2 ** 40;

const ending = (): PaddletError => new PaddletError('NotReady', 'this master is ending; another one takes over');

export const createLaneService = (options: LaneServiceOptions): LaneService => new Service(options);

class Service implements LaneService {
  readonly #options: LaneServiceOptions;
  readonly #dealer: LaneDealer;
  readonly #changed = createSignal();
  readonly #closed = new AbortController();
  /** What the trainer says whose report is being judged. */
  #complaint = '';
  #cancelTick: Cancel = () => {};
  #done = false;
  #until: number;
  /** Until the live trainers are known, no trainer is asked to give up the lanes that another master gave it. */
  #isRosterKnown = false;
  /** Changes that the dealer knows nothing of. */
  #otherChanges = 0;

  constructor(options: LaneServiceOptions) {
    this.#options = options;
    this.#until = options.until;
    const { training, cluster } = options.record.job;
    this.#dealer = createLaneDealer({
      lanes: training.lanes,
      minTrainers: cluster.minTrainers,
      maxTrainers: cluster.maxTrainers,
      floorMs: FLOOR_MS,
      firstNumber: 1 + Math.floor(options.context.host.random.fraction() * FIRST_NUMBERS),
    });
  }

  readonly wake = this.#changed.notify;
  readonly helped = (): number => this.#dealer.helped();

  async getLanes({ trainer, known, maxWaitMs, closed }: LanesAsker): Promise<LanesAnswer> {
    this.#submit({ type: 'asks', trainer });
    const { clock } = this.#options.context.host;
    const isNews = (): true | undefined =>
      this.#isRosterKnown && (this.#number() !== known || this.#options.isWanted()) ? true : undefined;
    const signal = AbortSignal.any([closed, this.#closed.signal]);
    try {
      await untilOrLate(this.#changed, isNews, { clock, maxWaitMs, signal });
    } catch (error) {
      if (!isPaddletError(error, 'Interrupted')) throw error;
      if (this.#closed.signal.aborted) throw ending();
    }
    if (!this.#isRosterKnown) throw new PaddletError('NotReady', 'this master does not know the live trainers yet');
    return { number: this.#number(), done: this.#done, until: this.#until, owners: this.owners() };
  }

  failed({ trainer, round, lane, code, error, hint, data }: FailLane): string | undefined {
    const { context, describe, record, onFatal } = this.#options;
    const { lanes } = record.job.training;
    if (lane >= lanes) throw new PaddletError('BadMessage', `lane ${lane}: the job has only ${lanes} lanes`);
    const fault = dataFaultOf({ code, data });
    if (!this.#dealer.hasLane(trainer, round, lane)) {
      context.host.log.warn(
        `trainer ${trainer} reports lane ${lane} of round ${round}, which it does not have: ignored`,
      );
      return undefined;
    }
    const described = describe(round, lane);
    if (fault !== undefined) {
      const what = `${described} cannot be computed, by trainer ${trainer}: ${error}`;
      onFatal(new PaddletError(fault, what, hint === undefined ? {} : { hint }));
      return described;
    }
    this.#complaint = `${code}: ${error}`;
    this.#submit({ type: 'failed', trainer, round, lane });
    return described;
  }

  tell(event: LaneEvent): void {
    this.#submit(event);
    if (event.type !== 'roster' || this.#isRosterKnown) return;
    this.#isRosterKnown = true;
    this.#changed.notify();
  }

  setDone(done: boolean): void {
    if (done === this.#done) return;
    this.#done = done;
    this.#otherChanges += 1;
    this.#changed.notify();
  }

  goOn(until: number): void {
    this.#until = until;
    this.#done = false;
    this.#otherChanges += 1;
    this.#changed.notify();
  }

  owners(): readonly (readonly string[])[] {
    return this.#dealer.assignment().owners;
  }

  missingTrainers(): number {
    return this.#dealer.missingTrainers();
  }

  close(): void {
    this.#closed.abort();
    this.#cancelTick();
  }

  #number(): number {
    return this.#dealer.assignment().number + this.#otherChanges;
  }

  #submit(event: LaneEvent): void {
    if (this.#closed.signal.aborted) return;
    const now = this.#options.context.host.clock.monotonicMs();
    for (const effect of this.#dealer.step(event, now)) this.#carryOut(effect);
    this.#armTick();
  }

  #armTick(): void {
    const { clock } = this.#options.context.host;
    this.#cancelTick();
    const due = this.#dealer.nextDeadline();
    if (due === undefined || this.#closed.signal.aborted) return;
    this.#cancelTick = clock.after(Math.max(0, due - clock.monotonicMs()), () => {
      // While cut off: looks again when the pservers are heard of next.
      if (this.#options.isHeld()) this.#submit({ type: 'tick' });
    });
  }

  #carryOut(effect: LaneEffect): void {
    const { context, look } = this.#options;
    switch (effect.type) {
      case 'assigned':
        this.#changed.notify();
        return;
      case 'look':
        look();
        return;
      case 'late': {
        const { lane, round, trainer, slow } = effect;
        context.host.log.info(`lane ${lane} of round ${round} is late: ${trainer} computes it too`, { slow });
        return;
      }
      case 'failure':
        this.#laneFailed(effect);
        return;
      default:
        unreachable(effect);
    }
  }

  #laneFailed({ round, lane, trainer, failures, died }: Extract<LaneEffect, { type: 'failure' }>): void {
    const { context, record, describe, onFatal } = this.#options;
    const { maxFailures } = record.job.tasks;
    const why = died ? 'the trainer left or died' : this.#complaint;
    context.host.log.warn(`lane ${lane} of round ${round} not received from trainer ${trainer}: ${why}`, { failures });
    if (failures <= maxFailures) return;
    const what = `${describe(round, lane)} failed more than ${maxFailures} times`;
    onFatal(
      new PaddletError('LaneFailed', `${what}, last on trainer ${trainer}: ${why}`, {
        hint: 'sync mode cannot skip records: check these records and the log of the trainer',
      }),
    );
  }
}
