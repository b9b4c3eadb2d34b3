/**
 * One update of units that have other copies, for all of them together: one object at the primary, and one at each of
 * its backups, with the parts of the units that this one has copies of. It was checked before: it fits the model.
 */
import { assert } from '../../../base/assert.ts';
import type { SharedPayload } from '../../../core/replicas/peer-link.ts';
import type { ForwardedUpdate } from '../units/forwarded-update.ts';
import { ownUpdate } from '../units/payload-codec.ts';
import { ownParts } from '../units/unit-update.ts';
import { applyingShards, partSizes, type UnitParts } from './part-sizes.ts';

export interface ReplicatedUpdateOptions {
  readonly of: UnitParts;
  readonly order: number;
  /** Its arrays may be those of a request, until `own`. It may also have parts of other units. */
  readonly update: ForwardedUpdate;
  /** Where it is placed. A push concerns only those of them that have shards which apply it. */
  readonly units: readonly number[];
}

export class ReplicatedUpdate implements SharedPayload {
  readonly order: number;
  readonly bytesByUnit: ReadonlyMap<number, number>;
  /** That it concerns, ascending. */
  readonly units: readonly number[];
  readonly #of: UnitParts;
  /** Of each unit those that apply it. */
  readonly #shards: ReadonlyMap<number, readonly number[]>;
  readonly #hasOthers: boolean;
  readonly #parts = new Map<string, ForwardedUpdate>();
  #update: ForwardedUpdate;
  #isOwn = false;

  constructor({ of, order, update, units }: ReplicatedUpdateOptions) {
    this.order = order;
    this.#of = of;
    this.#shards = applyingShards(of, update, units);
    this.units = [...this.#shards.keys()];
    this.#update = update.type === 'push' ? { ...update, shards: this.#shardsOf(this.units) } : update;
    const { bytesByUnit, hasOthers } = partSizes(of, this.#update, this.#shards);
    this.bytesByUnit = bytesByUnit;
    this.#hasOthers = hasOthers;
  }

  /** There are rows or blocks that none of its units applies. They are left out from `own` on. */
  get hasOthers(): boolean {
    return this.#hasOthers;
  }

  /** Of all its units. */
  get update(): ForwardedUpdate {
    return this.#update;
  }

  /** Of some of its units, in memory of its own. */
  partOf(units: readonly number[]): ForwardedUpdate {
    assert(
      units.every((unit) => this.bytesByUnit.has(unit)),
      'a part is of units that the update concerns',
    );
    this.own();
    if (units.length === this.units.length) return this.#update;
    const key = units.join();
    let part = this.#parts.get(key);
    if (part === undefined) {
      part = this.#only(units);
      this.#parts.set(key, part);
    }
    return part;
  }

  /** To be called before the memory that it came in is gone, or moves. */
  own(): void {
    if (this.#isOwn) return;
    this.#update = this.#hasOthers ? this.#only(this.units) : ownUpdate(this.#update);
    this.#isOwn = true;
  }

  #only(units: readonly number[]): ForwardedUpdate {
    const update = this.#update;
    if (update.type === 'close') return update;
    const shards = this.#shardsOf(units);
    const { parts } = ownParts(this.#of, update, shards);
    return update.type === 'push' ? { ...update, ...parts, shards } : { ...update, ...parts };
  }

  /** Ascending. */
  #shardsOf(units: readonly number[]): number[] {
    return units.flatMap((unit) => this.#shards.get(unit)!).sort((a, b) => a - b);
  }
}
