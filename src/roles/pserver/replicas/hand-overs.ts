/** Hands units over to other members (docs/copies.md). No save runs while a unit is handed over. */
import type { UnitOwner } from '../../../core/units/move-messages.ts';
import type { SharedUpdate } from '../update/shared-update.ts';
import type { UnitMachines } from './machines.ts';

export interface HandOversOptions {
  readonly machines: UnitMachines<SharedUpdate>;
  /** Resolves when no save is running. Further saves wait until the returned function is called. */
  readonly withoutSaves: () => Promise<() => void>;
  /** The hand-over has ended: the unit stays here, or another process leads it. */
  readonly onEnded: (unit: number) => void;
  readonly onFatal: (error: unknown) => void;
}

interface HandOver {
  readonly to: UnitOwner;
  /** Lets waiting saves begin. Undefined while a save is still running. */
  resumeSaves: (() => void) | undefined;
}

export class HandOvers {
  readonly #options: HandOversOptions;
  readonly #units = new Map<number, HandOver>();

  constructor(options: HandOversOptions) {
    this.#options = options;
  }

  /**
   * Ignored while the unit is being handed over, or while its copy refuses a hand-over. The caller asks again when
   * something has changed. A hand-over that began and ended at once would be asked for again at once, forever.
   */
  begin(unit: number, to: UnitOwner): void {
    if (this.#units.has(unit) || this.#options.machines.of(unit)?.mayHandOver(to) !== true) return;
    const handOver: HandOver = { to, resumeSaves: undefined };
    this.#units.set(unit, handOver);
    this.#begin(unit, handOver).catch(this.#options.onFatal);
  }

  /** Unit → index of the pserver that gets the unit. */
  to(): Map<number, number> {
    return new Map([...this.#units].map(([unit, { to }]) => [unit, to.index]));
  }

  /** This process has asked its copy to hand the unit over. */
  isBegun(unit: number): boolean {
    return this.#units.get(unit)?.resumeSaves !== undefined;
  }

  /** Call this in each turn, after its steps are carried out. */
  settle(): void {
    const { machines } = this.#options;
    for (const [unit, { resumeSaves }] of this.#units) {
      if (resumeSaves === undefined || machines.isPending(unit)) continue;
      if (machines.of(unit)?.handOverTo === undefined) this.#end(unit);
    }
  }

  close(): void {
    for (const { resumeSaves } of this.#units.values()) resumeSaves?.();
    this.#units.clear();
  }

  async #begin(unit: number, handOver: HandOver): Promise<void> {
    const resumeSaves = await this.#options.withoutSaves();
    if (this.#units.get(unit) !== handOver) {
      resumeSaves();
      return;
    }
    handOver.resumeSaves = resumeSaves;
    this.#options.machines.step(unit, { type: 'handOver', to: handOver.to });
    this.#options.machines.takeTurn();
  }

  #end(unit: number): void {
    this.#units.get(unit)?.resumeSaves?.();
    this.#units.delete(unit);
    this.#options.onEnded(unit);
  }
}
