/** The shell around the dealer of lanes: answers trainers, times it, and gives the job up when a lane cannot be computed. */
import { unreachable } from '../../../base/assert.ts';
import { CODES, type ErrorCode, isErrorCode, isPaddletError, PaddletError } from '../../../base/errors.ts';
import type { Cancel } from '../../../base/seams.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import { createSignal } from '../../../cluster/waiting.ts';
import { createLaneDealer, type LaneEffect, type LaneEvent } from '../../../core/rounds/lane-dealer.ts';
import type { RequestHeader } from '../../../protocol/messages/messages.ts';

type FailLane = Extract<RequestHeader, { type: 'failLane' }>;

export interface LanesAnswer {
  readonly number: number;
  readonly over: boolean;
  readonly owners: readonly (readonly string[])[];
}

export interface LaneService {
  /** Waits until it is another answer than the one known, or `isWanted`, or so long. */
  getLanes(asker: { trainer: string; known: number; maxWaitMs: number; closed: AbortSignal }): Promise<LanesAnswer>;
  failed(report: FailLane): void;
  tell(event: Extract<LaneEvent, { type: 'roster' | 'joined' | 'left' | 'gone' | 'rounds' }>): void;
  /** Whether all rounds are done: then trainers look for other work. */
  setOver(over: boolean): void;
  /** Wakes those who wait, to look again. */
  wake(): void;
  owners(): readonly (readonly string[])[];
  missingTrainers(): number;
  /** Lanes that got a second trainer so far. */
  helped(): number;
  close(): void;
}

export interface LaneDeskOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  /** File and records of a lane in a round, for people. */
  readonly describe: (round: number, lane: number) => string;
  /** False while the master is cut off from the store: then nobody is late. */
  readonly isHeld: () => boolean;
  /** Whoever waits for lanes is wanted for something else. */
  readonly isWanted: () => boolean;
  /** Find out where the rounds stand now. */
  readonly look: () => void;
  /** The job cannot go on. */
  readonly fail: (error: PaddletError) => void;
}

/** No lane is late before this: help costs more than it can save. */
const FLOOR_MS = 200;
/** Two masters in a row are not to count alike: what a trainer knows of one is then nothing to the next. */
const FIRST_NUMBERS = 2 ** 40;

/** What is tried again by others would not end the job. */
const fatal = (code: string): ErrorCode => (isErrorCode(code) && CODES[code].action === 'fatal' ? code : 'LaneFailed');

const ending = (): PaddletError => new PaddletError('NotReady', 'this master is ending; another one takes over');

export function createLaneService(options: LaneDeskOptions): LaneService {
  const { context, record, fail, describe } = options;
  const { clock, log, random } = context.host;
  const { training, cluster, tasks } = record.job;
  const dealer = createLaneDealer({
    lanes: training.lanes,
    minTrainers: cluster.minTrainers,
    maxTrainers: cluster.maxTrainers,
    floorMs: FLOOR_MS,
    firstNumber: 1 + Math.floor(random.fraction() * FIRST_NUMBERS),
  });
  const changed = createSignal();
  const closed = new AbortController();
  /** What the trainer says whose report is being judged. */
  let complaint = '';
  let cancelTick: Cancel = () => {};
  let over = false;
  /** Before the live trainers are known nobody is told to lay down the lanes that another master dealt. */
  let isRosterKnown = false;
  /** Changes that the dealer knows nothing of. */
  let others = 0;

  const number = (): number => dealer.assignment().number + others;

  function submit(event: LaneEvent): void {
    if (closed.signal.aborted) return;
    for (const effect of dealer.step(event, clock.monotonicMs())) carryOut(effect);
    armTick();
  }

  function armTick(): void {
    cancelTick();
    const due = dealer.nextDeadline();
    if (due === undefined || closed.signal.aborted) return;
    cancelTick = clock.after(Math.max(0, due - clock.monotonicMs()), () => {
      // While cut off: looks again when where the rounds stand is heard of next.
      if (options.isHeld()) submit({ type: 'tick' });
    });
  }

  function carryOut(effect: LaneEffect): void {
    switch (effect.type) {
      case 'assigned':
        changed.notify();
        return;
      case 'look':
        options.look();
        return;
      case 'late':
        log.info(`lane ${effect.lane} of round ${effect.round}: ${effect.trainer} computes it too`, {
          slow: effect.slow,
        });
        return;
      case 'failure':
        laneFailed(effect);
        return;
      default:
        unreachable(effect);
    }
  }

  function laneFailed({ round, lane, trainer, failures, died }: Extract<LaneEffect, { type: 'failure' }>): void {
    const why = died ? 'the trainer left or died' : complaint;
    log.warn(`lane ${lane} of round ${round} is not there from trainer ${trainer}: ${why}`, { failures });
    if (failures <= tasks.maxFailures) return;
    fail(
      new PaddletError(
        'LaneFailed',
        `${describe(round, lane)} failed more than ${tasks.maxFailures} times, last on trainer ${trainer}: ${why}`,
        { hint: 'mode sync leaves nothing out: look at these records and at the log of the trainer' },
      ),
    );
  }

  return {
    async getLanes({ known, maxWaitMs, closed: gone }) {
      const late = new AbortController();
      const cancel = clock.after(maxWaitMs, () => late.abort());
      const isNews = (): true | undefined =>
        isRosterKnown && (number() !== known || options.isWanted()) ? true : undefined;
      try {
        await changed.until(isNews, AbortSignal.any([late.signal, gone, closed.signal]));
      } catch (error) {
        if (!isPaddletError(error, 'Interrupted')) throw error;
        if (closed.signal.aborted) throw ending();
      } finally {
        cancel();
      }
      if (!isRosterKnown) throw new PaddletError('NotReady', 'this master does not know the live trainers yet');
      return { number: number(), over, owners: dealer.assignment().owners };
    },
    failed({ trainer, round, lane, code, error, data }) {
      if (lane >= training.lanes) throw new PaddletError('BadMessage', `lane ${lane}: the job has ${training.lanes}`);
      if (data) {
        fail(
          new PaddletError(fatal(code), `${describe(round, lane)} cannot be computed, by trainer ${trainer}: ${error}`),
        );
        return;
      }
      complaint = `${code}: ${error}`;
      submit({ type: 'failed', trainer, round, lane });
    },
    tell(event) {
      submit(event);
      if (event.type !== 'roster' || isRosterKnown) return;
      isRosterKnown = true;
      changed.notify();
    },
    setOver(now) {
      if (now === over) return;
      over = now;
      others += 1;
      changed.notify();
    },
    wake: changed.notify,
    owners: () => dealer.assignment().owners,
    missingTrainers: dealer.missingTrainers,
    helped: dealer.helped,
    close() {
      closed.abort();
      cancelTick();
    },
  };
}
