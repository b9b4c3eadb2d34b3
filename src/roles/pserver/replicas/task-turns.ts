/**
 * Updates of one task are judged and placed one after the other. Each update keeps its turn until its answer is made,
 * even while it is judged again. Otherwise, the push behind it would be refused as early, or a repeated push would be
 * placed before it.
 */
import { assert } from '../../../base/assert.ts';

export interface TaskName {
  readonly pass: number;
  readonly task: number;
}

export class TaskTurns {
  /** Task → the update whose turn it is. */
  readonly #turns = new Map<string, TaskTurn>();

  /** Creates the turn of an update that concerns these tasks. The turn starts with `take`. */
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

  /**
   * Returns a promise while another update of these tasks has its turn. Await it, and ask again before judging the
   * update.
   */
  wait(): Promise<void> | undefined {
    for (const key of this.#keys) {
      const turn = this.#turns.get(key);
      if (turn !== undefined && turn !== this) return turn.#ended.promise;
    }
    return undefined;
  }

  /** Call this when the update is judged, before awaiting anything. The update may already have its turn. */
  take(): void {
    assert(this.wait() === undefined, 'updates of a task are placed one after the other');
    for (const key of this.#keys) this.#turns.set(key, this);
  }

  /** The answer is made, or the update is refused. */
  end(): void {
    for (const key of this.#keys) if (this.#turns.get(key) === this) this.#turns.delete(key);
    this.#ended.resolve();
  }
}
