/**
 * The one address of a task, on the wire, in the master and in the trainer: queue, pass, task, attempt. A queue numbers
 * its own passes and the tasks of a pass from 0; `Addressing` says what they are called outside it.
 */

/**
 * `train`: the passes of the job. `repair`: tasks that were done and are replayed after a pserver was restored.
 * `evaluate`: the test file.
 */
export type QueueName = 'train' | 'repair' | 'evaluate';

export interface PassTask {
  /**
   * For `train` and `repair`: the pass, from 0, by which the ledgers know the task's pushes. For `evaluate`: how often
   * the parameters had been restored by then, which is the recovery number in async mode and the timeline in sync mode.
   * A late report about replaced parameters therefore never counts for the current evaluation.
   */
  readonly pass: number;
  /** From 0: its number in the training data, or in the test data. */
  readonly task: number;
}

/** One dispatch of a task. */
export interface TaskAddress extends PassTask {
  readonly queue: QueueName;
  /** Number of the attempt, counted from 1 for each task of the queue. */
  readonly attempt: number;
}

export const isSameAttempt = (a: TaskAddress, b: TaskAddress): boolean =>
  a.queue === b.queue && a.pass === b.pass && a.task === b.task && a.attempt === b.attempt;

/** A task's address with the trainer that it was given to. */
export interface AttemptRef extends TaskAddress {
  readonly trainer: string;
}

/** Both functions take and give a pass and a task: numbers of the queue on one side, of the address on the other. */
export interface Addressing {
  readonly queue: QueueName;
  toAddress(numbers: PassTask): PassTask;
  /** Undefined when the queue has no such task in any pass. */
  fromAddress(address: PassTask): PassTask | undefined;
}

/** The queue's own numbers. */
export const trainingTasks: Addressing = {
  queue: 'train',
  toAddress: ({ pass, task }) => ({ pass, task }),
  fromAddress: ({ pass, task }) => ({ pass, task }),
};

/** One pass over the test file. */
export const evaluationTasks = (restores: number): Addressing => ({
  queue: 'evaluate',
  toAddress: ({ task }) => ({ pass: restores, task }),
  fromAddress: ({ pass, task }) => (pass === restores ? { pass: 0, task } : undefined),
});

/** One pass over tasks of any passes of the job: number `i` of the queue is `tasks[i]`. */
export function repairTasks(tasks: readonly PassTask[]): Addressing {
  const keyOf = ({ pass, task }: PassTask): string => `${pass}/${task}`;
  const numbers = new Map(tasks.map((address, number) => [keyOf(address), number]));
  return {
    queue: 'repair',
    toAddress: ({ task }) => tasks[task]!,
    fromAddress(address) {
      const task = numbers.get(keyOf(address));
      return task === undefined ? undefined : { pass: 0, task };
    },
  };
}
