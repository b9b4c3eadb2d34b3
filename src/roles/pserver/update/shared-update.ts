/**
 * An update of several units, and the parts of it for their copies. A primary, or the source of moves, has one object
 * for each update. A backup has an object with the parts of the units that it has copies of. The caller has checked
 * that the update fits the model.
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
  /** Number of the update, from 1. Default: 0, until `placed` sets it. */
  readonly order?: number;
  /** Until `own`, its arrays may belong to a request. It may contain parts of other units. */
  readonly update: Update;
  /** The units that are to get the update. A push concerns only those with shards that apply it. */
  readonly units: readonly number[];
}

export class SharedUpdate implements SharedPayload {
  order: number;
  readonly bytesByUnit: ReadonlyMap<number, number>;
  /** The units that the update concerns, ascending. */
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

  /** Throws `FrameTooLarge` if no frame can carry the update to a peer with copies of all its units. */
  checkFrame(): void {
    const most = LIMITS.replicatedBytes;
    if (this.#segmentBytes <= most) return;
    throw new PaddletError(
      'FrameTooLarge',
      `expected an update of at most ${most} bytes for units with copies, got ${this.#segmentBytes}`,
      { hint: 'push smaller mini-batches, or spread the model over more pservers' },
    );
  }

  /** Whether the update came with rows or blocks that none of its units applies. `own` removes them. */
  get hasOthers(): boolean {
    return this.#hasOthers;
  }

  /** The update for all its units. Until `own`, it may contain rows and blocks that none of them applies. */
  get update(): Update {
    return this.#update;
  }

  /** Returns the part for some of its units, in separate memory. */
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
   * Sets the number of the update when it gets its places. `update`: the same update, read again from the request,
   * whose memory may have moved. It contains the decisions that depend on the place, such as the rate scale.
   */
  placed(order: number, update: Update): void {
    assert(this.order === 0 && !this.#isOwn, 'an update is placed once');
    const { shards } = { shards: [], ...this.#update };
    this.order = order;
    this.#update = update.type === 'push' ? { ...update, shards } : update;
    this.own();
  }

  /** Copies the update to separate memory. Call this before the memory of its request ends or moves. */
  own(): void {
    if (this.#isOwn) return;
    this.#update = this.#hasOthers ? this.#only(this.units) : ownUpdate(this.#update);
    this.#isOwn = true;
  }

  #only(units: readonly number[]): Update {
    return partOf(this.#of, this.#update, applyingShards(this.#of, this.#update, units));
  }
}
