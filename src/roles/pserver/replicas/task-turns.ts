/**
 * Updates of one task are judged and placed one after the other: each has its turn until its answer is made, also
 * while it is judged again. Otherwise the push behind it would be refused as early, or a repeat be placed before it.
 */
import { assert } from '../../../base/assert.ts';

export interface TaskName {
  readonly pass: number;
  readonly task: number;
}

export class TaskTurns {
  /** Task → whose turn it is. */
  readonly #turns = new Map<string, TaskTurn>();

  /** Of an update that concerns these tasks. It has its turn when it takes it. */
  of(tasks: readonly TaskName[]): TaskTurn {
    return new TaskTurn(this.#turns, tasks);
  }
}

export class TaskTurn {
  readonly #turns: Map<string, TaskTurn>;
  readonly #keys: readonly string[];
  readonly #ended = Promise.withResolvers<void>();

  constructor(turns: Map<string, TaskTurn>, tasks: readonly TaskName[]) {
    this.#turns = turns;
    this.#keys = tasks.map(({ pass, task }) => `${pass}/${task}`);
  }

  /** To be awaited, and asked again, before the update is judged: another one of its tasks has its turn. */
  wait(): Promise<void> | undefined {
    for (const key of this.#keys) {
      const turn = this.#turns.get(key);
      if (turn !== undefined && turn !== this) return turn.#ended.promise;
    }
    return undefined;
  }

  /** When it is judged, before anything is awaited. It may have it already. */
  take(): void {
    assert(this.wait() === undefined, 'updates of a task are placed one after the other');
    for (const key of this.#keys) this.#turns.set(key, this);
  }

  /** Its answer is made, or it is refused. */
  end(): void {
    for (const key of this.#keys) if (this.#turns.get(key) === this) this.#turns.delete(key);
    this.#ended.resolve();
  }
}
