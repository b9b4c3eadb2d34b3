/**
 * The shell around one task queue: turns requests into events and effects into answers, times, log lines and saves.
 * Training has one desk whose queue is saved; evaluation has another whose queue lives in memory only.
 */
import { assert, unreachable } from '../../../base/assert.ts';
import { PaddletError } from '../../../base/errors.ts';
import type { Cancel } from '../../../base/seams.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { AttemptRef, QueueEffect, QueueEvent, TaskQueue } from '../../../core/tasks/events.ts';
import type { DiscardedTask, PassTotals, TaskSums } from '../../../core/tasks/state.ts';
import type { SavePipeline } from './save-pipeline.ts';

export type TaskAnswer = { readonly attempt: AttemptRef } | 'wait' | 'none';

export interface TaskService {
  readonly queue: TaskQueue;
  /** Answers `wait` when there is no task within `maxWaitMs`, `none` when there will be none. */
  getTask(trainer: string, held: readonly AttemptRef[], maxWaitMs: number, closed: AbortSignal): Promise<TaskAnswer>;
  finish(ref: AttemptRef, sums: TaskSums): Promise<void>;
  fail(ref: AttemptRef, report: { code: string; error: string; data: boolean; read: number }): Promise<void>;
  giveBack(ref: AttemptRef, read: number): Promise<void>;
  /** Events that nobody waits for an answer to. */
  tell(event: Extract<QueueEvent, { type: 'roster' | 'joined' | 'gone' | 'progress' | 'resumed' }>): void;
  /** Answers `wait` to all who wait: they are to ask again. */
  release(): void;
  /** Nothing is decided any more; whoever is not answered yet, or asks later, is told `NotReady`. */
  close(): void;
}

export interface TaskDeskOptions {
  readonly context: RoleContext;
  readonly name: string;
  readonly queue: TaskQueue;
  /** Undefined for a queue that is not saved. */
  readonly pipeline: SavePipeline | undefined;
  /** False while the master is cut off from the store: then no time counts against anyone. */
  readonly isHeld: () => boolean;
  readonly onEnded: () => void;
  readonly onFailed: (discarded: DiscardedTask) => void;
  readonly onDiscarded: (discarded: DiscardedTask) => void;
  readonly onPassEnded: (pass: number, totals: PassTotals) => void;
}

/** A request that waits for its answer. */
interface Asker {
  readonly answer: (effect: QueueEffect) => void;
  readonly refuse: (error: PaddletError) => void;
}

/** A tick so late means that this process stood still, and heard nothing of what trainers did meanwhile. */
const STOOD_STILL_MS = 1_000;

const ending = (): PaddletError => new PaddletError('NotReady', 'this master is ending; another one takes over');

export function createTaskService(options: TaskDeskOptions): TaskService {
  const { context, queue, pipeline, name } = options;
  const { clock, log } = context.host;
  const askers = new Map<number, Asker>();
  /** Requests that the queue has not answered yet: an answer that waits for its save can no longer be cancelled. */
  const cancellable = new Set<number>();
  let lastRequest = 0;
  let cancelTick: Cancel = () => {};
  let tickDueMs = Number.POSITIVE_INFINITY;
  let closed = false;
  const waiting = new Set<() => void>();

  function submit(event: QueueEvent): void {
    if (closed) return;
    const now = clock.monotonicMs();
    if (now > tickDueMs + STOOD_STILL_MS) run({ type: 'resumed' }, now);
    run(event, now);
    armTick();
  }

  function run(event: QueueEvent, now: number): void {
    const effects = queue.step(event, now);
    const thens = effects.map((effect) => thenOf(effect)).filter((then) => then !== undefined);
    const save = effects[0]?.type === 'save' ? effects[0].changes : [];
    if (pipeline === undefined) for (const then of thens) then();
    else if (save.length > 0 || thens.length > 0) pipeline.save(save, thens);
  }

  function armTick(): void {
    cancelTick();
    const due = queue.nextDeadline();
    tickDueMs = due ?? Number.POSITIVE_INFINITY;
    if (due === undefined || closed) return;
    cancelTick = clock.after(Math.max(0, due - clock.monotonicMs()), () => {
      // Once the store answers again, `resumed` comes and the next tick is set.
      if (options.isHeld()) submit({ type: 'tick' });
    });
  }

  /** What to do once the effect's foundation is saved. */
  function thenOf(effect: QueueEffect): (() => void) | undefined {
    switch (effect.type) {
      case 'save':
        return undefined;
      case 'deal':
      case 'none':
      case 'accept':
      case 'refuse':
        cancellable.delete(effect.request);
        return () => answer(effect.request, effect);
      case 'speculated': {
        const { task, slow, trainer } = effect;
        log.info(`${name}: ${trainer} gets a copy of task ${task}, which ${slow} takes long for`);
        return undefined;
      }
      case 'requeued':
        log.info(`${name}: task ${effect.task} goes back: ${effect.why}`);
        return undefined;
      case 'discarded': {
        const { task, where, code, error } = effect.task;
        log.error(`${name}: task ${task} (${where}) discarded: ${code}: ${error}`);
        return () => options.onDiscarded(effect.task);
      }
      case 'passEnded':
        return () => options.onPassEnded(effect.pass, effect.totals);
      case 'ended':
        return () => options.onEnded();
      case 'failed':
        return () => options.onFailed(effect.discarded);
      default:
        return unreachable(effect);
    }
  }

  function ask(makeEvent: (request: number) => QueueEvent): Promise<QueueEffect> {
    if (closed) return Promise.reject(ending());
    return new Promise((resolve, reject) => {
      lastRequest += 1;
      const request = lastRequest;
      askers.set(request, { answer: resolve, refuse: reject });
      cancellable.add(request);
      submit(makeEvent(request));
    });
  }

  function answer(request: number, effect: QueueEffect): void {
    askers.get(request)?.answer(effect);
    askers.delete(request);
  }

  async function accepted(effect: Promise<QueueEffect>): Promise<void> {
    const answer = await effect;
    if (answer.type === 'refuse') throw new PaddletError(answer.code, answer.message);
    assert(answer.type === 'accept', 'a report is accepted or refused');
  }

  return {
    queue,
    async getTask(trainer, held, maxWaitMs, sessionClosed) {
      let request = 0;
      const giveUp = (): void => {
        if (!cancellable.delete(request)) return;
        submit({ type: 'cancel', request });
        answer(request, { type: 'none', request: 0 });
      };
      if (sessionClosed.aborted) return 'wait';
      const asked = ask((number) => {
        request = number;
        return { type: 'get', trainer, held, request };
      });
      waiting.add(giveUp);
      const cancelTimer = clock.after(maxWaitMs, giveUp);
      sessionClosed.addEventListener('abort', giveUp, { once: true });
      try {
        const effect = await asked;
        if (effect.type === 'deal') return { attempt: effect.attempt };
        assert(effect.type === 'none', 'a request for a task is dealt one or none');
        return effect.request === 0 ? 'wait' : 'none';
      } finally {
        waiting.delete(giveUp);
        cancelTimer();
        sessionClosed.removeEventListener('abort', giveUp);
      }
    },
    finish: (ref, sums) => accepted(ask((request) => ({ type: 'finish', ...ref, sums, request }))),
    fail: (ref, report) => accepted(ask((request) => ({ type: 'fail', ...ref, ...report, request }))),
    giveBack: (ref, read) => accepted(ask((request) => ({ type: 'return', ...ref, read, request }))),
    tell: submit,
    release() {
      for (const giveUp of [...waiting]) giveUp();
    },
    close() {
      closed = true;
      cancelTick();
      for (const asker of askers.values()) asker.refuse(ending());
      askers.clear();
    },
  };
}
