/** Updates of one shard, each of which raises its `seq` by 1, and the ledger of what was applied. */
import type { UpdateName } from './rules.ts';

export interface Position {
  readonly pass: number;
  readonly task: number;
  readonly push: number;
  readonly last: boolean;
}

/** Gradients of a shard: those of a table by id, and those of dense blocks. Each id or block once. */
export interface Gradients<G = number> {
  readonly tables: readonly ReadonlyMap<bigint, G>[];
  readonly blocks: ReadonlyMap<number, G>;
}

export type ShardUpdate<G = number> =
  | ({ readonly type: 'push'; readonly position: Position } & Gradients<G>)
  | ({ readonly type: 'round'; readonly round: number; readonly positions: readonly Position[] } & Gradients<G>)
  /** Closes one discarded task. A message that closes several tasks is one update for each. */
  | { readonly type: 'close'; readonly pass: number; readonly task: number };

export const nameOf = (update: Exclude<ShardUpdate<unknown>, { type: 'close' }>): UpdateName =>
  update.type === 'round' ? { round: update.round } : update.position;

const positionsOf = (update: ShardUpdate<unknown>): readonly Position[] => {
  if (update.type === 'close') return [];
  return update.type === 'push' ? [update.position] : update.positions;
};

/** Returns the highest pass among the positions of the update; undefined for a close. */
export function passOf(update: ShardUpdate<unknown>): number | undefined {
  const passes = positionsOf(update).map(({ pass }) => pass);
  return passes.length === 0 ? undefined : Math.max(...passes);
}

export const CLOSED = Number.POSITIVE_INFINITY;

/** The next push wanted of each task. */
export class Ledger {
  readonly #tasks: number;
  readonly #next: Map<string, number>;

  constructor(tasks: number, next: Iterable<readonly [string, number]> = []) {
    this.#tasks = tasks;
    this.#next = new Map(next);
  }

  next(pass: number, task: number): number {
    return this.#next.get(`${pass}/${task}`) ?? 0;
  }

  apply(update: ShardUpdate<unknown>): void {
    if (update.type === 'close') this.#next.set(`${update.pass}/${update.task}`, CLOSED);
    for (const { pass, task, push, last } of positionsOf(update))
      this.#next.set(`${pass}/${task}`, last ? CLOSED : push + 1);
  }

  /** All tasks of the passes below this are closed. */
  watermark(): number {
    let pass = 0;
    while (this.#isComplete(pass)) pass += 1;
    return pass;
  }

  entries(): readonly (readonly [string, number])[] {
    return [...this.#next].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  #isComplete(pass: number): boolean {
    for (let task = 0; task < this.#tasks; task++) if (this.next(pass, task) !== CLOSED) return false;
    return true;
  }
}
