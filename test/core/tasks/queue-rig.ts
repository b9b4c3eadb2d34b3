/**
 * A task queue with a store that takes exactly what each step saves, a clock moved by hand, and verbs for what trainers
 * do, so that tests read as stories.
 */
import { expect } from 'vitest';
import { type AttemptRef, trainingTasks } from '../../../src/core/tasks/address.ts';
import type { Phase, QueueConfig, QueueEffect, QueueEvent, TaskQueue } from '../../../src/core/tasks/events.ts';
import { createTaskQueue } from '../../../src/core/tasks/queue.ts';
import {
  blockSchema,
  type DiscardedTask,
  discardSchema,
  noSums,
  type PassTotals,
  parseStoreValue,
  type QueueChange,
  type QueueState,
  type SavedQueue,
  stateSchema,
  type TaskBlock,
  type TaskSums,
  totalsSchema,
} from '../../../src/core/tasks/state.ts';

/** Holds what was saved as the text that a real store would hold. */
export class SavedChanges {
  #state = JSON.stringify({ phase: 'train', pass: 0 } satisfies QueueState);
  #blocks = new Map<number, Map<number, string>>();
  #totals = new Map<number, string>();
  #discarded = new Map<number, string>();

  apply(change: QueueChange): void {
    switch (change.kind) {
      case 'state':
        this.#state = JSON.stringify(change.value);
        return;
      case 'block': {
        const blocks = this.#blocks.get(change.pass) ?? new Map<number, string>();
        this.#blocks.set(change.pass, blocks.set(change.block, JSON.stringify(change.value)));
        return;
      }
      case 'totals':
        this.#totals.set(change.pass, JSON.stringify(change.value));
        return;
      case 'discarded':
        this.#discarded.set(change.task, JSON.stringify(change.value));
        return;
      case 'dropBlocks':
        this.#blocks.delete(change.pass);
    }
  }

  /** As a master that takes over reads it. */
  load(): SavedQueue {
    const state = parseStoreValue(stateSchema, 'state', this.#state);
    const blocks = new Map<number, TaskBlock>();
    for (const [block, text] of this.#blocks.get(state.pass) ?? []) {
      blocks.set(block, parseStoreValue(blockSchema, 'block', text));
    }
    const totals = new Map<number, PassTotals>();
    for (const [pass, text] of this.#totals) totals.set(pass, parseStoreValue(totalsSchema, 'totals', text));
    const discarded: DiscardedTask[] = [...this.#discarded.values()].map((text) =>
      parseStoreValue(discardSchema, 'discarded', text),
    );
    return { state, blocks, totals, discarded };
  }

  passesWithBlocks(): number[] {
    return [...this.#blocks.keys()];
  }
}

export interface RigOptions extends Partial<Omit<QueueConfig, 'taskRecords'>> {
  readonly tasks: number;
}

export function configOf({ tasks, ...rest }: RigOptions): QueueConfig {
  return {
    addressing: trainingTasks,
    taskRecords: new Uint32Array(tasks).fill(10),
    describeTask: (task) => `file records ${10 * task + 1} to ${10 * task + 10}`,
    passes: 1,
    seed: 1,
    maxFailures: 3,
    maxDiscarded: 0,
    timeoutMs: 1_000,
    timeoutFloorMs: 1_000,
    minTrainers: 1,
    maxTrainers: 100_000,
    ...rest,
  };
}

export const sumsOf = (read: number): TaskSums => ({
  ...noSums(),
  read,
  good: read,
  metrics: { records: read, weight: read, loss: read / 4, correct: read, squaredError: 0 },
});

type Answer = 'accept' | 'waiting' | AttemptRef | { readonly refused: string };

export class QueueRig {
  readonly saved = new SavedChanges();
  readonly config: QueueConfig;
  queue: TaskQueue;
  now = 0;
  /** Effects of all steps, saves left out. */
  readonly log: QueueEffect[] = [];
  #request = 0;

  constructor(options: RigOptions) {
    this.config = configOf(options);
    this.queue = createTaskQueue(this.config, undefined, this.now);
  }

  /** All effects; what is to be saved is. */
  effectsOf(event: QueueEvent): QueueEffect[] {
    const effects = this.queue.step(event, this.now);
    const [first] = effects;
    if (first?.type === 'save') for (const change of first.changes) this.saved.apply(change);
    return effects;
  }

  /** All effects but the save. */
  step(event: QueueEvent): QueueEffect[] {
    const effects = this.effectsOf(event);
    const rest = effects[0]?.type === 'save' ? effects.slice(1) : effects;
    if (rest.some((effect) => effect.type === 'save')) throw new Error('a step saves once, before all else');
    this.log.push(...rest);
    return rest;
  }

  /** Another master takes over with what was saved; the trainers named are live. */
  restart(...live: string[]): QueueEffect[] {
    this.takeOver();
    return this.step({ type: 'roster', trainers: live });
  }

  /** Another master's queue, before that master knows who is alive. */
  takeOver(): void {
    this.queue = createTaskQueue(this.config, this.saved.load(), this.now);
  }

  joined(...trainers: string[]): void {
    for (const trainer of trainers) this.step({ type: 'joined', trainer });
  }

  gone(trainer: string): QueueEffect[] {
    return this.step({ type: 'gone', trainer });
  }

  /** Asks for a task; `waiting` when none is dealt at once. The request's number is `lastRequest`. */
  get(trainer: string, held: readonly AttemptRef[] = this.heldBy(trainer)): AttemptRef | 'waiting' | 'none' {
    const request = ++this.#request;
    const effects = this.step({ type: 'get', trainer, held, most: 1, request });
    for (const effect of effects) {
      if (effect.type === 'deal' && effect.request === request) return effect.attempt;
      if (effect.type === 'none' && effect.request === request) return 'none';
    }
    return 'waiting';
  }

  /** Several at once. */
  getAll(trainer: string, most: number): AttemptRef[] {
    const request = ++this.#request;
    const effects = this.step({ type: 'get', trainer, held: this.heldBy(trainer), most, request });
    return effects.flatMap((effect) => (effect.type === 'deal' && effect.request === request ? [effect.attempt] : []));
  }

  /** A task that must be there. */
  take(trainer: string): AttemptRef {
    const dealt = this.get(trainer);
    if (typeof dealt === 'string') throw new Error(`${trainer} got no task: ${dealt}`);
    return dealt;
  }

  get lastRequest(): number {
    return this.#request;
  }

  finish(ref: AttemptRef, read = 10): Answer {
    const request = ++this.#request;
    return answerIn(this.step({ type: 'finish', ...ref, sums: sumsOf(read), request }), request);
  }

  fail(ref: AttemptRef, { data = false, read = 0 } = {}): Answer {
    const request = ++this.#request;
    const report = { code: data ? 'DataInvalid' : 'UnknownParameter', error: 'it broke', data, read };
    return answerIn(this.step({ type: 'fail', ...ref, ...report, request }), request);
  }

  handBack(ref: AttemptRef, read = 0): Answer {
    const request = ++this.#request;
    return answerIn(this.step({ type: 'return', ...ref, read, request }), request);
  }

  progress(ref: AttemptRef, position: number, phase: Phase = 'compute'): QueueEffect[] {
    const { trainer, ...address } = ref;
    return this.step({ type: 'progress', trainer, executing: { ...address, position }, phase });
  }

  /** Moves the clock by `ms` and ticks. */
  pass(ms: number): QueueEffect[] {
    this.now += ms;
    return this.step({ type: 'tick' });
  }

  /** Moves the clock by `ms`, ticking whenever the queue asks for it. */
  advance(ms: number): void {
    const until = this.now + ms;
    for (let due = this.queue.nextDeadline(); due !== undefined && due <= until; due = this.queue.nextDeadline()) {
      this.now = Math.max(this.now, due);
      this.step({ type: 'tick' });
    }
    this.now = until;
  }

  heldBy(trainer: string): AttemptRef[] {
    return this.live().filter((ref) => ref.trainer === trainer);
  }

  live(): AttemptRef[] {
    return this.queue
      .attempts()
      .map(({ queue, pass, task, attempt, trainer }) => ({ queue, pass, task, attempt, trainer }));
  }

  of<T extends QueueEffect['type']>(type: T): Extract<QueueEffect, { type: T }>[] {
    return this.log.filter((effect): effect is Extract<QueueEffect, { type: T }> => effect.type === type);
  }

  /** Works everything that is left, with one trainer and no faults; the tasks finished, by pass. */
  finishAll(trainer = 'healer'): number[][] {
    this.joined(trainer);
    const byPass: number[][] = [];
    for (;;) {
      const dealt = this.get(trainer, []);
      if (typeof dealt === 'string') return byPass;
      const { pass, task } = dealt;
      expect(this.finish(dealt)).toBe('accept');
      let worked = byPass[pass];
      if (worked === undefined) {
        worked = [];
        byPass[pass] = worked;
      }
      worked.push(task);
    }
  }
}

function answerIn(effects: readonly QueueEffect[], request: number): Answer {
  const answers = effects.flatMap((effect): Answer[] => {
    if (effect.type === 'accept' && effect.request === request) return ['accept'];
    if (effect.type === 'refuse' && effect.request === request) return [{ refused: effect.code }];
    return [];
  });
  expect(answers).toHaveLength(1);
  return answers[0]!;
}

export const refused = (code: string): Answer => ({ refused: code });
