/**
 * One pass over the tasks: which queue each is in (todo → pending → done, and discarded), its live attempts, and what
 * trainers reported, summed by block. Blocks that a step has touched are saved with it, so a step saves a few small values
 * however many tasks there are.
 */
import { PaddletError } from '../../base/errors.ts';
import { type Attempt, createOpenTasks, type OpenTask, type OpenTasks } from './attempt.ts';
import { blockOf, decodeBlock, encodeBlock } from './blocks.ts';
import { createTodoOrder } from './order.ts';
import { addSums, BLOCK_TASKS, noSums, type QueueChange, type TaskBlock, type TaskSums } from './state.ts';

const PLACES = ['todo', 'pending', 'done', 'discarded'] as const;
export type TaskPlace = (typeof PLACES)[number];

export interface TaskPass {
  readonly number: number;
  readonly open: OpenTasks;
  readonly tally: Readonly<Record<TaskPlace, number>>;
  /** Begins an attempt on the next task that is to do. */
  deal(trainer: string, now: number): Attempt | undefined;
  /** Begins one more attempt on a task that is pending. */
  copy(task: number, trainer: string, now: number): Attempt;
  /** Ends one attempt, as a failure or not; the task stays pending. */
  end(attempt: Attempt, isFailure: boolean): OpenTask;
  /** Moves a pending task without live attempts back to todo. */
  giveBack(task: number): void;
  finish(task: number): void;
  isDone(task: number): boolean;
  discard(task: number): void;
  /** Notes that an attempt reported its end; false when it had before: an answer that was lost is asked for again. */
  noteReport(task: number, attempt: number): boolean;
  addSums(task: number, sums: TaskSums): void;
  sums(): TaskSums;
  /** Blocks touched since the last call, to be saved. */
  takeChanges(): QueueChange[];
  /** Takes over a saved block; `StoreValueInvalid` when it is not one of this job. */
  restore(block: number, value: TaskBlock, now: number): void;
}

export interface PassOptions {
  readonly number: number;
  readonly tasks: number;
  readonly seed: number;
  /** Tasks discarded before this pass, or in it before a master's restart: left out. */
  readonly discarded: Iterable<number>;
}

export function createTaskPass({ number, tasks, seed, discarded }: PassOptions): TaskPass {
  const places = new Uint8Array(tasks);
  const tally = { todo: tasks, pending: 0, done: 0, discarded: 0 };
  const open = createOpenTasks();
  const blockSums = Array.from({ length: Math.ceil(tasks / BLOCK_TASKS) }, noSums);
  const touched = new Set<number>();
  /** One bit for each of eight attempts, so that what was read is never counted twice, at worst not at all. */
  const heard = new Uint8Array(tasks);
  const order = createTodoOrder({ tasks, seed, number }, (task) => placeOf(task) === 'todo');

  for (const task of discarded) move(task, 'discarded');

  const isDone = (task: number): boolean => placeOf(task) === 'done';

  function placeOf(task: number): TaskPlace {
    return PLACES[places[task]!]!;
  }

  function move(task: number, to: TaskPlace): void {
    tally[placeOf(task)] -= 1;
    tally[to] += 1;
    places[task] = PLACES.indexOf(to);
  }

  function touch(task: number): void {
    touched.add(blockOf(task));
  }

  function close(task: number, to: 'done' | 'discarded'): void {
    open.close(task);
    move(task, to);
    touch(task);
  }

  return {
    number,
    open,
    tally,
    deal(trainer, now) {
      const task = order.next();
      if (task === undefined) return undefined;
      move(task, 'pending');
      touch(task);
      return open.begin(task, trainer, now);
    },
    copy(task, trainer, now) {
      touch(task);
      return open.begin(task, trainer, now);
    },
    end(attempt, isFailure) {
      const entry = open.end(attempt);
      if (isFailure) entry.failures += 1;
      touch(attempt.task);
      return entry;
    },
    giveBack(task) {
      move(task, 'todo');
      order.back(task);
      touch(task);
    },
    finish: (task) => close(task, 'done'),
    isDone,
    discard: (task) => close(task, 'discarded'),
    noteReport(task, attempt) {
      const bit = 1 << ((attempt - 1) & 7);
      const isFirst = (heard[task]! & bit) === 0;
      heard[task]! |= bit;
      return isFirst;
    },
    addSums(task, sums) {
      const block = blockOf(task);
      blockSums[block] = addSums(blockSums[block]!, sums);
      touch(task);
    },
    sums: () => blockSums.reduce(addSums, noSums()),
    takeChanges() {
      const changes = [...touched].map((block): QueueChange => {
        const value = encodeBlock(block, { tasks, isDone, openAt: open.get, sums: blockSums[block]! });
        return { kind: 'block', pass: number, block, value };
      });
      touched.clear();
      return changes;
    },
    restore(block, value, now) {
      const saved = decodeBlock(block, value, tasks);
      if (saved === undefined) {
        throw new PaddletError('StoreValueInvalid', `tasks of pass ${number}, block ${block}: not of this job`);
      }
      blockSums[block] = value.sums;
      // A discard is saved with its block or before it.
      for (const task of saved.done) if (placeOf(task) === 'todo') move(task, 'done');
      for (const [task, entry] of saved.open) {
        if (placeOf(task) !== 'todo') continue;
        if (open.restore(task, entry, now).attempts.size > 0) move(task, 'pending');
      }
    },
  };
}
