/**
 * The copies that a pserver saves after it has lost its index, of units that others lead (docs/copies.md, "Stopping").
 * The store counts on a copy if the head names this process as in sync, and names no file as the last state. Staged
 * updates are applied first, because their trainers may have been told that they count.
 */
import type { ShardMoment } from '../../../checkpoint/file/capture.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import { isCountedOn, parseHead } from '../../../cluster/placement/heads.ts';
import type { UnitOwner } from '../../../core/units/move-messages.ts';
import type { TimedRounds } from '../held/unit-rounds.ts';
import type { SharedUpdate } from '../update/shared-update.ts';
import type { CopiedUnits } from './copied-units.ts';
import type { UnitMachines } from './machines.ts';

export interface LastCopiesOptions {
  readonly context: RoleContext;
  readonly me: UnitOwner;
  readonly machines: Pick<UnitMachines<SharedUpdate>, 'of' | 'unapplied'>;
  readonly copied: Pick<CopiedUnits, 'units' | 'apply' | 'positions' | 'rounds'>;
}

export interface LastCopy {
  readonly unit: number;
  readonly moments: readonly ShardMoment[];
  /** Defined in sync mode. */
  readonly rounds: TimedRounds | undefined;
}

export class LastCopies {
  readonly #options: LastCopiesOptions;
  /** Unit → whether its copy contains all staged updates. False: an update does not fit, so the copy is useless. */
  readonly #completed = new Map<number, boolean>();

  constructor(options: LastCopiesOptions) {
    this.#options = options;
  }

  /**
   * Call this after this pserver has stopped staging and applying updates. Waits for an unreachable store, even in a
   * process that was asked to stop: without the store, the process cannot announce a snapshot.
   */
  async complete(): Promise<LastCopy[]> {
    const { copied } = this.#options;
    if (copied.units().length === 0) return [];
    const epochs = await this.#countedOn();
    return copied.units().flatMap((unit) => {
      const epoch = epochs.get(unit);
      if (epoch === undefined || !this.#isComplete(unit)) return [];
      return [{ unit, moments: this.#momentsOf(unit, epoch), rounds: copied.rounds(unit) }];
    });
  }

  /** Unit → the epoch of its head, for the heads that count on this process. */
  async #countedOn(): Promise<Map<number, number>> {
    const { context, me } = this.#options;
    const { keys, store } = context;
    const { entries } = await retryStore(context, () => store.range({ prefix: keys.headsPrefix }), NEVER);
    const heads = entries.map(({ key, value }) => ({ key, head: parseHead(key, value) }));
    const named = heads.filter(({ head }) => isCountedOn(head, me));
    return new Map(named.map(({ key, head }) => [Number(key.slice(keys.headsPrefix.length)), head.epoch]));
  }

  #isComplete(unit: number): boolean {
    const known = this.#completed.get(unit);
    if (known !== undefined) return known;
    const { machines, copied } = this.#options;
    const role = machines.of(unit)?.role ?? 'none';
    const isComplete =
      role !== 'none' && machines.unapplied(unit).every((payload) => copied.apply([unit], payload).length === 0);
    this.#completed.set(unit, isComplete);
    return isComplete;
  }

  /** In this epoch, the files of other processes cannot have more, because nothing is committed without this copy. */
  #momentsOf(unit: number, epoch: number): ShardMoment[] {
    const { ledgers, seqs, looks } = this.#options.copied.positions(unit);
    return [...ledgers].map(([shard, ledger]) => {
      return { shard, epoch, seq: seqs.get(shard)!, ledger, looks: looks?.get(shard) };
    });
  }
}

const NEVER = new AbortController().signal;
