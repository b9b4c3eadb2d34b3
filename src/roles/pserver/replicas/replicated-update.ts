/**
 * One update of units that have other copies, for all of them together: one object at the primary, and one at each of
 * its backups, with the parts of the units that this one has copies of. It was checked before: it fits the model.
 */
import { assert } from '../../../base/assert.ts';
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { SharedPayload } from '../../../core/replicas/peer-link.ts';
import type { ForwardedUpdate } from '../units/forwarded-update.ts';
import { ownUpdate } from '../units/payload-codec.ts';
import { ownParts } from '../units/unit-update.ts';
import { applyingShards, concernedUnits, partSizes, type UnitParts } from './part-sizes.ts';

export interface ReplicatedUpdateOptions {
  readonly of: UnitParts;
  /** Default: given when it is placed. */
  readonly order?: number;
  /** Its arrays may be those of a request, until `own`. It may also have parts of other units. */
  readonly update: ForwardedUpdate;
  /** Where it is placed. A push concerns only those of them that have shards which apply it. */
  readonly units: readonly number[];
}

export class ReplicatedUpdate implements SharedPayload {
  order: number;
  readonly bytesByUnit: ReadonlyMap<number, number>;
  /** That it concerns, ascending. */
  readonly units: readonly number[];
  readonly #of: UnitParts;
  readonly #hasOthers: boolean;
  readonly #parts = new Map<string, ForwardedUpdate>();
  #update: ForwardedUpdate;
  #isOwn = false;

  /** Throws `FrameTooLarge` for what no frame can carry to a peer that has copies of all its units. */
  constructor({ of, order = 0, update, units }: ReplicatedUpdateOptions) {
    this.order = order;
    this.#of = of;
    this.units = concernedUnits(of, update, units);
    const shards = applyingShards(of, update, this.units);
    this.#update = update.type === 'push' ? { ...update, shards } : update;
    const { bytesByUnit, segmentBytes, hasOthers } = partSizes(of, update, this.units, shards);
    if (segmentBytes > LIMITS.replicatedBytes) throw tooLarge(segmentBytes);
    this.bytesByUnit = bytesByUnit;
    this.#hasOthers = hasOthers;
  }

  /** There are rows or blocks that none of its units applies. They are left out from `own` on. */
  get hasOthers(): boolean {
    return this.#hasOthers;
  }

  /** Of all its units. Until `own` there may be rows and blocks of others. */
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

  /**
   * It has its places now, after all that were placed before. `update` is the same one, where its memory is by now, and
   * with what was decided about it just now.
   */
  placed(order: number, update: ForwardedUpdate): void {
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

  #only(units: readonly number[]): ForwardedUpdate {
    const update = this.#update;
    if (update.type === 'close') return update;
    const shards = applyingShards(this.#of, update, units);
    const { parts } = ownParts(this.#of, update, shards);
    return update.type === 'push' ? { ...update, ...parts, shards } : { ...update, ...parts };
  }
}

function tooLarge(byteLength: number): PaddletError {
  const most = LIMITS.replicatedBytes;
  return new PaddletError(
    'FrameTooLarge',
    `expected an update of at most ${most} bytes for units with copies, got ${byteLength}`,
    {
      hint: 'push smaller mini-batches, or spread the model over more pservers',
    },
  );
}
