/**
 * Attempts that were handed out in this pass and have not reported their end. Each may report once, and what it read
 * counts then, even when its task is done by then. So what trainers read is bounded by what was handed out to them.
 */
import type { Attempt } from './attempt.ts';

export type AttemptName = Pick<Attempt, 'task' | 'attempt' | 'trainer'>;

export interface Unreported {
  add(attempt: AttemptName): void;
  /** False when it is not one of these. */
  delete(attempt: AttemptName): boolean;
}

export function createUnreported(): Unreported {
  const names = new Set<string>();
  const nameOf = ({ task, attempt, trainer }: AttemptName): string => `${task} ${attempt} ${trainer}`;
  return {
    add: (attempt) => void names.add(nameOf(attempt)),
    delete: (attempt) => names.delete(nameOf(attempt)),
  };
}
