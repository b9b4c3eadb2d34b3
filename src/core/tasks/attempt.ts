/** Live attempts, by task and by trainer, and the clock that runs while a trainer works on one. */
import { assert } from '../../base/assert.ts';
import type { Phase } from './events.ts';

export interface Attempt {
  readonly task: number;
  readonly attempt: number;
  readonly trainer: string;
  executing: boolean;
  /** It was executed once: what its trainer begins again has the time that it had. */
  hasBegun: boolean;
  /** How far the task had come when this attempt began. */
  readonly startPosition: number;
  /** When it was handed out or, once it is executed, when that first began. */
  since: number;
  /** When it last brought its task further; before that, when it was handed out or first started. */
  movedAt: number;
  /** How far it has come since: the next push wanted, as its trainer reports it. */
  position: number;
  phase: Phase;
  /** Time worked, without waits, up to `countedAt`. */
  ranMs: number;
  countedAt: number;
}

/** A task that was handed out in this pass and is not done. Its attempts keep counting when it comes back. */
export interface OpenTask {
  /** Number of the newest attempt. */
  last: number;
  failures: number;
  /** The furthest that any attempt was seen to come. */
  position: number;
  readonly attempts: Set<Attempt>;
}

/** Phases in which the trainer itself works; in the others it waits for another process and its clock is stopped. */
const WORKING: ReadonlySet<Phase> = new Set(['start', 'read', 'compute']);

/** True while time counts against the attempt. */
export const isWorking = (attempt: Attempt): boolean => attempt.executing && WORKING.has(attempt.phase);

/** Counts the work on the attempt up to `at`; waits are left out. */
export function countWork(attempt: Attempt, at: number): void {
  if (isWorking(attempt)) attempt.ranMs += at - attempt.countedAt;
  attempt.countedAt = at;
}

/** Whether the attempt brought its task further: one that did is not a failure, however it ends. */
export const hasMoved = (attempt: Attempt): boolean => attempt.position > attempt.startPosition;

export interface SavedOpenTask {
  readonly last: number;
  readonly failures: number;
  readonly attempts: readonly { readonly attempt: number; readonly trainer: string }[];
}

export interface OpenTasks {
  get(task: number): OpenTask | undefined;
  /** The live attempt that is named, if it is live. */
  find(which: Pick<Attempt, 'task' | 'attempt' | 'trainer'>): Attempt | undefined;
  heldBy(trainer: string): readonly Attempt[];
  countHeldBy(trainer: string): number;
  attempts(): Iterable<Attempt>;
  trainers(): readonly string[];
  begin(task: number, trainer: string, now: number): Attempt;
  restore(task: number, saved: SavedOpenTask, now: number): OpenTask;
  /** Ends a live attempt; the task stays open. */
  end(attempt: Attempt): OpenTask;
  isLive(attempt: Attempt): boolean;
  /** Open tasks with their live attempts. */
  entries(): Iterable<OpenTask>;
  /** Ends all attempts of a task that is done or discarded. */
  close(task: number): void;
}

export function createOpenTasks(): OpenTasks {
  const tasks = new Map<number, OpenTask>();
  const byTrainer = new Map<string, Set<Attempt>>();

  function add(entry: OpenTask, task: number, { attempt, trainer }: SavedOpenTask['attempts'][number], now: number) {
    const made: Attempt = {
      task,
      attempt,
      trainer,
      executing: false,
      hasBegun: false,
      startPosition: entry.position,
      since: now,
      movedAt: now,
      position: entry.position,
      phase: 'idle',
      ranMs: 0,
      countedAt: now,
    };
    entry.attempts.add(made);
    let held = byTrainer.get(trainer);
    if (held === undefined) {
      held = new Set();
      byTrainer.set(trainer, held);
    }
    held.add(made);
    return made;
  }

  function drop(attempt: Attempt): void {
    const held = byTrainer.get(attempt.trainer);
    held?.delete(attempt);
    if (held?.size === 0) byTrainer.delete(attempt.trainer);
  }

  return {
    get: (task) => tasks.get(task),
    find({ trainer, task, attempt }) {
      for (const live of tasks.get(task)?.attempts ?? []) {
        if (live.attempt === attempt && live.trainer === trainer) return live;
      }
      return undefined;
    },
    heldBy: (trainer) => [...(byTrainer.get(trainer) ?? [])],
    countHeldBy: (trainer) => byTrainer.get(trainer)?.size ?? 0,
    *attempts() {
      for (const held of byTrainer.values()) yield* held;
    },
    trainers: () => [...byTrainer.keys()],
    begin(task, trainer, now) {
      const entry = tasks.get(task) ?? { last: 0, failures: 0, position: 0, attempts: new Set<Attempt>() };
      tasks.set(task, entry);
      entry.last += 1;
      return add(entry, task, { attempt: entry.last, trainer }, now);
    },
    restore(task, { last, failures, attempts }, now) {
      const entry: OpenTask = { last, failures, position: 0, attempts: new Set() };
      tasks.set(task, entry);
      for (const saved of attempts) add(entry, task, saved, now);
      return entry;
    },
    end(attempt) {
      const entry = tasks.get(attempt.task);
      assert(entry !== undefined, 'an attempt belongs to an open task');
      assert(entry.attempts.delete(attempt), 'an attempt that ends is live');
      drop(attempt);
      return entry;
    },
    entries: () => tasks.values(),
    isLive: (attempt) => tasks.get(attempt.task)?.attempts.has(attempt) === true,
    close(task) {
      for (const attempt of tasks.get(task)?.attempts ?? []) drop(attempt);
      tasks.delete(task);
    },
  };
}
