/** What the trainer is doing. It is reported to the master periodically: for timeouts, stragglers and `status`. */
import { PhaseTimes } from '../../base/phase-times.ts';
import type { Clock } from '../../base/seams.ts';
import { TRAINER_TIMES, type TrainerTime } from '../../cluster/role-times.ts';
import { isSameAttempt, type TaskAddress } from '../../core/tasks/address.ts';
import type { Phase } from '../../core/tasks/events.ts';
import type { MetricSums } from '../../model/model.ts';

export interface ActivityReport {
  readonly executing: (TaskAddress & { position: number }) | undefined;
  /** Phase of the loop that trains; work that interrupts the loop is not reported to the master. */
  readonly phase: Phase;
  /** Records trained on since the start of this process. */
  readonly records: number;
  /** Mean loss of the latest records; undefined when it is not finite. */
  readonly loss: number | undefined;
}

export interface Activity {
  /** `stopping` is aborted when the master says that this attempt no longer counts. */
  begin(executing: TaskAddress, stopping: AbortController): void;
  /** The master no longer counts this attempt. No effect when another attempt is being executed. */
  notLive(attempt: TaskAddress): void;
  end(): void;
  enter(phase: Phase): void;
  /** No effect when another task is being executed: the last pushes of one are acknowledged later. */
  position(of: { readonly pass: number; readonly task: number }, push: number): void;
  trained(records: number, metrics: MetricSums | undefined): void;
  report(): ActivityReport;
  /** Mean loss of the latest records, even if it is not finite. */
  latestLoss(): number | undefined;
  sawBadGradient(): void;
  badGradients(): number;
  /** Time in the current phase, in milliseconds. */
  phaseMs(): number;
  /** For work of the thread that interrupts the loop: reading a kept task, parsing, routing ids. */
  readonly times: Pick<PhaseTimes<TrainerTime>, 'during'>;
  /** Milliseconds spent in each phase. */
  spentMs(): Readonly<Record<TrainerTime, number>>;
  /**
   * Milliseconds from the end of each task until the first batch of the next one was computed. They are in phases, too.
   */
  changeoverMs(): number;
}

export function createActivity(clock: Clock): Activity {
  let executing: (TaskAddress & { position: number }) | undefined;
  let stopping: AbortController | undefined;
  let phase: Phase = 'idle';
  let phaseSinceMs = clock.monotonicMs();
  let records = 0;
  let loss: number | undefined;
  let badGradients = 0;
  let changeoverMs = 0;
  let endedMs: number | undefined;
  const times = new PhaseTimes<TrainerTime>(clock, TRAINER_TIMES);

  const enter = (next: Phase): void => {
    if (next === 'compute' && endedMs !== undefined) {
      changeoverMs += clock.monotonicMs() - endedMs;
      endedMs = undefined;
    }
    if (next !== phase) phaseSinceMs = clock.monotonicMs();
    phase = next;
    times.enter(next);
  };
  return {
    begin(next, controller) {
      executing = { ...next, position: 0 };
      stopping = controller;
      enter('start');
    },
    notLive(attempt) {
      if (executing !== undefined && isSameAttempt(executing, attempt)) stopping?.abort();
    },
    end() {
      // If two tasks end without a batch in between, the end of the first one counts.
      if (executing !== undefined) endedMs ??= clock.monotonicMs();
      executing = undefined;
      enter('idle');
    },
    enter,
    position({ pass, task }, push) {
      if (executing?.pass === pass && executing.task === task) executing = { ...executing, position: push };
    },
    trained(count, metrics) {
      records += count;
      if (metrics !== undefined && metrics.weight > 0) loss = metrics.loss / metrics.weight;
    },
    report: () => ({ executing, phase, records, loss: Number.isFinite(loss) ? loss : undefined }),
    latestLoss: () => loss,
    sawBadGradient: () => {
      badGradients += 1;
    },
    badGradients: () => badGradients,
    phaseMs: () => clock.monotonicMs() - phaseSinceMs,
    times,
    spentMs: () => times.spentMs(),
    changeoverMs: () => changeoverMs,
  };
}
