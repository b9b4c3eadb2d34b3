/**
 * A cluster around a task queue: trainers that believe what they were answered, answers that get lost, masters that
 * restart from exactly what was saved; and after every step all that must hold.
 */

import { expect } from 'vitest';
import { LIMITS } from '../../../src/base/limits.ts';
import type { AttemptRef } from '../../../src/core/tasks/address.ts';
import type { Phase, QueueEffect, QueueEvent } from '../../../src/core/tasks/events.ts';
import { createTaskQueue } from '../../../src/core/tasks/queue.ts';
import * as fc from '../../properties.ts';
import { configOf, type RigOptions, SavedChanges, sumsOf } from './queue-rig.ts';

const TRAINERS = ['ann', 'bob', 'cid', 'dot'];
const PHASES: readonly Phase[] = ['start', 'read', 'pull', 'compute', 'push', 'wait', 'idle'];
const KINDS = [
  ...(['get', 'get', 'get', 'get', 'get', 'get', 'finish', 'finish', 'finish', 'finish', 'joined', 'joined'] as const),
  ...(['elapse', 'elapse', 'progress', 'progress', 'fail', 'fail', 'handBack', 'stale', 'gone'] as const),
  ...(['roster', 'cancel', 'resumed', 'restart'] as const),
] as const;

interface Action {
  readonly kind: (typeof KINDS)[number];
  readonly who: number;
  readonly pick: number;
  readonly isLost: boolean;
}

export const actions = fc.array(
  fc.record({
    kind: fc.constantFrom(...KINDS),
    who: fc.nat(TRAINERS.length - 1),
    pick: fc.nat(1_000),
    isLost: fc.boolean(),
  }),
  { maxLength: 150, size: 'max' },
);

export const options: fc.Arbitrary<RigOptions> = fc.record({
  tasks: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 8 }) }, { weight: 1, arbitrary: fc.constant(300) }),
  passes: fc.integer({ min: 1, max: 4 }),
  seed: fc.nat(1_000),
  maxFailures: fc.nat(2),
  maxDiscarded: fc.nat(4),
  timeoutMs: fc.constantFrom<number | 'auto'>(500, 'auto'),
  timeoutFloorMs: fc.constantFrom(200, 2_000),
  minTrainers: fc.integer({ min: 1, max: 3 }),
  maxTrainers: fc.integer({ min: 3, max: 5 }),
});

/** The cluster around the queue, and what it may expect of it. */
export class Cluster {
  readonly saved = new SavedChanges();
  readonly config;
  queue;
  now = 0;
  readonly #live = new Set<string>();
  /** What each trainer believes to hold. */
  readonly #held = new Map<string, AttemptRef[]>(TRAINERS.map((trainer) => [trainer, []]));
  /** All attempts ever dealt. */
  readonly #dealt: AttemptRef[] = [];
  readonly #newest = new Map<string, number>();
  readonly #finished = new Set<string>();
  readonly #discarded = new Map<number, number>();
  readonly #waiting = new Map<number, string>();
  readonly #answered = new Set<number>();
  #request = 0;
  readonly #finishedByPass = new Map<number, number>();
  #checks = 0;
  #endings = 0;
  #passesEnded = 0;
  hasFailed = false;

  constructor(rig: RigOptions) {
    this.config = configOf(rig);
    this.queue = createTaskQueue(this.config, undefined, 0);
  }

  act({ kind, who, pick, isLost }: Action): void {
    const trainer = TRAINERS[who]!;
    const held = this.#held.get(trainer)!;
    const mine = held[pick % Math.max(1, held.length)];
    this.now += pick % 7;
    const acts: Record<Action['kind'], () => void> = {
      get: () => this.get(trainer, isLost),
      finish: () => this.report(mine, 'finish'),
      fail: () => this.report(mine, 'fail', pick % 2 === 0),
      handBack: () => this.report(mine, 'return'),
      stale: () => this.report(this.#dealt[pick % Math.max(1, this.#dealt.length)], 'finish'),
      progress: () => {
        const executing = mine === undefined ? undefined : { ...mine, position: pick % 5 };
        this.step({ type: 'progress', trainer, executing, phase: PHASES[pick % PHASES.length]! });
      },
      joined: () => {
        this.#live.add(trainer);
        this.step({ type: 'joined', trainer });
      },
      gone: () => this.leave(trainer, isLost),
      roster: () => this.step({ type: 'roster', trainers: [...this.#live] }),
      cancel: () => {
        const request = [...this.#waiting.keys()][pick % Math.max(1, this.#waiting.size)] ?? 999_999;
        this.#waiting.delete(request);
        this.step({ type: 'cancel', request });
      },
      elapse: () => this.elapse(pick),
      resumed: () => this.step({ type: 'resumed' }),
      restart: () => this.restart(),
    };
    acts[kind]();
  }

  get(trainer: string, isLost: boolean): void {
    const held = this.#held.get(trainer)!;
    const request = ++this.#request;
    this.#waiting.set(request, trainer);
    this.step({ type: 'get', trainer, held: [...held], most: 1 + (request % LIMITS.tasksHeld), request }, isLost);
  }

  /** Its process died, or only its lease ended. */
  leave(trainer: string, isDead: boolean): void {
    this.#live.delete(trainer);
    if (isDead) this.#held.set(trainer, []);
    this.step({ type: 'gone', trainer });
  }

  report(ref: AttemptRef | undefined, type: 'finish' | 'fail' | 'return', data = false): void {
    if (ref === undefined) return;
    const request = ++this.#request;
    const isLive = this.isLive(ref);
    const name = `${ref.pass}/${ref.task}`;
    const events = {
      finish: { type: 'finish', ...ref, sums: sumsOf(10), request },
      fail: { type: 'fail', ...ref, code: 'X', error: 'broke', data, read: 1, request },
      return: { type: 'return', ...ref, read: 1, request },
    } as const;
    const held = this.#held.get(ref.trainer)!;
    this.#held.set(
      ref.trainer,
      held.filter((other) => other !== ref),
    );
    const effects = this.effectsOf(events[type]);
    // What is live is accepted, what is not is refused, at once and once.
    const answers = effects.filter((effect) => 'request' in effect && effect.request === request);
    expect(answers.map((effect) => effect.type)).toEqual([isLive ? 'accept' : 'refuse']);
    if (type === 'finish' && isLive) {
      expect(this.#finished).not.toContain(name);
      this.#finished.add(name);
      this.#finishedByPass.set(ref.pass, this.finishedIn(ref.pass) + 1);
    }
    this.take(effects, false);
    this.check();
  }

  elapse(ms: number): void {
    const until = this.now + ms;
    for (let due = this.queue.nextDeadline(); due !== undefined && due <= until; due = this.queue.nextDeadline()) {
      this.now = Math.max(this.now, due);
      this.step({ type: 'tick' });
    }
    this.now = until;
  }

  restart(): void {
    // Another process: its clock has another zero, and no trainer is waiting on it yet.
    this.now = (this.now * 7 + 13) % 5_000;
    this.queue = createTaskQueue(this.config, this.saved.load(), this.now);
    this.#waiting.clear();
    this.step({ type: 'roster', trainers: [...this.#live] });
  }

  step(event: QueueEvent, isLost = false): void {
    this.take(this.effectsOf(event), isLost);
    this.check();
  }

  effectsOf(event: QueueEvent): QueueEffect[] {
    const effects = this.queue.step(event, this.now);
    effects.forEach((effect, i) => {
      if (effect.type !== 'save') return;
      expect(i).toBe(0);
      for (const change of effect.changes) this.saved.apply(change);
      const rolled = effects.filter(({ type }) => type === 'passEnded').length;
      const discarded = effects.filter(({ type }) => type === 'discarded').length;
      const ended = effects.filter(({ type }) => type === 'requeued').length + discarded;
      const dealt = effects.filter(({ type }) => type === 'deal').length;
      // A few small values for each task that moved.
      expect(effect.changes.length).toBeLessThanOrEqual(1 + 3 * rolled + discarded + ended + dealt);
    });
    return effects;
  }

  /** Delivers the answers, and holds the effects against what came before. */
  take(effects: readonly QueueEffect[], isLost: boolean): void {
    const dealt = new Map<number, number>();
    for (const effect of effects) {
      switch (effect.type) {
        case 'deal': {
          const { request, attempt } = effect;
          if (!dealt.has(request)) {
            expect(this.#waiting.get(request)).toBe(attempt.trainer);
            expect(this.#answered).not.toContain(request);
            this.#waiting.delete(request);
            this.#answered.add(request);
          }
          // All tasks of a request are dealt in one step, and no more than it takes.
          dealt.set(request, (dealt.get(request) ?? 0) + 1);
          expect(dealt.get(request)).toBeLessThanOrEqual(1 + (request % LIMITS.tasksHeld));
          this.dealt(attempt, isLost);
          break;
        }
        case 'none':
          expect(this.#waiting.delete(effect.request)).toBe(true);
          expect(this.queue.counts().phase).toBe('ended');
          break;
        case 'discarded': {
          const { task, pass } = effect.task;
          expect(this.#discarded).not.toContain(task);
          this.#discarded.set(task, pass);
          break;
        }
        case 'passEnded': {
          expect(effect.pass).toBe(this.#passesEnded);
          this.#passesEnded += 1;
          const done = this.finishedIn(effect.pass);
          const out = [...this.#discarded.values()].filter((pass) => pass <= effect.pass).length;
          expect(effect.totals).toMatchObject({ done, discarded: out });
          expect(done + out).toBe(this.config.taskRecords.length);
          break;
        }
        case 'ended':
          this.#endings += 1;
          expect(this.#passesEnded).toBe(this.config.passes);
          break;
        case 'failed':
          expect(this.#discarded.size).toBeGreaterThan(this.config.maxDiscarded);
          this.hasFailed = true;
          break;
      }
    }
  }

  dealt(attempt: AttemptRef, isLost: boolean): void {
    const name = `${attempt.pass}/${attempt.task}`;
    expect(this.#live).toContain(attempt.trainer);
    expect(this.#finished).not.toContain(name);
    expect([...this.#discarded.keys()]).not.toContain(attempt.task);
    expect(attempt.attempt).toBeGreaterThan(this.#newest.get(name) ?? 0);
    this.#newest.set(name, attempt.attempt);
    this.#dealt.push(attempt);
    if (!isLost) this.#held.get(attempt.trainer)!.push(attempt);
  }

  isLive(ref: AttemptRef): boolean {
    return this.queue
      .attempts()
      .some(
        (other) =>
          other.attempt === ref.attempt &&
          other.task === ref.task &&
          other.pass === ref.pass &&
          other.trainer === ref.trainer,
      );
  }

  /** The trainers that are dealt tasks: none below the minimum, the first ones above the maximum. */
  active(): string[] {
    const { minTrainers, maxTrainers } = this.config;
    if (this.#live.size < minTrainers) return [];
    const live = [...this.#live];
    if (live.length <= maxTrainers) return live;
    // Those that hold tasks, then those that ask.
    const holders = new Set(this.queue.attempts().map(({ trainer }) => trainer));
    const asking = new Set(this.#waiting.values());
    const first = [...live.filter((one) => holders.has(one)), ...live.filter((one) => asking.has(one))];
    return [...new Set(first)].slice(0, maxTrainers);
  }

  check(): void {
    const { phase, pass, total, todo, pending, done, discarded, waiting } = this.queue.counts();
    const attempts = this.queue.attempts();
    must(todo + pending + done + discarded === total, 'every task is in exactly one queue');
    must(Math.min(todo, pending, done, discarded) >= 0, 'no queue has fewer than no tasks');
    must(discarded === this.#discarded.size, 'discarded tasks stay discarded');
    must(done === this.finishedIn(pass), 'done is what was accepted');
    must(waiting === this.#waiting.size, 'a request that is not answered waits');
    must(new Set(attempts.map(({ task }) => task)).size === pending, 'pending tasks are those with live attempts');
    const holders = attempts.map(({ task, trainer }) => `${task} ${trainer}`);
    must(new Set(holders).size === holders.length, 'no trainer has a task twice at once');
    for (const { task } of attempts) {
      must(attempts.filter((other) => other.task === task).length <= 2, 'a task has one copy at most');
    }
    const active = this.active();
    for (const trainer of TRAINERS) {
      const count = attempts.filter((attempt) => attempt.trainer === trainer).length;
      must(count <= (this.#live.has(trainer) ? LIMITS.tasksHeld : 0), 'only live trainers hold tasks, and few');
      const couldWork = phase === 'train' && !this.hasFailed && todo > 0 && count < LIMITS.tasksHeld;
      const isAsking = [...this.#waiting.values()].includes(trainer);
      must(!(couldWork && isAsking && active.includes(trainer)), 'no trainer waits while there is something to do');
    }
    must(phase === 'ended' || this.hasFailed || todo + pending > 0, 'a pass that is over has ended');
    this.#checks += 1;
    if (total < 100 || this.#checks % 20 === 0) this.checkRestored();
  }

  finishedIn(pass: number): number {
    return this.#finishedByPass.get(pass) ?? 0;
  }

  /** Whatever happens next, another master would find the same. */
  checkRestored(): void {
    const facts = (queue: typeof this.queue): string => {
      const { phase, pass, total, todo, pending, done, discarded } = queue.counts();
      const attempts = queue.attempts().map((one) => `${one.pass}/${one.task}#${one.attempt} ${one.trainer}`);
      const reports = [...queue.discarded()].sort((a, b) => a.task - b.task);
      const counts = { phase, pass, total, todo, pending, done, discarded };
      return JSON.stringify({ counts, totals: queue.totals(), attempts: attempts.sort(), reports });
    };
    expect(facts(createTaskQueue(this.config, this.saved.load(), this.now))).toBe(facts(this.queue));
  }

  /** The faults end: one trainer that works, and others that only stand there, bring every pass to its end. */
  heal(): void {
    for (const request of [...this.#waiting.keys()]) {
      this.#waiting.delete(request);
      this.step({ type: 'cancel', request });
    }
    for (const trainer of TRAINERS) this.leave(trainer, true);
    for (const trainer of TRAINERS) {
      this.#live.add(trainer);
      this.step({ type: 'joined', trainer });
    }
    while (this.queue.counts().phase === 'train' && !this.hasFailed) {
      if (this.#held.get('ann')!.length === 0) this.get('ann', false);
      const ref = this.#held.get('ann')![0];
      if (ref === undefined) throw new Error('the queue deals nothing and does not end');
      this.report(ref, 'finish');
    }
    if (this.hasFailed) return;
    expect(this.#passesEnded).toBe(this.config.passes);
    expect(this.#endings).toBe(1);
    for (let pass = 0; pass < this.config.passes; pass++) {
      for (let task = 0; task < this.config.taskRecords.length; task++) {
        expect(this.queue.isDone(pass, task)).toBe(this.#finished.has(`${pass}/${task}`));
      }
    }
  }
}

function must(condition: boolean, what: string): void {
  if (!condition) expect.fail(what);
}
