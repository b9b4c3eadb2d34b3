/** What the trainer is doing. It is reported to the master periodically: for timeouts, stragglers and `status`. */
import type { Clock } from '../../base/seams.ts';
import { isSameAttempt, type TaskAddress } from '../../core/tasks/address.ts';
import type { Phase } from '../../core/tasks/events.ts';
import type { MetricSums } from '../../model/model.ts';

export interface ActivityReport {
  readonly executing: (TaskAddress & { position: number }) | undefined;
  readonly phase: Phase;
  /** Records trained on since the start of this process. */
  readonly records: number;
  /** Mean loss of the latest records; undefined when it is not finite. */
  readonly loss: number | undefined;
}

export interface Activity {
  /** The signal aborts when the master says that this attempt no longer counts. */
  begin(executing: TaskAddress): AbortSignal;
  /** The master no longer counts this attempt. No effect when another attempt is being executed. */
  notLive(attempt: TaskAddress): void;
  end(): void;
  enter(phase: Phase): void;
  position(push: number): void;
  trained(records: number, metrics: MetricSums | undefined): void;
  report(): ActivityReport;
  /** Milliseconds spent in each phase. */
  spentMs(): Readonly<Record<Phase, number>>;
}

export function createActivity(clock: Clock): Activity {
  let executing: (TaskAddress & { position: number }) | undefined;
  let stopping = new AbortController();
  let phase: Phase = 'idle';
  let since = clock.monotonicMs();
  let records = 0;
  let loss: number | undefined;
  const spent: Record<Phase, number> = { start: 0, read: 0, pull: 0, compute: 0, push: 0, wait: 0, idle: 0 };

  const enter = (next: Phase): void => {
    const now = clock.monotonicMs();
    spent[phase] += now - since;
    since = now;
    phase = next;
  };
  return {
    begin(next) {
      executing = { ...next, position: 0 };
      stopping = new AbortController();
      enter('start');
      return stopping.signal;
    },
    notLive(attempt) {
      if (executing !== undefined && isSameAttempt(executing, attempt)) stopping.abort();
    },
    end() {
      executing = undefined;
      enter('idle');
    },
    enter,
    position(push) {
      if (executing !== undefined) executing = { ...executing, position: push };
    },
    trained(count, metrics) {
      records += count;
      if (metrics !== undefined && metrics.records > 0) loss = metrics.loss / metrics.records;
    },
    report: () => ({ executing, phase, records, loss: Number.isFinite(loss) ? loss : undefined }),
    spentMs: () => ({ ...spent, [phase]: spent[phase] + clock.monotonicMs() - since }),
  };
}
