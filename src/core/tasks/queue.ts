/**
 * The master's task queue (DESIGN §4; seeds/distributed-training.en.md "Task Queue"): todo → pending → done, and
 * discarded. Each dispatch is a numbered attempt; finish and fail name theirs and are refused if it is not live.
 *
 * A pure machine: `step(event, now)` answers with effects, in order; what must be saved comes before the answers that
 * rest on it, and the shell keeps that order.
 */
import { assert, unreachable } from '../../base/assert.ts';
import { type ErrorCode, PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { type Attempt, countWork, hasMoved, isWorking } from './attempt.ts';
import type { AttemptRef, QueueConfig, QueueCounts, QueueEffect, QueueEvent, TaskQueue } from './events.ts';
import { createTaskPass, type TaskPass } from './pass.ts';
import { createPace, oldestToCopy } from './speculation.ts';
import {
  DISCARD_TEXT_LENGTH,
  type DiscardedTask,
  noSums,
  type PassTotals,
  type QueueChange,
  type SavedQueue,
} from './state.ts';

type EventOf<T extends QueueEvent['type']> = Extract<QueueEvent, { type: T }>;

/** Why an attempt ended without its task being done. */
interface AttemptEnd {
  readonly isFailure: boolean;
  readonly code: string;
  readonly error: string;
}

/** `now` is on the clock of `step`. `StoreValueInvalid` when what was saved cannot be of this job. */
export function createTaskQueue(config: QueueConfig, saved: SavedQueue | undefined, now: number): TaskQueue {
  const tasks = config.taskRecords.length;
  assert(tasks > 0 && config.passes > 0, 'a job has tasks and passes');
  let phase: 'train' | 'ended' = 'train';
  const ended: PassTotals[] = [];
  const discards = new Map<number, DiscardedTask>();
  const live = new Set<string>();
  /** Requests for a task, in the order in which they came. */
  const waiting = new Map<number, string>();
  /** Work that the longest completed task took, for the adaptive timeout. */
  let longestMs = 0;
  /** No attempt times out before this; found anew at each tick. */
  let earliestDueMs = Number.POSITIVE_INFINITY;
  let failedJob = false;
  const pace = createPace();
  let speculations = 0;
  let pass = saved === undefined ? beginPass(0) : restore(saved);

  /** Filled during one step. */
  let effects: QueueEffect[] = [];
  let changes: QueueChange[] = [];

  function beginPass(number: number): TaskPass {
    return createTaskPass({ number, tasks, seed: config.seed, discarded: discards.keys() });
  }

  function restore(from: SavedQueue): TaskPass {
    const { state } = from;
    if (state.pass >= config.passes) throw invalid(`pass ${state.pass}: the job has ${config.passes}`);
    phase = state.phase;
    for (const discard of from.discarded) {
      if (discard.task >= tasks) throw invalid(`discarded task ${discard.task}: the job has ${tasks}`);
      // One of a later pass was saved without the change of pass that came before it: nothing rests on it yet.
      if (discard.pass <= state.pass) discards.set(discard.task, discard);
    }
    for (let number = 0; number < state.pass + (phase === 'ended' ? 1 : 0); number++) {
      const totals = from.totals.get(number);
      if (totals === undefined) throw invalid(`the totals of pass ${number}, which has ended, are missing`);
      ended.push(totals);
    }
    const restored = beginPass(state.pass);
    if (phase === 'train') for (const [block, value] of from.blocks) restored.restore(block, value, now);
    return restored;
  }

  function timeoutMs(): number {
    if (config.timeoutMs !== 'auto') return config.timeoutMs;
    return Math.max(config.timeoutFloorMs, 3 * longestMs);
  }

  function noteDue(attempt: Attempt): void {
    if (!isWorking(attempt)) return;
    earliestDueMs = Math.min(earliestDueMs, attempt.countedAt + timeoutMs() - attempt.ranMs);
  }

  /** Trainers that work: the first ones of those that are live; the others stand by. */
  function activeTrainers(): ReadonlySet<string> {
    if (live.size < config.minTrainers) return new Set();
    return live.size <= config.maxTrainers ? live : new Set([...live].slice(0, config.maxTrainers));
  }

  /** Deals to whoever waits, is active and has room, in the order they asked. */
  function dealAll(at: number): void {
    const active = activeTrainers();
    for (const [request, trainer] of waiting) {
      if (!active.has(trainer) || pass.open.countHeldBy(trainer) >= LIMITS.tasksHeld) continue;
      const dealt = pass.tally.todo > 0 ? pass.deal(trainer, at) : copyStraggler(trainer, at);
      if (dealt === undefined) continue;
      waiting.delete(request);
      const attempt: AttemptRef = { trainer, pass: pass.number, task: dealt.task, attempt: dealt.attempt };
      effects.push({ type: 'deal', request, attempt });
    }
  }

  /** Only a trainer without any work gets a copy. */
  function copyStraggler(trainer: string, at: number): Attempt | undefined {
    const stragglerMs = pace.stragglerMs();
    if (stragglerMs === undefined || pass.open.countHeldBy(trainer) > 0) return undefined;
    const oldest = oldestToCopy(pass.open.entries(), trainer, stragglerMs);
    if (oldest === undefined) return undefined;
    if (at < oldest.dueMs) {
      earliestDueMs = Math.min(earliestDueMs, oldest.dueMs);
      return undefined;
    }
    speculations += 1;
    effects.push({ type: 'speculated', task: oldest.attempt.task, slow: oldest.attempt.trainer, trainer });
    return pass.copy(oldest.attempt.task, trainer, at);
  }

  /** What a refused report tells of work that was done all the same. */
  function observe(event: AttemptRef, read: number, duplicate: number): void {
    if (phase === 'ended' || event.pass !== pass.number || event.task >= tasks) return;
    if (!pass.noteReport(event.task, event.attempt)) return;
    pass.addSums(event.task, { ...noSums(), read, duplicate });
  }

  /** Ends one attempt; the task goes back when it was the last one, or is discarded. */
  function endAttempt(attempt: Attempt, end: AttemptEnd): void {
    // It ended with its task, discarded by an attempt that ended in the same step.
    if (!pass.open.isLive(attempt)) return;
    const entry = pass.end(attempt, end.isFailure);
    if (entry.failures > config.maxFailures) {
      discard(attempt, end);
    } else if (entry.attempts.size === 0) {
      pass.giveBack(attempt.task);
      effects.push({ type: 'requeued', task: attempt.task, why: end.error });
    }
  }

  function discard({ task, trainer }: Attempt, { code, error }: AttemptEnd): void {
    pass.discard(task);
    const report: DiscardedTask = {
      task,
      pass: pass.number,
      records: config.taskRecords[task]!,
      trainer,
      code,
      error: error.slice(0, DISCARD_TEXT_LENGTH),
      where: config.describeTask(task).slice(0, DISCARD_TEXT_LENGTH),
    };
    discards.set(task, report);
    changes.push({ kind: 'discarded', task, value: report });
    effects.push({ type: 'discarded', task: report });
  }

  /** The one door for messages about an attempt. */
  function admit(ref: AttemptRef, request: number): Attempt | undefined {
    const refuse = (code: ErrorCode, message: string): undefined => {
      effects.push({ type: 'refuse', request, code, message });
      return undefined;
    };
    const { number } = pass;
    if (ref.pass > number) return refuse('PassAfter', `pass ${ref.pass} has not begun; the job is in pass ${number}`);
    if (phase === 'ended' || ref.pass < number) return refuse('PassBefore', `pass ${ref.pass} has ended`);
    const attempt = pass.open.find(ref);
    if (attempt !== undefined) {
      pass.noteReport(attempt.task, attempt.attempt);
      return attempt;
    }
    return refuse('AttemptNotLive', `attempt ${ref.attempt} of task ${ref.task} by ${ref.trainer} is not live`);
  }

  function finish(event: EventOf<'finish'>, at: number): void {
    const attempt = admit(event, event.request);
    if (attempt === undefined) {
      observe(event, event.sums.read, event.sums.duplicate);
      return;
    }
    countWork(attempt, at);
    longestMs = Math.max(longestMs, attempt.ranMs);
    pace.finished(at - attempt.since);
    pass.finish(event.task);
    pass.addSums(event.task, event.sums);
    effects.push({ type: 'accept', request: event.request });
  }

  /** Its trainer says so itself: of the task being executed, whether that was ever reported or not. */
  function fail(event: EventOf<'fail'>): void {
    const attempt = admit(event, event.request);
    if (attempt === undefined) {
      observe(event, event.read, 0);
      return;
    }
    pass.addSums(event.task, { ...noSums(), read: event.read });
    endAttempt(attempt, { isFailure: event.data || !hasMoved(attempt), code: event.code, error: event.error });
    effects.push({ type: 'accept', request: event.request });
  }

  function handBack(event: EventOf<'return'>): void {
    const attempt = admit(event, event.request);
    if (attempt === undefined) {
      observe(event, event.read, 0);
      return;
    }
    pass.addSums(event.task, { ...noSums(), read: event.read });
    endAttempt(attempt, { isFailure: false, code: 'Returned', error: `${event.trainer} handed it back` });
    effects.push({ type: 'accept', request: event.request });
  }

  function progress({ trainer, executing, phase: entered }: EventOf<'progress'>, at: number): void {
    for (const attempt of pass.open.heldBy(trainer)) {
      countWork(attempt, at);
      attempt.phase = entered;
      const wasExecuting = attempt.executing;
      attempt.executing =
        executing?.pass === pass.number && executing.task === attempt.task && executing.attempt === attempt.attempt;
      if (attempt.executing && !wasExecuting) attempt.since = at;
      if (attempt.executing && executing !== undefined) {
        attempt.position = Math.max(attempt.position, executing.position);
        const entry = pass.open.get(attempt.task)!;
        entry.position = Math.max(entry.position, attempt.position);
      }
      noteDue(attempt);
    }
  }

  function gone(trainer: string): void {
    live.delete(trainer);
    for (const attempt of pass.open.heldBy(trainer)) {
      const isFailure = attempt.executing && !hasMoved(attempt);
      endAttempt(attempt, { isFailure, code: 'TrainerGone', error: `trainer ${trainer} died or left` });
    }
  }

  function roster(trainers: readonly string[]): void {
    live.clear();
    for (const trainer of trainers) live.add(trainer);
    for (const holder of pass.open.trainers()) if (!live.has(holder)) gone(holder);
  }

  function get({ trainer, held, request }: EventOf<'get'>): void {
    const known = new Set(held.filter((ref) => ref.pass === pass.number).map((ref) => `${ref.task} ${ref.attempt}`));
    for (const attempt of pass.open.heldBy(trainer)) {
      if (known.has(`${attempt.task} ${attempt.attempt}`)) continue;
      endAttempt(attempt, { isFailure: false, code: 'Lost', error: 'the answer that dealt it was lost' });
    }
    if (phase === 'ended') effects.push({ type: 'none', request });
    else waiting.set(request, trainer);
  }

  function tick(at: number): void {
    for (const attempt of [...pass.open.attempts()]) {
      countWork(attempt, at);
      if (!attempt.executing || attempt.ranMs < timeoutMs()) continue;
      const worked = `worked ${Math.round(attempt.ranMs)} ms without an end`;
      const error = `attempt ${attempt.attempt} by ${attempt.trainer} ${worked}`;
      endAttempt(attempt, { isFailure: !hasMoved(attempt), code: 'TaskTimeout', error });
    }
    earliestDueMs = Number.POSITIVE_INFINITY;
    for (const attempt of pass.open.attempts()) noteDue(attempt);
  }

  function judgeDiscards(): void {
    if (failedJob || discards.size <= config.maxDiscarded) return;
    failedJob = true;
    effects.push({ type: 'failed', discarded: [...discards.values()].at(-1)! });
  }

  /** A pass is over when nothing is to do or pending, also when its last task was discarded. */
  function endPasses(): void {
    while (phase === 'train' && pass.tally.todo === 0 && pass.tally.pending === 0) {
      const { number, tally } = pass;
      const totals: PassTotals = { tasks, done: tally.done, discarded: tally.discarded, sums: pass.sums() };
      ended.push(totals);
      if (number + 1 < config.passes) pass = beginPass(number + 1);
      else phase = 'ended';
      // In this order: whatever part of it is saved, a master finds the pass either going on or ended.
      changes.push(
        { kind: 'totals', pass: number, value: totals },
        { kind: 'state', value: { phase, pass: pass.number } },
        { kind: 'dropBlocks', pass: number },
      );
      effects.push({ type: 'passEnded', pass: number, totals });
    }
    if (phase !== 'ended') return;
    for (const request of waiting.keys()) effects.push({ type: 'none', request });
    waiting.clear();
    effects.push({ type: 'ended' });
  }

  function handle(event: QueueEvent, at: number): void {
    switch (event.type) {
      case 'roster':
        roster(event.trainers);
        return;
      case 'joined':
        live.add(event.trainer);
        return;
      case 'gone':
        gone(event.trainer);
        return;
      case 'get':
        get(event);
        return;
      case 'cancel':
        waiting.delete(event.request);
        return;
      case 'finish':
        finish(event, at);
        return;
      case 'fail':
        fail(event);
        return;
      case 'return':
        handBack(event);
        return;
      case 'progress':
        progress(event, at);
        return;
      case 'tick':
        tick(at);
        return;
      case 'resumed':
        for (const attempt of pass.open.attempts()) {
          attempt.countedAt = at;
          attempt.since = at;
        }
        return;
      default:
        unreachable(event);
    }
  }

  function counts(): QueueCounts {
    const last = phase === 'ended' ? ended.at(-1) : undefined;
    const tally = last === undefined ? pass.tally : { todo: 0, pending: 0, done: last.done, discarded: last.discarded };
    const missing = Math.max(0, config.minTrainers - live.size);
    return {
      phase,
      pass: pass.number,
      total: tasks,
      ...tally,
      waiting: waiting.size,
      missingTrainers: missing,
      speculations,
    };
  }

  return {
    step(event, at) {
      effects = [];
      changes = [];
      const wasEnded = phase === 'ended';
      handle(event, at);
      if (!wasEnded) {
        judgeDiscards();
        if (!failedJob) endPasses();
        if (!failedJob && phase === 'train') dealAll(at);
        if (phase === 'train') changes.push(...pass.takeChanges());
      }
      return changes.length === 0 ? effects : [{ type: 'save', changes }, ...effects];
    },
    nextDeadline: () => (Number.isFinite(earliestDueMs) ? earliestDueMs : undefined),
    counts,
    totals: () => ({ ended, current: phase === 'ended' ? noSums() : pass.sums() }),
    isDone(number, task) {
      const discard = discards.get(task);
      if (discard !== undefined && discard.pass <= number) return false;
      return number < pass.number || (number === pass.number && (phase === 'ended' || pass.isDone(task)));
    },
    isLive: (ref) => phase === 'train' && ref.pass === pass.number && pass.open.find(ref) !== undefined,
    stragglerMs: () => pace.stragglerMs(),
    discarded: () => [...discards.values()],
    attempts: () =>
      [...pass.open.attempts()].map(({ startPosition: _, countedAt: __, ...attempt }) => ({
        ...attempt,
        pass: pass.number,
      })),
  };
}

const invalid = (what: string): PaddletError => new PaddletError('StoreValueInvalid', `saved task queue: ${what}`);
