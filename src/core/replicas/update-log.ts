/**
 * The updates of one copy of a unit in their order. Those up to `committed` are applied; those above are staged: they
 * have a place, and are not applied anywhere yet. Some that are committed are kept for copies that lack them.
 */
import { assert } from '../../base/assert.ts';
import { isSameName, type PlacedUpdate, type UpdateName } from './messages.ts';

export interface UpdateLogState<P> {
  /** The position before the first update that is kept. */
  readonly base: number;
  readonly committed: number;
  readonly updates: readonly PlacedUpdate<P>[];
}

export class UpdateLog<P> {
  #base: number;
  #committed: number;
  #updates: PlacedUpdate<P>[];

  constructor({ base, committed, updates }: UpdateLogState<P>) {
    this.#base = base;
    this.#committed = committed;
    this.#updates = [...updates];
  }

  state(): UpdateLogState<P> {
    return { base: this.#base, committed: this.#committed, updates: [...this.#updates] };
  }

  get committed(): number {
    return this.#committed;
  }

  /** The position of the newest update. */
  get last(): number {
    return this.#base + this.#updates.length;
  }

  /** Those above a position, at or above the base, in order. */
  after(position: number): readonly PlacedUpdate<P>[] {
    assert(position >= this.#base, 'the updates above the position are kept');
    return this.#updates.slice(position - this.#base);
  }

  namesAfter(position: number): UpdateName[] {
    return this.after(position).map(({ name }) => name);
  }

  append(update: PlacedUpdate<P>): void {
    assert(update.name.position === this.last + 1, 'updates come in their order');
    this.#updates.push(update);
  }

  /** Commits everything up to a position, and gives what is new of that. */
  commitThrough(position: number): readonly PlacedUpdate<P>[] {
    const through = Math.min(position, this.last);
    if (through <= this.#committed) return [];
    const fresh = this.#updates.slice(this.#committed - this.#base, through - this.#base);
    this.#committed = through;
    return fresh;
  }

  /** Drops what is above a position, and gives it. Nothing that is committed is ever dropped. */
  dropAfter(position: number): readonly PlacedUpdate<P>[] {
    assert(position >= this.#committed, 'what is committed stays');
    return this.#updates.splice(Math.max(0, position - this.#base));
  }

  /** Keeps only what is above a position, or not committed. */
  forgetThrough(position: number): void {
    const through = Math.min(position, this.#committed);
    if (through <= this.#base) return;
    this.#updates.splice(0, through - this.#base);
    this.#base = through;
  }

  /**
   * Up to which position this log is the one of a primary that has `tail` above `base`. What both have committed is
   * the same. Undefined when it lacks something up to `base`.
   */
  agreesThrough(base: number, tail: readonly UpdateName[]): number | undefined {
    if (this.last < base) return undefined;
    let agreed = base;
    for (const name of tail) {
      if (name.position <= this.#committed) agreed = name.position;
      else if (!this.#has(name)) break;
      else agreed = name.position;
    }
    return agreed;
  }

  #has(name: UpdateName): boolean {
    const own = this.#updates[name.position - this.#base - 1];
    return own !== undefined && isSameName(own.name, name);
  }
}
