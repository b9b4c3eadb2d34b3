/**
 * The master's task queue (DESIGN §4; seeds/distributed-training.en.md "Task Queue"): todo → pending → done, and
 * discarded. Each dispatch is a numbered attempt; finish and fail name theirs and are refused if it is not live.
 *
 * A pure machine: `step(event, now)` answers with effects, in order; what must be saved comes before the answers that
 * rest on it, and the shell keeps that order.
 */
import { assert, unreachable } from '../base/assert.ts';
import type { ErrorCode } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { bitmapFromText } from './bitmap.ts';
import { shuffled } from './shuffle.ts';
import { type Attempt, countWork, newAttempt, type OpenTask, WORKING } from './task-attempt.ts';
import type { AttemptRef, QueueConfig, QueueEffect, QueueEvent, TaskQueue } from './task-events.ts';
import {
  addSums,
  BLOCK_TASKS,
  type DiscardedTask,
  noSums,
  type PassTotals,
  type QueueChange,
  type SavedQueue,
  type TaskBlock,
  type TaskSums,
} from './task-state.ts';

const TODO = 0;
const PENDING = 1;
const DONE = 2;
const DISCARDED = 3;

export function createTaskQueue(config: QueueConfig, saved: SavedQueue | undefined, now: number): TaskQueue {
  const tasks = config.taskRecords.length;
  assert(tasks > 0 && config.passes > 0, 'a job has tasks and passes');
  let phase: 'train' | 'ended' = 'train';
  let pass = 0;
  let status: Uint8Array = new Uint8Array(tasks);
  let order: Uint32Array = new Uint32Array(0);
  let cursor = 0;
  /** Tasks that came back, dealt before the rest. */
  let returned: number[] = [];
  const tally = { todo: 0, pending: 0, done: 0, discarded: 0 };
  let blockSums: TaskSums[] = [];
  const open = new Map<number, OpenTask>();
  const ended: PassTotals[] = [];
  const discards = new Map<number, DiscardedTask>();
  const live = new Set<string>();
  const waiting: { request: number; trainer: string }[] = [];
  let longestMs = 0;
  let failedJob = false;

  /** Filled during one step. */
  let effects: QueueEffect[] = [];
  let changes: QueueChange[] = [];
  let dirty = new Set<number>();

  beginPass(0);
  if (saved !== undefined) restore(saved);

  function beginPass(number: number): void {
    pass = number;
    status = new Uint8Array(tasks);
    for (const task of discards.keys()) status[task] = DISCARDED;
    order = shuffled(tasks, config.seed, pass);
    cursor = 0;
    returned = [];
    open.clear();
    blockSums = Array.from({ length: Math.ceil(tasks / BLOCK_TASKS) }, noSums);
    tally.todo = tasks - discards.size;
    tally.pending = 0;
    tally.done = 0;
    tally.discarded = discards.size;
  }

  function restore(from: SavedQueue): void {
    for (const discard of from.discarded) discards.set(discard.task, discard);
    for (let p = 0; p < from.state.pass + (from.state.phase === 'ended' ? 1 : 0); p++) {
      const totals = from.totals.get(p);
      assert(totals !== undefined, `totals of ended pass ${p} are saved`);
      ended.push(totals);
    }
    beginPass(from.state.pass);
    phase = from.state.phase;
    if (phase === 'ended') return;
    for (const [block, value] of from.blocks) restoreBlock(block, value);
  }

  function restoreBlock(block: number, value: TaskBlock): void {
    const first = block * BLOCK_TASKS;
    const done = bitmapFromText(value.done, Math.min(BLOCK_TASKS, tasks - first));
    assert(done !== undefined, `task block ${block} fits the job`);
    for (let i = 0; i < done.size; i++) if (done.has(i)) setStatus(first + i, DONE);
    for (const [text, entry] of Object.entries(value.open)) {
      const task = Number(text);
      const attempts = entry.attempts.map(({ attempt, trainer }) => newAttempt(attempt, trainer, now));
      open.set(task, { last: entry.last, failures: entry.failures, attempts });
      if (attempts.length > 0) setStatus(task, PENDING);
    }
    blockSums[block] = value.sums;
  }

  function setStatus(task: number, to: number): void {
    const names = ['todo', 'pending', 'done', 'discarded'] as const;
    tally[names[status[task]!]!] -= 1;
    tally[names[to]!] += 1;
    status[task] = to;
  }

  function touch(task: number): void {
    dirty.add(Math.floor(task / BLOCK_TASKS));
  }

  function blockValue(block: number): TaskBlock {
    const first = block * BLOCK_TASKS;
    const size = Math.min(BLOCK_TASKS, tasks - first);
    let done = '';
    const entries: TaskBlock['open'] = {};
    for (let byte = 0; byte < size; byte += 8) {
      let bits = 0;
      for (let i = byte; i < Math.min(byte + 8, size); i++) {
        if (status[first + i] === DONE) bits |= 1 << (i - byte);
        const task = open.get(first + i);
        if (task === undefined) continue;
        const attempts = task.attempts.map(({ attempt, trainer }) => ({ attempt, trainer }));
        entries[first + i] = { last: task.last, failures: task.failures, attempts };
      }
      done += bits.toString(16).padStart(2, '0');
    }
    return { done, open: entries, sums: blockSums[block]! };
  }

  function timeoutMs(): number {
    if (config.timeoutMs !== 'auto') return config.timeoutMs;
    return Math.max(config.timeoutFloorMs, 3 * longestMs);
  }

  function nextTodo(): number | undefined {
    const back = returned.shift();
    if (back !== undefined) return back;
    for (; cursor < tasks; cursor++) {
      const task = order[cursor]!;
      if (status[task] !== TODO) continue;
      cursor += 1;
      return task;
    }
    return undefined;
  }

  function heldBy(trainer: string): { task: number; attempt: Attempt }[] {
    const held: { task: number; attempt: Attempt }[] = [];
    for (const [task, entry] of open) {
      for (const attempt of entry.attempts) if (attempt.trainer === trainer) held.push({ task, attempt });
    }
    return held;
  }

  /** Deals to whoever waits and is live, in the order they asked. */
  function dealAll(now: number): void {
    for (let i = 0; i < waiting.length; ) {
      const { request, trainer } = waiting[i]!;
      if (!live.has(trainer) || heldBy(trainer).length >= LIMITS.tasksHeld) {
        i += 1;
        continue;
      }
      const task = nextTodo();
      if (task === undefined) return;
      waiting.splice(i, 1);
      const entry = open.get(task) ?? { last: 0, failures: 0, attempts: [] };
      entry.last += 1;
      entry.attempts.push(newAttempt(entry.last, trainer, now));
      open.set(task, entry);
      setStatus(task, PENDING);
      touch(task);
      effects.push({ type: 'deal', request, attempt: { trainer, pass, task, attempt: entry.last } });
    }
  }

  /** Ends one attempt; the task goes back when it was the last one, or is discarded. */
  function endAttempt(task: number, attempt: Attempt, end: { failure: boolean; code: string; error: string }): void {
    const entry = open.get(task);
    assert(entry !== undefined, 'an attempt belongs to an open task');
    entry.attempts = entry.attempts.filter((other) => other !== attempt);
    if (end.failure) entry.failures += 1;
    touch(task);
    if (entry.failures > config.maxFailures) {
      discard(task, attempt, end);
      return;
    }
    if (entry.attempts.length > 0) return;
    setStatus(task, TODO);
    returned.push(task);
    effects.push({ type: 'requeued', task, why: end.error });
  }

  function discard(task: number, attempt: Attempt, end: { code: string; error: string }): void {
    open.delete(task);
    setStatus(task, DISCARDED);
    const report: DiscardedTask = {
      task,
      pass,
      records: config.taskRecords[task]!,
      trainer: attempt.trainer,
      code: end.code,
      error: end.error,
      where: config.describeTask(task),
    };
    discards.set(task, report);
    changes.push({ kind: 'discarded', task, value: report });
    effects.push({ type: 'discarded', task: report });
    if (discards.size > config.maxDiscarded && !failedJob) {
      failedJob = true;
      effects.push({ type: 'failed', discarded: report });
    }
  }

  /** The one door for messages about an attempt (EXAMPLES 3). */
  function admit(ref: AttemptRef, request: number): Attempt | undefined {
    const refuse = (code: ErrorCode, message: string): undefined => {
      effects.push({ type: 'refuse', request, code, message });
      return undefined;
    };
    if (phase === 'ended' || ref.pass < pass) return refuse('PassBefore', `pass ${ref.pass} has ended`);
    if (ref.pass > pass) return refuse('PassAfter', `pass ${ref.pass} has not begun; the job is in pass ${pass}`);
    const attempt = open
      .get(ref.task)
      ?.attempts.find((other) => other.attempt === ref.attempt && other.trainer === ref.trainer);
    if (attempt !== undefined) return attempt;
    return refuse('AttemptNotLive', `attempt ${ref.attempt} of task ${ref.task} by ${ref.trainer} is not live`);
  }

  function addToBlock(task: number, sums: TaskSums): void {
    const block = Math.floor(task / BLOCK_TASKS);
    blockSums[block] = addSums(blockSums[block]!, sums);
    touch(task);
  }

  function finish(event: Extract<QueueEvent, { type: 'finish' }>, now: number): void {
    const attempt = admit(event, event.request);
    if (attempt === undefined) return;
    countWork(attempt, now);
    longestMs = Math.max(longestMs, attempt.ranMs);
    open.delete(event.task);
    setStatus(event.task, DONE);
    addToBlock(event.task, event.sums);
    effects.push({ type: 'accept', request: event.request });
  }

  function fail(event: Extract<QueueEvent, { type: 'fail' }>): void {
    const attempt = admit(event, event.request);
    if (attempt === undefined) return;
    addToBlock(event.task, { ...noSums(), read: event.read });
    const failure = event.data || (attempt.executing && attempt.position === attempt.startPosition);
    endAttempt(event.task, attempt, { failure, code: event.code, error: event.error });
    effects.push({ type: 'accept', request: event.request });
  }

  function giveBack(event: Extract<QueueEvent, { type: 'return' }>): void {
    const attempt = admit(event, event.request);
    if (attempt === undefined) return;
    addToBlock(event.task, { ...noSums(), read: event.read });
    endAttempt(event.task, attempt, { failure: false, code: 'Returned', error: `${event.trainer} handed it back` });
    effects.push({ type: 'accept', request: event.request });
  }

  function progress(event: Extract<QueueEvent, { type: 'progress' }>, now: number): void {
    for (const { task, attempt } of heldBy(event.trainer)) {
      countWork(attempt, now);
      const { executing } = event;
      const now_ = executing?.pass === pass && executing.task === task && executing.attempt === attempt.attempt;
      attempt.phase = event.phase;
      if (now_ && executing !== undefined) {
        if (!attempt.executing) attempt.startPosition = executing.position;
        attempt.position = executing.position;
      }
      attempt.executing = now_;
    }
  }

  function gone(trainer: string): void {
    live.delete(trainer);
    for (const { task, attempt } of heldBy(trainer)) {
      const failure = attempt.executing && attempt.position === attempt.startPosition;
      endAttempt(task, attempt, { failure, code: 'TrainerGone', error: `trainer ${trainer} died or left` });
    }
  }

  function get(event: Extract<QueueEvent, { type: 'get' }>): void {
    for (const { task, attempt } of heldBy(event.trainer)) {
      const known = event.held.some(
        (held) => held.pass === pass && held.task === task && held.attempt === attempt.attempt,
      );
      if (!known)
        endAttempt(task, attempt, { failure: false, code: 'Lost', error: 'the answer that dealt it was lost' });
    }
    if (phase === 'ended') effects.push({ type: 'none', request: event.request });
    else waiting.push({ request: event.request, trainer: event.trainer });
  }

  function tick(now: number): void {
    for (const [task, entry] of [...open]) {
      for (const attempt of [...entry.attempts]) {
        countWork(attempt, now);
        if (!attempt.executing || attempt.ranMs < timeoutMs()) continue;
        const failure = attempt.position === attempt.startPosition;
        const error = `attempt ${attempt.attempt} by ${attempt.trainer} worked ${Math.round(attempt.ranMs)} ms without an end`;
        endAttempt(task, attempt, { failure, code: 'TaskTimeout', error });
      }
    }
  }

  function endPasses(): void {
    while (phase === 'train' && !failedJob && tally.todo === 0 && tally.pending === 0) {
      const sums = blockSums.reduce(addSums, noSums());
      const totals: PassTotals = { tasks, done: tally.done, discarded: tally.discarded, sums };
      const number = pass;
      ended.push(totals);
      dirty.clear();
      changes.push({ kind: 'totals', pass: number, value: totals }, { kind: 'dropBlocks', pass: number });
      if (number + 1 < config.passes) beginPass(number + 1);
      else phase = 'ended';
      changes.push({ kind: 'state', value: { phase, pass } });
      effects.push({ type: 'passEnded', pass: number, totals });
    }
    if (phase !== 'ended') return;
    for (const { request } of waiting.splice(0)) effects.push({ type: 'none', request });
    effects.push({ type: 'ended' });
  }

  function handle(event: QueueEvent, now: number): void {
    switch (event.type) {
      case 'roster': {
        for (const trainer of event.trainers) live.add(trainer);
        const holders = new Set([...open.values()].flatMap((entry) => entry.attempts.map(({ trainer }) => trainer)));
        for (const trainer of holders) if (!live.has(trainer)) gone(trainer);
        return;
      }
      case 'joined':
        live.add(event.trainer);
        return;
      case 'gone':
        gone(event.trainer);
        return;
      case 'get':
        get(event);
        return;
      case 'cancel': {
        const at = waiting.findIndex(({ request }) => request === event.request);
        if (at >= 0) waiting.splice(at, 1);
        return;
      }
      case 'finish':
        finish(event, now);
        return;
      case 'fail':
        fail(event);
        return;
      case 'return':
        giveBack(event);
        return;
      case 'progress':
        progress(event, now);
        return;
      case 'tick':
        tick(now);
        return;
      case 'resumed':
        for (const entry of open.values()) for (const attempt of entry.attempts) attempt.countedAt = now;
        return;
      default:
        unreachable(event);
        return;
    }
  }

  return {
    step(event, now) {
      effects = [];
      changes = [];
      dirty = new Set();
      const wasEnded = phase === 'ended';
      handle(event, now);
      if (!wasEnded) {
        endPasses();
        if (phase === 'train' && !failedJob) dealAll(now);
      }
      for (const block of dirty) changes.push({ kind: 'block', pass, block, value: blockValue(block) });
      return changes.length === 0 ? effects : [{ type: 'save', changes }, ...effects];
    },
    nextDeadline() {
      let earliest: number | undefined;
      for (const entry of open.values()) {
        for (const attempt of entry.attempts) {
          if (!attempt.executing || !WORKING.has(attempt.phase)) continue;
          const due = attempt.countedAt + timeoutMs() - attempt.ranMs;
          if (earliest === undefined || due < earliest) earliest = due;
        }
      }
      return earliest;
    },
    counts: () => ({ phase, pass, total: tasks, ...tally, waiting: waiting.length }),
    totals: () => ({ ended, current: blockSums.reduce(addSums, noSums()) }),
    discarded: () => [...discards.values()],
    attempts: () =>
      [...open].flatMap(([task, entry]) =>
        entry.attempts.map(({ attempt, trainer, phase, position, executing, ranMs }) => ({
          pass,
          task,
          attempt,
          trainer,
          phase,
          position,
          executing,
          ranMs,
        })),
      ),
  };
}
