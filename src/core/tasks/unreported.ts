/**
 * Attempts that were handed out and have not reported their end. Each may report once, and what it read counts then,
 * even when its task is done by then, or its pass is over. So what trainers read is bounded by what was handed out to
 * them.
 */
import { LIMITS } from '../../base/limits.ts';
import type { Attempt } from './attempt.ts';

export interface AttemptName extends Pick<Attempt, 'task' | 'attempt' | 'trainer'> {
  readonly pass: number;
}

export interface Unreported {
  add(attempt: AttemptName): void;
  /** False when it is not one of these. */
  delete(attempt: AttemptName): boolean;
}

export function createUnreported(): Unreported {
  const names = new Set<string>();
  const nameOf = ({ pass, task, attempt, trainer }: AttemptName): string => `${pass} ${task} ${attempt} ${trainer}`;
  return {
    add: (attempt) => {
      names.add(nameOf(attempt));
      // Those of trainers that died are never reported.
      const [oldest] = names;
      if (names.size > LIMITS.unreportedAttempts) names.delete(oldest!);
    },
    delete: (attempt) => names.delete(nameOf(attempt)),
  };
}
