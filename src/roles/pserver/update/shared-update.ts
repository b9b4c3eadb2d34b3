/**
 * One update of several units, and the parts of it that copies get. The primary has one object for it, and so has the
 * source of moves. Each backup has one with the parts of the units that it has copies of. The update has been checked
 * before: it fits the model.
 */
import { assert } from '../../../base/assert.ts';
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { SharedPayload } from '../../../core/replicas/peer-link.ts';
import { applyingShards, concernedUnits, ownUpdate, partOf, type UnitParts } from './parts.ts';
import { sizesOf } from './size.ts';
import type { Update } from './update.ts';

export interface SharedUpdateOptions {
  readonly of: UnitParts;
  /** Default: given when it is placed. */
  readonly order?: number;
  /** Until `own`, its arrays may be those of a request. It may also have parts of other units. */
  readonly update: Update;
  /** The units that are to get it. A push concerns only those of them that have shards which apply it. */
  readonly units: readonly number[];
}

export class SharedUpdate implements SharedPayload {
  order: number;
  readonly bytesByUnit: ReadonlyMap<number, number>;
  /** The units that it concerns, ascending. */
  readonly units: readonly number[];
  readonly #of: UnitParts;
  readonly #segmentBytes: number;
  readonly #hasOthers: boolean;
  readonly #parts = new Map<string, Update>();
  #update: Update;
  #isOwn = false;

  constructor({ of, order = 0, update, units }: SharedUpdateOptions) {
    this.order = order;
    this.#of = of;
    this.units = concernedUnits(of, update, units);
    const shards = applyingShards(of, update, this.units);
    this.#update = update.type === 'push' ? { ...update, shards } : update;
    const { bytesByUnit, segmentBytes, hasOthers } = sizesOf(of, update, this.units, shards);
    this.bytesByUnit = bytesByUnit;
    this.#segmentBytes = segmentBytes;
    this.#hasOthers = hasOthers;
  }

  /** Throws `FrameTooLarge` for an update that no frame can carry to a peer with copies of all its units. */
  checkFrame(): void {
    const most = LIMITS.replicatedBytes;
    if (this.#segmentBytes <= most) return;
    throw new PaddletError(
      'FrameTooLarge',
      `expected an update of at most ${most} bytes for units with copies, got ${this.#segmentBytes}`,
      { hint: 'push smaller mini-batches, or spread the model over more pservers' },
    );
  }

  /** There are rows or blocks that none of its units applies. `own` leaves them out. */
  get hasOthers(): boolean {
    return this.#hasOthers;
  }

  /** For all its units. Until `own` there may be rows and blocks of others. */
  get update(): Update {
    return this.#update;
  }

  /** For some of its units, in memory of its own. */
  partOf(units: readonly number[]): Update {
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

  /**
   * It has its places now, after all that were placed before. `update` is the same one, where its memory is by now, and
   * with what was decided about it just now.
   */
  placed(order: number, update: Update): void {
    assert(this.order === 0 && !this.#isOwn, 'an update is placed once');
    const { shards } = { shards: [], ...this.#update };
    this.order = order;
    this.#update = update.type === 'push' ? { ...update, shards } : update;
    this.own();
  }

  /** To be called before the memory that it came in is gone, or moves. */
  own(): void {
    if (this.#isOwn) return;
    this.#update = this.#hasOthers ? this.#only(this.units) : ownUpdate(this.#update);
    this.#isOwn = true;
  }

  #only(units: readonly number[]): Update {
    return partOf(this.#of, this.#update, applyingShards(this.#of, this.#update, units));
  }
}
