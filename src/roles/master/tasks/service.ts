/**
 * The shell around one task queue: turns requests into events and effects into replies, times, log lines and saves. The
 * queue of training is saved; those of repairs and of the evaluation are in memory only.
 */
import { assert, unreachable } from '../../../base/assert.ts';
import { PaddletError } from '../../../base/errors.ts';
import type { Cancel } from '../../../base/seams.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { AttemptRef, TaskAddress } from '../../../core/tasks/address.ts';
import type { QueueEffect, QueueEvent, TaskQueue } from '../../../core/tasks/events.ts';
import type { DiscardedTask, PassTotals, TaskSums } from '../../../core/tasks/state.ts';
import type { TaskHistory } from './history.ts';
import type { SavePipeline } from './save-pipeline.ts';

export type TaskAnswer = readonly AttemptRef[] | 'wait' | 'none';

export interface TaskAsker {
  readonly trainer: string;
  readonly held: readonly TaskAddress[];
  /** Tasks that it takes. */
  readonly most: number;
  readonly maxWaitMs: number;
  /** Aborts when the connection of the trainer is closed. */
  readonly closed: AbortSignal;
}

export interface TaskService {
  readonly queue: TaskQueue;
  /** One task or more; `wait` when there is none within `maxWaitMs`, `none` when there will be none. */
  getTasks(asker: TaskAsker): Promise<TaskAnswer>;
  finish(ref: AttemptRef, sums: TaskSums): Promise<void>;
  fail(ref: AttemptRef, report: FailureReport): Promise<void>;
  giveBack(ref: AttemptRef, read: number): Promise<void>;
  /** Events that need no answer. */
  tell(event: Extract<QueueEvent, { type: 'roster' | 'joined' | 'gone' | 'progress' | 'resumed' | 'goOn' }>): void;
  /** Answers `wait` to all who wait: they are to ask again. */
  release(): void;
  /** Ends all decisions: requests that are not answered yet, or come later, get `NotReady`. */
  close(): void;
}

export interface FailureReport {
  readonly code: string;
  readonly error: string;
  readonly hint?: string | undefined;
  readonly data: boolean;
  readonly read: number;
}

export interface TaskServiceOptions {
  readonly context: RoleContext;
  readonly name: string;
  readonly queue: TaskQueue;
  /** Undefined for a queue that is not saved. */
  readonly pipeline: SavePipeline | undefined;
  /** History of the training queue, saved together with it. */
  readonly history?: TaskHistory;
  /** False while the master is cut off from the store: then no time counts against a trainer. */
  readonly isHeld: () => boolean;
  readonly onEnded: () => void;
  readonly onFailed: (discarded: DiscardedTask) => void;
  readonly onDiscarded: (discarded: DiscardedTask) => void;
  readonly onPassEnded: (pass: number, totals: PassTotals) => void;
}

/** The effects that answer one request: one, or one for each task that is dealt. */
type Answer = readonly [QueueEffect, ...QueueEffect[]];

/** A request that waits for its answer. */
interface Asker {
  readonly answer: (effects: Answer) => void;
  readonly refuse: (error: PaddletError) => void;
}

/** A tick so late means that this process was suspended, and heard nothing of what trainers did in that time. */
const SUSPENDED_MS = 1_000;

/** No request of a trainer: the answer to one that was cancelled. */
const CANCELLED = 0;

const ending = (): PaddletError => new PaddletError('NotReady', 'this master is ending; another one takes over');

export const createTaskService = (options: TaskServiceOptions): TaskService => new Service(options);

class Service implements TaskService {
  readonly queue: TaskQueue;
  readonly #options: TaskServiceOptions;
  readonly #askers = new Map<number, Asker>();
  /** Requests that the queue has not answered yet: an answer that waits for its save can no longer be cancelled. */
  readonly #cancellable = new Set<number>();
  /** Makes those that wait for a task ask again. */
  readonly #waiting = new Set<() => void>();
  #lastRequest = 0;
  #cancelTick: Cancel = () => {};
  #tickDueMs = Number.POSITIVE_INFINITY;
  #isClosed = false;

  constructor(options: TaskServiceOptions) {
    this.#options = options;
    this.queue = options.queue;
  }

  async getTasks({ trainer, held, most, maxWaitMs, closed }: TaskAsker): Promise<TaskAnswer> {
    let request = CANCELLED;
    const giveUp = (): void => {
      if (!this.#cancellable.delete(request)) return;
      this.#submit({ type: 'cancel', request });
      this.#answer(request, [{ type: 'none', request: CANCELLED }]);
    };
    if (closed.aborted) return 'wait';
    const asked = this.#ask((number) => {
      request = number;
      return { type: 'get', trainer, held, most, request };
    });
    this.#waiting.add(giveUp);
    const cancelTimer = this.#options.context.host.clock.after(maxWaitMs, giveUp);
    closed.addEventListener('abort', giveUp, { once: true });
    try {
      const [effect, ...others] = await asked;
      if (effect.type === 'deal')
        return [effect, ...others].flatMap((one) => (one.type === 'deal' ? [one.attempt] : []));
      assert(effect.type === 'none', 'a request for tasks is dealt some or none');
      return effect.request === CANCELLED ? 'wait' : 'none';
    } finally {
      this.#waiting.delete(giveUp);
      cancelTimer();
      closed.removeEventListener('abort', giveUp);
    }
  }

  finish(ref: AttemptRef, sums: TaskSums): Promise<void> {
    return this.#report((request) => ({ type: 'finish', ...ref, sums, request }));
  }

  fail(ref: AttemptRef, report: FailureReport): Promise<void> {
    return this.#report((request) => ({ type: 'fail', ...ref, ...report, request }));
  }

  giveBack(ref: AttemptRef, read: number): Promise<void> {
    return this.#report((request) => ({ type: 'return', ...ref, read, request }));
  }

  tell(event: QueueEvent): void {
    this.#submit(event);
  }

  release(): void {
    for (const giveUp of [...this.#waiting]) giveUp();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelTick();
    for (const asker of this.#askers.values()) asker.refuse(ending());
    this.#askers.clear();
  }

  #submit(event: QueueEvent): void {
    if (this.#isClosed) return;
    const now = this.#options.context.host.clock.monotonicMs();
    if (now > this.#tickDueMs + SUSPENDED_MS) this.#step({ type: 'resumed' }, now);
    this.#step(event, now);
    this.#armTick();
  }

  #step(event: QueueEvent, now: number): void {
    const { pipeline, history } = this.#options;
    const effects = this.queue.step(event, now);
    const dealt = Map.groupBy(effects.filter(isDeal), ({ request }) => request);
    const thens = effects.map((effect) => this.#thenOf(effect, dealt)).filter((then) => then !== undefined);
    const changes = effects[0]?.type === 'save' ? effects[0].changes : [];
    const save = [...changes, ...(history?.step(event, effects) ?? [])];
    if (pipeline === undefined) for (const then of thens) then();
    else if (save.length > 0 || thens.length > 0) pipeline.save(save, thens);
  }

  #armTick(): void {
    const { clock } = this.#options.context.host;
    this.#cancelTick();
    const due = this.queue.nextDeadline();
    this.#tickDueMs = due ?? Number.POSITIVE_INFINITY;
    if (due === undefined || this.#isClosed) return;
    this.#cancelTick = clock.after(Math.max(0, due - clock.monotonicMs()), () => {
      // Once the store answers again, `resumed` comes and the next tick is set.
      if (this.#options.isHeld()) this.#submit({ type: 'tick' });
    });
  }

  /** What to do once the changes that the effect rests on are saved. */
  #thenOf(effect: QueueEffect, dealt: ReadonlyMap<number, readonly QueueEffect[]>): (() => void) | undefined {
    const { name, context, onDiscarded, onPassEnded, onEnded, onFailed } = this.#options;
    const { log } = context.host;
    switch (effect.type) {
      case 'save':
        return undefined;
      case 'deal':
        // With its first task a request is answered with all.
        if (!this.#cancellable.delete(effect.request)) return undefined;
        return () => this.#answer(effect.request, [effect, ...dealt.get(effect.request)!.slice(1)]);
      case 'none':
      case 'accept':
      case 'refuse':
        this.#cancellable.delete(effect.request);
        return () => this.#answer(effect.request, [effect]);
      case 'speculated':
        log.info(`${name}: task ${effect.task} is copied to ${effect.trainer}: ${effect.slow} is slow`, {
          pass: effect.pass,
        });
        return undefined;
      case 'requeued':
        log.info(`${name}: task ${effect.task} is returned to the queue: ${effect.why}`, { pass: effect.pass });
        return undefined;
      case 'discarded': {
        const { task, where, code, error } = effect.task;
        log.error(`${name}: task ${task} (${where}) discarded: ${code}: ${error}`);
        return () => onDiscarded(effect.task);
      }
      case 'passEnded':
        return () => onPassEnded(effect.pass, effect.totals);
      case 'ended':
        return onEnded;
      case 'failed':
        return () => onFailed(effect.discarded);
      default:
        return unreachable(effect);
    }
  }

  #ask(makeEvent: (request: number) => QueueEvent): Promise<Answer> {
    if (this.#isClosed) return Promise.reject(ending());
    return new Promise((resolve, reject) => {
      this.#lastRequest += 1;
      const request = this.#lastRequest;
      this.#askers.set(request, { answer: resolve, refuse: reject });
      this.#cancellable.add(request);
      this.#submit(makeEvent(request));
    });
  }

  #answer(request: number, effects: Answer): void {
    this.#askers.get(request)?.answer(effects);
    this.#askers.delete(request);
  }

  async #report(makeEvent: (request: number) => QueueEvent): Promise<void> {
    const [answer] = await this.#ask(makeEvent);
    if (answer.type === 'refuse') throw new PaddletError(answer.code, answer.message);
    assert(answer.type === 'accept', 'a report is accepted or refused');
  }
}

const isDeal = (effect: QueueEffect): effect is Extract<QueueEffect, { type: 'deal' }> => effect.type === 'deal';
