/**
 * Copies that this pserver makes for others, of units that it leads, until the heads name them. This class connects the
 * moves that make the copies (`Outgoing`), the units' machines, and the links.
 */
import type { LivePserver } from '../../../cluster/placement/placement-view.ts';
import { isIn } from '../../../core/replicas/messages.ts';
import type { UnitOwner } from '../../../core/units/move-messages.ts';
import { type CopyFor, type CopyMaker, keyOf, type Outgoing } from '../transfer/outgoing.ts';
import type { SharedUpdate } from '../update/shared-update.ts';
import type { UnitMachines } from './machines.ts';

export interface JoinsOptions {
  readonly machines: UnitMachines<SharedUpdate>;
  /** Returns the moves, which are created later than this object. */
  readonly copies: () => Pick<Outgoing, 'copy' | 'making' | 'isMaking' | 'seal' | 'release' | 'joinFailed'>;
  /** A join has ended: the head names the copy, or the join has failed. */
  readonly onEnded: (copy: CopyFor, isMember: boolean) => void;
}

export class Joins implements CopyMaker {
  readonly #options: JoinsOptions;
  /** Copies to begin and to seal when every committed update is applied. */
  #beginning: { readonly unit: number; readonly target: LivePserver }[] = [];
  #sealing: CopyFor[] = [];
  readonly #members = new Set<string>();

  constructor(options: JoinsOptions) {
    this.#options = options;
  }

  /** Makes a copy for a process that the head of the unit does not name. Ignored if that is not possible now. */
  begin(unit: number, target: LivePserver): void {
    this.#beginning.push({ unit, target });
    this.#options.machines.takeTurn();
  }

  /** Unit → indexes of the pservers that get a copy, including copies that are about to begin. */
  making(): Map<number, Set<number>> {
    const making = this.#options.copies().making();
    for (const { unit, target } of this.#beginning)
      making.set(unit, (making.get(unit) ?? new Set<number>()).add(target.index));
    return making;
  }

  caughtUp(copy: CopyFor): void {
    this.#sealing.push(copy);
    this.#options.machines.takeTurn();
  }

  copied({ unit, target }: CopyFor): void {
    this.#options.machines.step(unit, { type: 'connected', to: target });
  }

  unconfirmed({ unit, target }: CopyFor): void {
    this.#options.machines.step(unit, { type: 'giveUp', joiner: target });
  }

  ended(copy: CopyFor): void {
    this.#options.onEnded(copy, this.#members.delete(keyOf(copy)));
  }

  /** Call this in each turn, after every committed update is applied. */
  resume(): void {
    const { machines, copies } = this.#options;
    const [beginning, sealing] = [this.#beginning, this.#sealing];
    this.#beginning = beginning.filter(({ unit }) => machines.isPending(unit));
    this.#sealing = sealing.filter(({ unit }) => machines.isPending(unit));
    for (const { unit, target } of beginning) if (!machines.isPending(unit)) this.#begin(unit, target);
    for (const copy of sealing) {
      const machine = machines.of(copy.unit);
      if (machine === undefined || this.#sealing.includes(copy)) continue;
      if (copies().seal(copy, machine.committed)) machines.step(copy.unit, { type: 'join', joiner: copy.target });
    }
  }

  #begin(unit: number, target: LivePserver): void {
    const { machines, copies } = this.#options;
    const machine = machines.of(unit);
    const joiner = { index: target.index, token: target.token.toString() };
    if (machine === undefined || machine.role !== 'leading' || !machine.admits('read')) return;
    if (isIn(machine.peers(), joiner) || copies().isMaking({ unit, target: joiner })) return;
    copies().copy(unit, target, machine.committed);
  }

  /** The head of a unit that this pserver leads, as known here. */
  changed(unit: number, inSync: readonly UnitOwner[]): void {
    const { copies } = this.#options;
    for (const target of inSync) {
      if (!copies().isMaking({ unit, target })) continue;
      this.#members.add(keyOf({ unit, target }));
      copies().release({ unit, target });
    }
  }

  joinFailed(unit: number, joiner: UnitOwner): void {
    this.#options.copies().joinFailed({ unit, target: joiner });
  }
}
