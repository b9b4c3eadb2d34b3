/**
 * Applies what is committed, in the order of each unit: an update of many units at one go, and to units that are led
 * here and to copies alike. What does not fit a copy is not applied to it; that copy is of no use any more.
 */
import { failPoint } from '../../../base/fail-points.ts';
import { shardsOfUnits } from '../../../core/units/units.ts';
import type { WorkTimes } from '../metrics.ts';
import type { OwnedShards } from '../shards.ts';
import type { CopiedRounds } from '../unit-rounds.ts';
import type { ForwardedUpdate } from '../units/forwarded-update.ts';
import type { CopiedUnits } from './copied-units.ts';
import type { UnitParts } from './part-sizes.ts';
import type { ReplicatedUpdate } from './replicated-update.ts';

export interface CommittedUpdatesOptions {
  readonly of: UnitParts;
  readonly owned: OwnedShards;
  readonly copied: CopiedUnits;
  readonly times: WorkTimes;
  /** In sync mode. */
  readonly rounds?: Pick<CopiedRounds, 'commit'> | undefined;
  /** Units that are led here have applied the update just now, and nothing has happened since. */
  readonly onApplied: (payload: ReplicatedUpdate, units: readonly number[]) => void;
  /** The units, led here or not, have had the update just now, and not the next one. */
  readonly onEach: (units: readonly number[]) => void;
  /** The update does not fit the copies of these units. */
  readonly onUnfit: (units: readonly number[]) => void;
}

export class CommittedUpdates {
  readonly #options: CommittedUpdatesOptions;
  /** Not applied yet. Each unit has them in the order of their numbers. */
  #units = new Map<ReplicatedUpdate, number[]>();

  constructor(options: CommittedUpdatesOptions) {
    this.#options = options;
  }

  add(unit: number, payload: ReplicatedUpdate): void {
    const units = this.#units.get(payload);
    if (units === undefined) this.#units.set(payload, [unit]);
    else units.push(unit);
  }

  /** To be called before anything is done that depends on what is applied. */
  apply(): void {
    if (this.#units.size === 0) return;
    const updates = [...this.#units].sort(([a], [b]) => a.order - b.order);
    this.#units = new Map();
    for (const [payload, units] of updates) {
      this.#apply(payload, units);
      this.#options.onEach(units);
    }
  }

  #apply(payload: ReplicatedUpdate, units: readonly number[]): void {
    const { owned, copied, times, onApplied, onUnfit } = this.#options;
    const [led, others]: [number[], number[]] = [[], []];
    for (const unit of [...units].sort((a, b) => a - b)) (owned.heads.of(unit) === undefined ? others : led).push(unit);
    if (led.length > 0) {
      times.during('push', () => this.#lead(led, payload.partOf(led)));
      onApplied(payload, led);
    }
    if (others.length === 0) return;
    const unfit = copied.apply(others, payload.partOf(others));
    if (unfit.length > 0) onUnfit(unfit);
  }

  /** It was judged and checked when it was placed, and is of these units alone. */
  #lead(units: readonly number[], update: ForwardedUpdate): void {
    const { of, owned } = this.#options;
    switch (update.type) {
      case 'push': {
        const { shards } = update;
        const applying = shards.length === owned.numbers.length ? undefined : shards;
        owned.parameters.push(update.sparse, update.dense, owned.actions(applying), update.rateScale);
        failPoint('copies.committed');
        owned.ledgers.advance(update.push, applying);
        owned.advance(applying, false);
        return;
      }
      case 'close': {
        const shards = shardsOfUnits(units, of);
        for (const { pass, task, records } of update.tasks) owned.close(pass, task, records, shards);
        return;
      }
      case 'round':
        this.#options.rounds!.commit(units, update);
        return;
    }
  }
}
