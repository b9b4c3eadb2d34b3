/**
 * The master's task queue (docs/design.md §4; seeds/distributed-training.en.md "Task Queue"): todo → pending → done,
 * and discarded. Each dispatch is a numbered attempt; finish and fail name theirs and are refused if it is not live.
 *
 * A pure machine: `step(event, now)` answers with effects, in order; what must be saved comes before the answers that
 * rest on it, and the shell keeps that order (see ../README.md).
 */
import { assert, unreachable } from '../../base/assert.ts';
import { countedOnce, type Observed } from '../report-counts.ts';
import type { AttemptRef, PassTask } from './address.ts';
import { type Attempt, countWork, hasMoved } from './attempt.ts';
import { Dealer } from './dealer.ts';
import type { LiveAttempt, QueueConfig, QueueCounts, QueueEffect, QueueEvent, TaskQueue } from './events.ts';
import { type AttemptEnd, discardOf, isSameForEveryTrainer } from './failure.ts';
import { TaskPass } from './pass.ts';
import { noteProgress } from './progress.ts';
import { restoreQueue } from './restore.ts';
import {
  addSums,
  type DiscardedTask,
  noSums,
  type PassTotals,
  type QueueChange,
  type SavedQueue,
  type TaskSums,
} from './state.ts';
import { createTimeouts, type Timeouts } from './timeouts.ts';
import { createUnreported } from './unreported.ts';
import { whyRefused } from './why-refused.ts';

type EventOf<T extends QueueEvent['type']> = Extract<QueueEvent, { type: T }>;

/** `now` is on the clock of `step`. `StoreValueInvalid` when what was saved cannot be of this job. */
export const createTaskQueue = (config: QueueConfig, saved: SavedQueue | undefined, now: number): TaskQueue =>
  new Queue(config, saved, now);

class Queue implements TaskQueue {
  readonly #config: QueueConfig;
  readonly #tasks: number;
  readonly #ended: PassTotals[] = [];
  readonly #discards = new Map<number, DiscardedTask>();
  readonly #unreported = createUnreported();
  readonly #timeouts: Timeouts;
  readonly #dealer: Dealer;
  #phase: 'train' | 'ended' = 'train';
  /** Passes after which it ends, for now or for good. */
  #until: number;
  #pass: TaskPass;
  #hasFailed = false;
  /** Filled during one step. */
  #effects: QueueEffect[] = [];
  #changes: QueueChange[] = [];

  constructor(config: QueueConfig, saved: SavedQueue | undefined, now: number) {
    this.#config = config;
    this.#tasks = config.taskRecords.length;
    assert(this.#tasks > 0 && config.passes > 0, 'a job has tasks and passes');
    this.#until = Math.min(config.passes, config.until ?? config.passes);
    this.#timeouts = createTimeouts(config);
    this.#dealer = new Dealer(config, this.#timeouts);
    if (saved === undefined) {
      this.#pass = this.#beginPass(0);
      return;
    }
    const { ended, discards } = restoreQueue(config, saved);
    this.#ended.push(...ended);
    for (const [task, discard] of discards) this.#discards.set(task, discard);
    this.#phase = saved.state.phase;
    this.#pass = this.#beginPass(saved.state.pass);
    if (this.#phase === 'train') for (const [block, value] of saved.blocks) this.#pass.restore(block, value, now);
  }

  step(event: QueueEvent, now: number): QueueEffect[] {
    this.#effects = [];
    this.#changes = [];
    this.#handle(event, now);
    const wasEnded = this.#phase === 'ended';
    if (!wasEnded) {
      this.#judgeDiscards();
      if (!this.#hasFailed) this.#endPasses();
      if (!this.#hasFailed && this.#phase === 'train') this.#deal(now);
      if (this.#phase === 'train') this.#changes.push(...this.#pass.takeChanges());
    }
    return this.#changes.length === 0 ? this.#effects : [{ type: 'save', changes: this.#changes }, ...this.#effects];
  }

  nextDeadline(): number | undefined {
    return this.#dealer.nextDeadline(this.#pass.open.attempts());
  }

  until(): number {
    return this.#until;
  }

  counts(): QueueCounts {
    const last = this.#phase === 'ended' ? this.#ended.at(-1) : undefined;
    return {
      phase: this.#phase,
      pass: this.#pass.number,
      total: this.#tasks,
      ...(last === undefined ? this.#pass.tally : { todo: 0, pending: 0, done: last.done, discarded: last.discarded }),
      waiting: this.#dealer.waiting(),
      missingTrainers: this.#dealer.trainers.missing(),
      speculations: this.#dealer.speculations,
    };
  }

  totals(): { ended: readonly PassTotals[]; current: TaskSums } {
    return { ended: this.#ended, current: this.#phase === 'ended' ? noSums() : this.#pass.sums() };
  }

  isDone(pass: number, task: number): boolean {
    const discard = this.#discards.get(task);
    if (discard !== undefined && discard.pass <= pass) return false;
    const { number } = this.#pass;
    return pass < number || (pass === number && (this.#phase === 'ended' || this.#pass.isDone(task)));
  }

  isLive(ref: AttemptRef): boolean {
    return this.#findLive(ref) !== undefined;
  }

  stragglerMs(): number | undefined {
    return this.#dealer.pace.stragglerMs();
  }

  discarded(): readonly DiscardedTask[] {
    return [...this.#discards.values()];
  }

  attempts(): readonly LiveAttempt[] {
    return [...this.#pass.open.attempts()].map((attempt) => {
      const { phase, position, executing, ranMs, since } = attempt;
      return { ...this.#refOf(attempt), phase, position, executing, ranMs, since };
    });
  }

  #handle(event: QueueEvent, now: number): void {
    switch (event.type) {
      case 'roster':
        this.#roster(event.trainers);
        return;
      case 'joined':
        this.#dealer.trainers.joined(event.trainer);
        return;
      case 'gone':
        this.#gone(event.trainer);
        return;
      case 'get':
        this.#get(event);
        return;
      case 'cancel':
        this.#dealer.cancel(event.request);
        return;
      case 'finish':
        this.#finish(event, now);
        return;
      case 'fail':
        this.#fail(event);
        return;
      case 'return':
        this.#handBack(event);
        return;
      case 'progress':
        this.#progress(event, now);
        return;
      case 'tick':
        this.#tick(now);
        return;
      case 'goOn':
        this.#goOn(event.until);
        return;
      case 'resumed':
        for (const attempt of this.#pass.open.attempts()) {
          attempt.countedAt = now;
          attempt.since = now;
          attempt.movedAt = now;
        }
        return;
      default:
        unreachable(event);
    }
  }

  // ---- reports about an attempt

  #finish(event: EventOf<'finish'>, now: number): void {
    const attempt = this.#admit(event, event.sums);
    if (attempt === undefined) return;
    countWork(attempt, now);
    this.#timeouts.finished(attempt.ranMs);
    this.#dealer.pace.finished(now - attempt.since);
    this.#pass.finish(attempt.task);
    this.#pass.addSums(attempt.task, { ...event.sums, read: 0, duplicate: 0 });
    this.#effects.push({ type: 'accept', request: event.request });
  }

  /** Reported by its own trainer: it was being executed, whether that had been reported or not. */
  #fail(event: EventOf<'fail'>): void {
    const attempt = this.#admit(event, { read: event.read, duplicate: 0 });
    if (attempt === undefined) return;
    const isFailure = event.data || !hasMoved(attempt);
    const { code, error, hint } = event;
    this.#endAttempt(attempt, { isFailure, isFinal: event.data && isSameForEveryTrainer(code), code, error, hint });
    this.#effects.push({ type: 'accept', request: event.request });
  }

  #handBack(event: EventOf<'return'>): void {
    const attempt = this.#admit(event, { read: event.read, duplicate: 0 });
    if (attempt === undefined) return;
    this.#endAttempt(attempt, { isFailure: false, code: 'Returned', error: `${event.trainer} returned it` });
    this.#effects.push({ type: 'accept', request: event.request });
  }

  /** The one door for reports. Of one that is refused, too, what an attempt that was handed out has read counts. */
  #admit(report: EventOf<'finish' | 'fail' | 'return'>, observed: Observed): Attempt | undefined {
    const { attempt, trainer, request } = report;
    const numbers = this.#numbersOf(report);
    const live = this.#findLive(report);
    if (numbers !== undefined && this.#unreported.delete({ ...numbers, attempt, trainer }))
      this.#countRead(numbers, observed);
    if (live !== undefined) return live;
    const current = { number: this.#pass.number, hasEnded: this.#phase === 'ended' };
    this.#effects.push({ type: 'refuse', request, ...whyRefused(report, numbers, current) });
    return undefined;
  }

  #countRead({ pass, task }: PassTask, observed: Observed): void {
    const sums = { ...noSums(), ...countedOnce(this.#config.taskRecords[task]!, observed) };
    const ended = this.#ended[pass];
    if (ended === undefined) {
      this.#pass.addSums(task, sums);
      return;
    }
    const value: PassTotals = { ...ended, sums: addSums(ended.sums, sums) };
    this.#ended[pass] = value;
    this.#changes.push({ kind: 'totals', pass, value });
  }

  // ---- trainers

  #roster(trainers: readonly string[]): void {
    this.#dealer.trainers.roster(trainers);
    for (const holder of this.#pass.open.trainers()) if (!this.#dealer.trainers.isLive(holder)) this.#gone(holder);
  }

  #gone(trainer: string): void {
    this.#dealer.trainers.gone(trainer);
    for (const attempt of this.#pass.open.heldBy(trainer)) {
      const isFailure = attempt.executing && !hasMoved(attempt);
      this.#endAttempt(attempt, { isFailure, code: 'TrainerGone', error: `trainer ${trainer} died or left` });
    }
  }

  #progress(report: EventOf<'progress'>, now: number): void {
    const { trainer, executing } = report;
    const current = executing && this.#findLive({ ...executing, trainer });
    const { taskRecords } = this.#config;
    noteProgress({ open: this.#pass.open, timeouts: this.#timeouts, taskRecords }, report, current, now);
  }

  #get({ trainer, held, most, request }: EventOf<'get'>): void {
    const known = new Set(held.map((address) => this.#findLive({ ...address, trainer })));
    for (const attempt of this.#pass.open.heldBy(trainer)) {
      if (known.has(attempt)) continue;
      this.#pass.forget(attempt);
      this.#endAttempt(attempt, { isFailure: false, code: 'Lost', error: 'the reply that handed it out was lost' });
    }
    if (this.#phase === 'ended') this.#effects.push({ type: 'none', request });
    else this.#dealer.ask(request, { trainer, most });
  }

  #tick(now: number): void {
    for (const attempt of [...this.#pass.open.attempts()]) {
      countWork(attempt, now);
      if (!this.#timeouts.isOver(attempt)) {
        if ((this.#dealer.idleAt(attempt) ?? now + 1) <= now) this.#takeBack(attempt, now);
        continue;
      }
      const worked = `did not finish within ${Math.round(attempt.ranMs)} ms`;
      const error = `attempt ${attempt.attempt} by ${attempt.trainer} ${worked}`;
      this.#endAttempt(attempt, { isFailure: !hasMoved(attempt), code: 'TaskTimeout', error });
    }
    this.#timeouts.clear();
    for (const attempt of this.#pass.open.attempts()) this.#timeouts.watch(attempt);
  }

  /** Its trainer may wait for a pserver: that is not a failure. */
  #takeBack(attempt: Attempt, now: number): void {
    const seconds = Math.round((now - attempt.movedAt) / 1000);
    const error = `attempt ${attempt.attempt} by ${attempt.trainer} made no progress for ${seconds} s`;
    this.#endAttempt(attempt, { isFailure: false, code: 'TaskTimeout', error });
  }

  #deal(now: number): void {
    for (const { request, attempt, slow } of this.#dealer.deal(this.#pass, now)) {
      const ref = this.#refOf(attempt);
      if (slow !== undefined) {
        this.#effects.push({ type: 'speculated', pass: ref.pass, task: ref.task, slow, trainer: ref.trainer });
      }
      this.#effects.push({ type: 'deal', request, attempt: ref });
    }
  }

  // ---- the end of attempts and passes

  /** Ends one attempt; the task goes back when it was the last one, or is discarded. */
  #endAttempt(attempt: Attempt, end: AttemptEnd): void {
    // It ended with its task, discarded by an attempt that ended in the same step.
    if (!this.#pass.open.isLive(attempt)) return;
    const entry = this.#pass.end(attempt, end.isFailure);
    if (end.isFinal === true || entry.failures > this.#config.maxFailures) {
      this.#discard(attempt, end);
    } else if (entry.attempts.size === 0) {
      this.#pass.giveBack(attempt.task);
      this.#effects.push({ type: 'requeued', ...this.#addressOf(attempt.task), why: end.error });
    }
  }

  #discard(attempt: Attempt, end: AttemptEnd): void {
    const { task } = attempt;
    this.#pass.discard(task);
    const report = discardOf(attempt, end, { ...this.#config, address: this.#addressOf(task) });
    this.#discards.set(task, report);
    this.#changes.push({ kind: 'discarded', task, value: report });
    this.#effects.push({ type: 'discarded', task: report });
  }

  #judgeDiscards(): void {
    if (this.#hasFailed || this.#discards.size <= this.#config.maxDiscarded) return;
    this.#hasFailed = true;
    this.#effects.push({ type: 'failed', discarded: [...this.#discards.values()].at(-1)! });
  }

  /** A pass is over when nothing is to do or pending, even when its last task was discarded. */
  #endPasses(): void {
    while (this.#phase === 'train' && this.#pass.isOver()) this.#endPass();
    if (this.#phase !== 'ended') return;
    for (const request of this.#dealer.dismiss()) this.#effects.push({ type: 'none', request });
    this.#effects.push({ type: 'ended' });
  }

  #endPass(): void {
    const { number, tally } = this.#pass;
    const { done, discarded } = tally;
    const totals: PassTotals = { tasks: this.#tasks, done, discarded, sums: this.#pass.sums() };
    this.#ended.push(totals);
    if (number + 1 < this.#until) this.#pass = this.#beginPass(number + 1);
    else this.#phase = 'ended';
    // In this order: whatever part of it is saved, a master finds the pass either still running or ended.
    this.#changes.push(
      { kind: 'totals', pass: number, value: totals },
      { kind: 'state', value: { phase: this.#phase, pass: this.#pass.number } },
      { kind: 'dropBlocks', pass: number },
    );
    this.#effects.push({ type: 'passEnded', pass: number, totals });
  }

  /** A master that takes over continues to the pass up to which its predecessor would have continued. */
  #goOn(until: number): void {
    this.#until = Math.min(this.#config.passes, Math.max(until, this.#until));
    const next = this.#pass.number + 1;
    if (this.#phase === 'train' || next >= this.#until) return;
    this.#phase = 'train';
    this.#pass = this.#beginPass(next);
    this.#changes.push({ kind: 'state', value: { phase: 'train', pass: next } });
  }

  #beginPass(number: number): TaskPass {
    const { seed } = this.#config;
    const discarded = this.#discards.keys();
    return new TaskPass({ number, tasks: this.#tasks, seed, discarded, unreported: this.#unreported });
  }

  // ---- addresses

  /** The live attempt that is named, if it is one of this queue and live. */
  #findLive(ref: AttemptRef): Attempt | undefined {
    const numbers = this.#numbersOf(ref);
    if (this.#phase === 'ended' || numbers?.pass !== this.#pass.number) return undefined;
    return this.#pass.open.find({ task: numbers.task, attempt: ref.attempt, trainer: ref.trainer });
  }

  /** The queue's own numbers of what is named; undefined when it is not of this queue. */
  #numbersOf(ref: AttemptRef): PassTask | undefined {
    const { addressing } = this.#config;
    return ref.queue === addressing.queue ? addressing.fromAddress(ref) : undefined;
  }

  #addressOf(task: number): PassTask {
    return this.#config.addressing.toAddress({ pass: this.#pass.number, task });
  }

  #refOf({ task, attempt, trainer }: Attempt): AttemptRef {
    return { queue: this.#config.addressing.queue, ...this.#addressOf(task), attempt, trainer };
  }
}
