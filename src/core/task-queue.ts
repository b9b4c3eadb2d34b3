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

export interface QueueConfig {
  /** Records of each task, bad ones included; its length is the number of tasks in a pass. */
  readonly taskRecords: Uint32Array;
  /** File, chunk and record range of a task, for reports. */
  readonly describeTask: (task: number) => string;
  readonly passes: number;
  readonly seed: number;
  /** A task that fails more often is discarded. */
  readonly maxFailures: number;
  /** More discarded tasks fail the job. */
  readonly maxDiscarded: number;
  /** Of work on one task; `auto` is three times the longest completed, never under the floor. */
  readonly timeoutMs: number | 'auto';
  readonly timeoutFloorMs: number;
}

export type Phase = 'start' | 'read' | 'pull' | 'compute' | 'push' | 'wait' | 'idle';

export interface AttemptRef {
  readonly trainer: string;
  readonly pass: number;
  readonly task: number;
  readonly attempt: number;
}

/** `request` is the shell's own number for the answer it owes. */
export type QueueEvent =
  /** The live trainers, when the master starts: attempts of others end. */
  | { readonly type: 'roster'; readonly trainers: readonly string[] }
  | { readonly type: 'joined'; readonly trainer: string }
  | { readonly type: 'gone'; readonly trainer: string }
  /** `held`: attempts the trainer knows of; its others were lost on the way and go back. */
  | { readonly type: 'get'; readonly trainer: string; readonly held: readonly AttemptRef[]; readonly request: number }
  | { readonly type: 'cancel'; readonly request: number }
  | ({ readonly type: 'finish'; readonly sums: TaskSums; readonly request: number } & AttemptRef)
  | ({
      readonly type: 'fail';
      readonly code: string;
      readonly error: string;
      /** The records are at fault: counts as a failure however far the task came. */
      readonly data: boolean;
      readonly read: number;
      readonly request: number;
    } & AttemptRef)
  | ({ readonly type: 'return'; readonly read: number; readonly request: number } & AttemptRef)
  | {
      readonly type: 'progress';
      readonly trainer: string;
      readonly executing: { pass: number; task: number; attempt: number; position: number } | undefined;
      readonly phase: Phase;
    }
  | { readonly type: 'tick' }
  /** The master was suspended until now: that time is nobody's. */
  | { readonly type: 'resumed' };

export type QueueEffect =
  | { readonly type: 'save'; readonly changes: readonly QueueChange[] }
  | { readonly type: 'deal'; readonly request: number; readonly attempt: AttemptRef }
  /** There will be no task for this request: the queue has ended. */
  | { readonly type: 'none'; readonly request: number }
  | { readonly type: 'accept'; readonly request: number }
  | { readonly type: 'refuse'; readonly request: number; readonly code: ErrorCode; readonly message: string }
  | { readonly type: 'requeued'; readonly task: number; readonly why: string }
  | { readonly type: 'discarded'; readonly task: DiscardedTask }
  | { readonly type: 'passEnded'; readonly pass: number; readonly totals: PassTotals }
  | { readonly type: 'ended' }
  | { readonly type: 'failed'; readonly discarded: DiscardedTask };

export interface QueueCounts {
  readonly phase: 'train' | 'ended';
  readonly pass: number;
  readonly total: number;
  readonly todo: number;
  readonly pending: number;
  readonly done: number;
  readonly discarded: number;
  readonly waiting: number;
}

export interface LiveAttempt extends AttemptRef {
  readonly phase: Phase;
  readonly position: number;
  readonly executing: boolean;
  readonly ranMs: number;
}

export interface TaskQueue {
  step(event: QueueEvent, now: number): QueueEffect[];
  /** When `tick` is due next, on the clock of `now`; undefined while nothing can time out. */
  nextDeadline(): number | undefined;
  counts(): QueueCounts;
  /** Totals of each ended pass, and the sums so far of the current one. */
  totals(): { readonly ended: readonly PassTotals[]; readonly current: TaskSums };
  discarded(): readonly DiscardedTask[];
  attempts(): readonly LiveAttempt[];
}

const TODO = 0;
const PENDING = 1;
const DONE = 2;
const DISCARDED = 3;

interface Attempt {
  readonly attempt: number;
  readonly trainer: string;
  executing: boolean;
  startPosition: number;
  position: number;
  phase: Phase;
  /** Time worked, waits left out, up to `countedAt`. */
  ranMs: number;
  countedAt: number;
}

interface OpenTask {
  last: number;
  failures: number;
  attempts: Attempt[];
}

/** Phases in which the trainer itself is at work; in the others it waits for someone else and its clock stands still. */
const WORKING: ReadonlySet<Phase> = new Set(['start', 'read', 'compute']);

export function createTaskQueue(config: QueueConfig, saved: SavedQueue | undefined, now: number): TaskQueue {
  const tasks = config.taskRecords.length;
  assert(tasks > 0 && config.passes > 0, 'a job has tasks and passes');
  let phase: 'train' | 'ended' = 'train';
  let pass = 0;
  let status = new Uint8Array(tasks);
  let order = new Uint32Array(0);
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

  /** Work on a task counted so far, up to `at`. */
  function count(attempt: Attempt, at: number): void {
    if (attempt.executing && WORKING.has(attempt.phase)) attempt.ranMs += at - attempt.countedAt;
    attempt.countedAt = at;
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
  function endAttempt(
    task: number,
    attempt: Attempt,
    end: { failure: boolean; code: string; error: string },
  ): void {
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
    count(attempt, now);
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
      count(attempt, now);
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
      if (!known) endAttempt(task, attempt, { failure: false, code: 'Lost', error: 'the answer that dealt it was lost' });
    }
    if (phase === 'ended') effects.push({ type: 'none', request: event.request });
    else waiting.push({ request: event.request, trainer: event.trainer });
  }

  function tick(now: number): void {
    for (const [task, entry] of [...open]) {
      for (const attempt of [...entry.attempts]) {
        count(attempt, now);
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
        return gone(event.trainer);
      case 'get':
        return get(event);
      case 'cancel': {
        const at = waiting.findIndex(({ request }) => request === event.request);
        if (at >= 0) waiting.splice(at, 1);
        return;
      }
      case 'finish':
        return finish(event, now);
      case 'fail':
        return fail(event);
      case 'return':
        return giveBack(event);
      case 'progress':
        return progress(event, now);
      case 'tick':
        return tick(now);
      case 'resumed':
        for (const entry of open.values()) for (const attempt of entry.attempts) attempt.countedAt = now;
        return;
      default:
        return unreachable(event);
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

function newAttempt(attempt: number, trainer: string, now: number): Attempt {
  return {
    attempt,
    trainer,
    executing: false,
    startPosition: 0,
    position: 0,
    phase: 'idle',
    ranMs: 0,
    countedAt: now,
  };
}
