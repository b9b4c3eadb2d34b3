/**
 * The updates of one copy of a unit, in order. This copy has committed the updates up to `committed`. The updates above
 * are staged: they have a place, but this copy has not applied them. The log keeps some committed updates for copies
 * that lack them.
 */
import { assert } from '../../base/assert.ts';
import { isSameName, type PlacedUpdate, type UpdateName } from './messages.ts';

export interface UpdateLogState<P> {
  /** Position before the first update that the log keeps. */
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

  /** Position of the newest update. */
  get last(): number {
    return this.#base + this.#updates.length;
  }

  /** Updates above a position, in order. The position must not be below the base. */
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

  /** Commits every update up to a position, and returns the newly committed updates. */
  commitThrough(position: number): readonly PlacedUpdate<P>[] {
    const through = Math.min(position, this.last);
    if (through <= this.#committed) return [];
    const fresh = this.#updates.slice(this.#committed - this.#base, through - this.#base);
    this.#committed = through;
    return fresh;
  }

  /** Drops the updates above a position, and returns them. A committed update is never dropped. */
  dropAfter(position: number): readonly PlacedUpdate<P>[] {
    assert(position >= this.#committed, 'what is committed stays');
    return this.#updates.splice(Math.max(0, position - this.#base));
  }

  /** Forgets the committed updates up to a position. */
  forgetThrough(position: number): void {
    const through = Math.min(position, this.#committed);
    if (through <= this.#base) return;
    this.#updates.splice(0, through - this.#base);
    this.#base = through;
  }

  /**
   * Returns the position up to which this log agrees with a primary that has `tail` above `base`. Committed updates
   * always agree. Returns undefined if this log lacks an update up to `base`.
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
