/**
 * The order in which the tasks of a pass are handed out: those that came back first, then the rest as (seed, pass)
 * shuffle them.
 */
import { shuffled } from '../shuffle.ts';

export interface TodoOrder {
  /** The next task to hand out, which leaves this order until it comes `back`. */
  next(): number | undefined;
  back(task: number): void;
}

/**
 * `isTodo` tells which tasks of the shuffled order are still to be handed out: a restored queue has handed out some.
 */
export function createTodoOrder(
  pass: { readonly tasks: number; readonly seed: number; readonly number: number },
  isTodo: (task: number) => boolean,
): TodoOrder {
  const order = shuffled(pass.tasks, pass.seed, pass.number);
  let cursor = 0;
  const returned: number[] = [];
  return {
    next() {
      const back = returned.shift();
      if (back !== undefined) return back;
      while (cursor < order.length) {
        const task = order[cursor]!;
        cursor += 1;
        if (isTodo(task)) return task;
      }
      return undefined;
    },
    back: (task) => void returned.push(task),
  };
}
