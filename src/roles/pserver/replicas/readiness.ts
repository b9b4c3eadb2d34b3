/** Knows the state of the copies of units here: whether requests may be answered, and whether anything is undecided. */
import { asSuspended } from '../../../cluster/as-suspended.ts';
import type { Signal } from '../../../cluster/waiting.ts';
import { keyOfOwner } from '../../../core/replicas/messages.ts';
import type { OwnedShards } from '../held/owned-shards.ts';
import type { CopiedRounds } from '../held/unit-rounds.ts';
import type { SharedUpdate } from '../update/shared-update.ts';
import type { HandOvers } from './hand-overs.ts';
import type { UnitMachines } from './machines.ts';
import type { PlacedUpdates } from './placed-updates.ts';

export interface ReadinessOptions {
  readonly machines: UnitMachines<SharedUpdate>;
  readonly owned: Pick<OwnedShards, 'heads'>;
  readonly placed: Pick<PlacedUpdates, 'size'>;
  readonly handOvers: Pick<HandOvers, 'to'>;
  /** Defined in sync mode. */
  readonly rounds?: Pick<CopiedRounds, 'isOutdated'> | undefined;
  /** Notified after each turn. */
  readonly changed: Signal;
  /** Ends all waits. */
  readonly ending: AbortSignal;
}

export class Readiness {
  readonly #options: ReadinessOptions;

  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  /**
   * Await the returned promise before judging a request, and call this again until it returns undefined. Requests wait
   * while a unit is being handed over, or has too few copies for an update.
   */
  wait(kind: 'read' | 'update'): Promise<void> | undefined {
    if (this.#admits(kind)) return undefined;
    return this.#until(() => this.#admits(kind)).catch(asSuspended);
  }

  /**
   * Resolves when nothing is undecided in the units that this process leads or is about to lead. Throws `Interrupted`.
   */
  quiet(): Promise<void> {
    const { machines, owned, placed, handOvers } = this.#options;
    return this.#until(
      () =>
        placed.size === 0 &&
        !this.isTakingOver() &&
        handOvers.to().size === 0 &&
        owned.heads.units().every((unit) => machines.of(unit)?.staged().length === 0),
    );
  }

  /**
   * Removes all other copies from the in-sync sets of these units, as far as this pserver leads them. Undefined: all
   * units. Resolves when no other copy is left, and nothing is undecided. Throws `Interrupted`.
   */
  alone(units?: readonly number[]): Promise<void> {
    const { machines } = this.#options;
    const reported = new Set<string>();
    return this.#until(() => {
      const led = (units ?? machines.units()).filter((unit) => machines.of(unit)?.role === 'leading');
      for (const unit of led) {
        for (const owner of machines.of(unit)!.peers()) {
          const key = `${unit}/${keyOfOwner(owner)}`;
          if (reported.has(key)) continue;
          reported.add(key);
          machines.step(unit, { type: 'gone', owner });
        }
      }
      return led.every((unit) => {
        const machine = machines.of(unit)!;
        return machine.peers().length === 0 && machine.staged().length === 0 && !machines.isPending(unit);
      });
    });
  }

  /** Whether a head names a copy here of a unit that another process leads, or has led until now. */
  hasMembers(): boolean {
    const { machines } = this.#options;
    return this.isTakingOver() || machines.units().some((unit) => machines.of(unit)!.role === 'member');
  }

  /** Whether this process is about to lead a unit with a copy here. */
  isTakingOver(): boolean {
    const { machines, owned, rounds } = this.#options;
    const isNotServed = (unit: number): boolean =>
      owned.heads.of(unit) === undefined && rounds?.isOutdated(unit) !== true;
    return machines.units().some((unit) => {
      const machine = machines.of(unit)!;
      return machine.isPromoting || (machine.role === 'leading' && isNotServed(unit));
    });
  }

  #admits(kind: 'read' | 'update'): boolean {
    const { machines, owned } = this.#options;
    return owned.heads.units().every((unit) => machines.of(unit)?.admits(kind) === true);
  }

  async #until(look: () => boolean): Promise<void> {
    const { changed, ending } = this.#options;
    await changed.until(() => look() || undefined, ending);
  }
}
