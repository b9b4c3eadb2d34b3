/**
 * Tells the master which tasks are done, several in one request. What is done while the trainer has other tasks waits a
 * little for more; the master saves the reports of one request together.
 */
import type { Cancel, Clock } from '../../../base/seams.ts';
import { jobFields } from '../../../cluster/client/job-fields.ts';
import type { TaskEnd } from '../../../protocol/messages/all-messages.ts';
import { fromErrorHeader } from '../../../protocol/messages/error-header.ts';
import type { TaskLoopOptions } from './loop-options.ts';

/** So long a task that is done waits for others. */
export const END_WAIT_MS = 20;

interface Waiting {
  readonly end: TaskEnd;
  readonly told: PromiseWithResolvers<void>;
}

export interface EndReportsOptions extends Pick<TaskLoopOptions, 'master' | 'record' | 'id' | 'stopSignal'> {
  readonly clock: Clock;
  /** The trainer has other tasks to work at. */
  readonly mayWait: () => boolean;
}

export class EndReports {
  readonly #options: EndReportsOptions;
  #waiting: Waiting[] = [];
  #cancelTimer: Cancel | undefined;

  constructor(options: EndReportsOptions) {
    this.#options = options;
  }

  /** Resolves when the master has taken the task for done, and rejects with what it is refused with. */
  tell(end: TaskEnd): Promise<void> {
    const told = Promise.withResolvers<void>();
    this.#waiting.push({ end, told });
    if (!this.#options.mayWait()) this.flush();
    else this.#cancelTimer ??= this.#options.clock.after(END_WAIT_MS, () => this.flush());
    return told.promise;
  }

  /** The trainer has nothing else to do, or has to ask the master anyway. */
  flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const ended = this.#waiting;
    if (ended.length === 0) return;
    this.#waiting = [];
    this.#send(ended).catch((error: unknown) => {
      for (const { told } of ended) told.reject(error);
    });
  }

  /**
   * On leaving: the ends that are still to be reported, if any, before the other tasks are given back; the master takes
   * the first report. The promises of these ends are not settled.
   */
  close() {
    this.#cancelTimer?.();
    const left = this.#waiting;
    this.#waiting = [];
    return left.length === 0 ? undefined : { header: this.#header(left) };
  }

  #header(ended: readonly Waiting[]) {
    const { record, id } = this.#options;
    const ends = ended.map(({ end }) => end);
    return { type: 'finishTasks' as const, ...jobFields(record), trainer: id, ends };
  }

  async #send(ended: readonly Waiting[]): Promise<void> {
    const { master, stopSignal } = this.#options;
    const reply = await master.request({ header: this.#header(ended) }, { signal: stopSignal });
    reply.free();
    for (const { at, error } of reply.header.refused) ended[at]?.told.reject(fromErrorHeader(error, 'the master'));
    for (const { told } of ended) told.resolve();
  }
}
