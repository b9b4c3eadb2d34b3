/**
 * The shell around one task queue: turns requests into events and effects into answers, times, log lines and saves.
 * Training has one desk whose queue is saved; evaluation has another whose queue lives in memory only.
 */
import { assert, unreachable } from '../../base/assert.ts';
import { PaddletError } from '../../base/errors.ts';
import type { Cancel } from '../../base/seams.ts';
import type { AttemptRef, QueueEffect, QueueEvent, TaskQueue } from '../../core/task-events.ts';
import type { DiscardedTask, PassTotals, TaskSums } from '../../core/task-state.ts';
import type { RoleContext } from '../context.ts';
import type { SavePipeline } from './save-pipeline.ts';

export type TaskAnswer = { readonly attempt: AttemptRef } | 'wait' | 'none';

export interface TaskDesk {
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
  close(): void;
}

export interface TaskDeskOptions {
  readonly context: RoleContext;
  readonly name: string;
  readonly queue: TaskQueue;
  /** Undefined for a queue that is not saved. */
  readonly pipeline: SavePipeline | undefined;
  readonly onEnded: () => void;
  readonly onFailed: (discarded: DiscardedTask) => void;
  readonly onDiscarded: (discarded: DiscardedTask) => void;
  readonly onPassEnded: (pass: number, totals: PassTotals) => void;
}

interface Owed {
  readonly answer: (effect: QueueEffect) => void;
}

export function createTaskDesk(options: TaskDeskOptions): TaskDesk {
  const { context, queue, pipeline, name } = options;
  const { clock, log } = context.host;
  const owed = new Map<number, Owed>();
  let lastRequest = 0;
  let cancelTick: Cancel = () => {};
  let closed = false;
  const waiting = new Set<() => void>();

  function submit(event: QueueEvent): void {
    if (closed) return;
    const effects = queue.step(event, clock.monotonicMs());
    const thens = effects.map((effect) => thenOf(effect)).filter((then) => then !== undefined);
    const save = effects[0]?.type === 'save' ? effects[0].changes : [];
    if (pipeline === undefined) for (const then of thens) then();
    else if (save.length > 0 || thens.length > 0) pipeline.save(save, thens);
    armTick();
  }

  function armTick(): void {
    cancelTick();
    const due = queue.nextDeadline();
    if (due === undefined) return;
    cancelTick = clock.after(Math.max(0, due - clock.monotonicMs()), () => submit({ type: 'tick' }));
  }

  /** What to do once the effect's foundation is saved. */
  function thenOf(effect: QueueEffect): (() => void) | undefined {
    switch (effect.type) {
      case 'save':
        return undefined;
      case 'deal':
      case 'none':
      case 'accept':
      case 'refuse': {
        // Taken out at once: a deal that waits for its save can no longer be cancelled.
        const asker = owed.get(effect.request);
        owed.delete(effect.request);
        return () => asker?.answer(effect);
      }
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
    return new Promise((resolve) => {
      lastRequest += 1;
      const request = lastRequest;
      owed.set(request, { answer: resolve });
      submit(makeEvent(request));
    });
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
        const asked = owed.get(request);
        if (asked === undefined) return;
        owed.delete(request);
        submit({ type: 'cancel', request });
        asked.answer({ type: 'none', request: 0 });
      };
      const asked = ask((number) => {
        request = number;
        return { type: 'get', trainer, held, request };
      });
      waiting.add(giveUp);
      const cancelTimer = clock.after(maxWaitMs, giveUp);
      sessionClosed.addEventListener('abort', giveUp, { once: true });
      try {
        const answer = await asked;
        if (answer.type === 'deal') return { attempt: answer.attempt };
        assert(answer.type === 'none', 'a request for a task is dealt one or none');
        return answer.request === 0 ? 'wait' : 'none';
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
    },
  };
}
