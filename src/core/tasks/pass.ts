/**
 * One pass over the tasks: which queue each is in (todo → pending → done, and discarded), its live attempts, and what
 * trainers reported, summed by block. Blocks that a step has touched are saved with it, so a step saves a few small
 * values however many tasks there are.
 */
import { PaddletError } from '../../base/errors.ts';
import { type Attempt, createOpenTasks, type OpenTask, type OpenTasks } from './attempt.ts';
import { blockOf, decodeBlock, encodeBlock } from './blocks.ts';
import { createTodoOrder, type TodoOrder } from './order.ts';
import { addSums, BLOCK_TASKS, noSums, type QueueChange, type TaskBlock, type TaskSums } from './state.ts';
import type { Unreported } from './unreported.ts';

const PLACES = ['todo', 'pending', 'done', 'discarded'] as const;
export type TaskPlace = (typeof PLACES)[number];

export interface PassOptions {
  readonly number: number;
  readonly tasks: number;
  readonly seed: number;
  /** Tasks discarded before this pass, or in it before a master's restart: left out. */
  readonly discarded: Iterable<number>;
  /** Unreported attempts of all passes. */
  readonly unreported: Unreported;
}

export class TaskPass {
  readonly number: number;
  readonly open: OpenTasks = createOpenTasks();
  readonly #tasks: number;
  readonly #places: Uint8Array;
  readonly #tally: Record<TaskPlace, number>;
  readonly #order: TodoOrder;
  readonly #blockSums: TaskSums[];
  readonly #touched = new Set<number>();
  readonly #unreported: Unreported;

  constructor({ number, tasks, seed, discarded, unreported }: PassOptions) {
    this.number = number;
    this.#unreported = unreported;
    this.#tasks = tasks;
    this.#places = new Uint8Array(tasks);
    this.#tally = { todo: tasks, pending: 0, done: 0, discarded: 0 };
    this.#blockSums = Array.from({ length: Math.ceil(tasks / BLOCK_TASKS) }, noSums);
    this.#order = createTodoOrder({ tasks, seed, number }, (task) => this.#placeOf(task) === 'todo');
    for (const task of discarded) this.#move(task, 'discarded');
  }

  get tally(): Readonly<Record<TaskPlace, number>> {
    return this.#tally;
  }

  /** Begins an attempt on the next task that is to do. */
  deal(trainer: string, now: number): Attempt | undefined {
    const task = this.#order.next();
    if (task === undefined) return undefined;
    this.#move(task, 'pending');
    return this.#begin(task, trainer, now);
  }

  /** Begins one more attempt on a task that is pending. */
  copy(task: number, trainer: string, now: number): Attempt {
    return this.#begin(task, trainer, now);
  }

  /** Ends one attempt, as a failure or not; the task stays pending. */
  end(attempt: Attempt, isFailure: boolean): OpenTask {
    const entry = this.open.end(attempt);
    if (isFailure) entry.failures += 1;
    this.#touch(attempt.task);
    return entry;
  }

  /** Moves a pending task without live attempts back to todo. */
  giveBack(task: number): void {
    this.#move(task, 'todo');
    this.#order.back(task);
    this.#touch(task);
  }

  finish(task: number): void {
    this.#close(task, 'done');
  }

  discard(task: number): void {
    this.#close(task, 'discarded');
  }

  isDone(task: number): boolean {
    return this.#placeOf(task) === 'done';
  }

  /** Nothing is to do and nothing pending. */
  isOver(): boolean {
    return this.#tally.todo === 0 && this.#tally.pending === 0;
  }

  /** Its trainer never heard of it: there is nothing to report. */
  forget(attempt: Attempt): void {
    this.#unreported.delete({ ...attempt, pass: this.number });
  }

  addSums(task: number, sums: TaskSums): void {
    const block = blockOf(task);
    this.#blockSums[block] = addSums(this.#blockSums[block]!, sums);
    this.#touch(task);
  }

  sums(): TaskSums {
    return this.#blockSums.reduce(addSums, noSums());
  }

  /** Blocks touched since the last call, to be saved. */
  takeChanges(): QueueChange[] {
    const isDone = (task: number): boolean => this.isDone(task);
    const changes = [...this.#touched].map((block): QueueChange => {
      const sums = this.#blockSums[block]!;
      const value = encodeBlock(block, { tasks: this.#tasks, isDone, openAt: this.open.get, sums });
      return { kind: 'block', pass: this.number, block, value };
    });
    this.#touched.clear();
    return changes;
  }

  /** Takes over a saved block; `StoreValueInvalid` when it is not one of this job. */
  restore(block: number, value: TaskBlock, now: number): void {
    const saved = decodeBlock(block, value, this.#tasks);
    if (saved === undefined) {
      throw new PaddletError(
        'StoreValueInvalid',
        `tasks of pass ${this.number}: block ${block} does not belong to this job`,
      );
    }
    this.#blockSums[block] = value.sums;
    // A discard is saved with its block or before it.
    for (const task of saved.done) if (this.#placeOf(task) === 'todo') this.#move(task, 'done');
    for (const [task, entry] of saved.open) {
      if (this.#placeOf(task) !== 'todo') continue;
      const { attempts } = this.open.restore(task, entry, now);
      if (attempts.size > 0) this.#move(task, 'pending');
      for (const attempt of attempts) this.#unreported.add({ ...attempt, pass: this.number });
    }
  }

  #begin(task: number, trainer: string, now: number): Attempt {
    this.#touch(task);
    const attempt = this.open.begin(task, trainer, now);
    this.#unreported.add({ ...attempt, pass: this.number });
    return attempt;
  }

  #placeOf(task: number): TaskPlace {
    return PLACES[this.#places[task]!]!;
  }

  #move(task: number, to: TaskPlace): void {
    this.#tally[this.#placeOf(task)] -= 1;
    this.#tally[to] += 1;
    this.#places[task] = PLACES.indexOf(to);
  }

  #touch(task: number): void {
    this.#touched.add(blockOf(task));
  }

  #close(task: number, to: 'done' | 'discarded'): void {
    this.open.close(task);
    this.#move(task, to);
    this.#touch(task);
  }
}
