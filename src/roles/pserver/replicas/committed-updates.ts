/**
 * Applies committed updates, in the order of each unit. An update of many units is applied to all of them at once,
 * whether this pserver leads them or has copies. If an update does not fit a copy, it is not applied to that copy, and
 * the copy is discarded.
 */
import { failPoint } from '../../../base/fail-points.ts';
import { shardsOfUnits } from '../../../core/units/units.ts';
import type { OwnedShards } from '../held/owned-shards.ts';
import type { CopiedRounds } from '../held/unit-rounds.ts';
import type { WorkTimes } from '../metrics.ts';
import type { UnitParts } from '../update/parts.ts';
import type { SharedUpdate } from '../update/shared-update.ts';
import type { Update } from '../update/update.ts';
import type { CopiedUnits } from './copied-units.ts';

export interface CommittedUpdatesOptions {
  readonly of: UnitParts;
  readonly owned: OwnedShards;
  readonly copied: CopiedUnits;
  readonly times: WorkTimes;
  /** Defined in sync mode. */
  readonly rounds?: Pick<CopiedRounds, 'commit'> | undefined;
  /** Units that this pserver leads have just applied the update, and nothing has happened since. */
  readonly onApplied: (payload: SharedUpdate, units: readonly number[]) => void;
  /** The update has just been handled in these units, led here or not. The next update has not. */
  readonly onEach: (units: readonly number[]) => void;
  /** The update does not fit the copies of these units. */
  readonly onUnfit: (units: readonly number[]) => void;
}

export class CommittedUpdates {
  readonly #options: CommittedUpdatesOptions;
  /** Committed updates that are not applied yet, each with its units. */
  #units = new Map<SharedUpdate, number[]>();
  /** The same updates by unit, in the order of the unit. */
  #queues = new Map<number, SharedUpdate[]>();

  constructor(options: CommittedUpdatesOptions) {
    this.#options = options;
  }

  add(unit: number, payload: SharedUpdate): void {
    const units = this.#units.get(payload);
    if (units === undefined) this.#units.set(payload, [unit]);
    else units.push(unit);
    const queue = this.#queues.get(unit);
    if (queue === undefined) this.#queues.set(unit, [payload]);
    else queue.push(payload);
  }

  /** Call this before anything that depends on applied updates. */
  apply(): void {
    if (this.#units.size === 0) return;
    const [left, queues] = [this.#units, this.#queues];
    const updates = [...left.keys()];
    [this.#units, this.#queues] = [new Map(), new Map()];
    const isNext = (unit: number, payload: SharedUpdate): boolean => queues.get(unit)![0] === payload;
    while (updates.length > 0) {
      // An update may have its turn in one unit, and be behind another one in the next.
      const whole = updates.findIndex((one) => left.get(one)!.every((unit) => isNext(unit, one)));
      const at = whole >= 0 ? whole : updates.findIndex((one) => left.get(one)!.some((unit) => isNext(unit, one)));
      const payload = updates[at]!;
      const units = left.get(payload)!;
      const due = units.filter((unit) => isNext(unit, payload));
      for (const unit of due) queues.get(unit)!.shift();
      const others = units.filter((unit) => !due.includes(unit));
      if (others.length === 0) updates.splice(at, 1);
      else left.set(payload, others);
      this.#apply(payload, due);
      this.#options.onEach(due);
    }
  }

  #apply(payload: SharedUpdate, units: readonly number[]): void {
    const { owned, copied, times, onApplied, onUnfit } = this.#options;
    const [led, others]: [number[], number[]] = [[], []];
    for (const unit of [...units].sort((a, b) => a - b)) (owned.heads.of(unit) === undefined ? others : led).push(unit);
    if (led.length > 0) {
      times.during('push', () => this.#lead(led, payload.partOf(led)));
      onApplied(payload, led);
    }
    if (others.length === 0) return;
    const unfit = copied.apply(others, payload);
    if (unfit.length > 0) onUnfit(unfit);
  }

  /** The update was checked when it was placed, and contains only the parts of these units. */
  #lead(units: readonly number[], update: Update): void {
    const { of, owned } = this.#options;
    if (update.type === 'round') this.#options.rounds!.commit(units, update);
    else owned.apply(update, update.type === 'close' ? shardsOfUnits(units, of) : undefined);
    if (update.type === 'push') failPoint('copies.committed');
  }
}
