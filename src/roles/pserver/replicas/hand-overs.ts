/** Units that are to be led by another member (docs/copies.md). No save is running while a unit is handed over. */
import type { UnitOwner } from '../../../core/units/move-messages.ts';
import type { SharedUpdate } from '../update/shared-update.ts';
import type { UnitMachines } from './machines.ts';

export interface HandOversOptions {
  readonly machines: UnitMachines<SharedUpdate>;
  /** Resolves when no save is running. None begins until the given function is called. */
  readonly withoutSaves: () => Promise<() => void>;
  /** The unit stays here, or is led by another one. */
  readonly onEnded: (unit: number) => void;
  readonly onFatal: (error: unknown) => void;
}

interface HandOver {
  readonly to: UnitOwner;
  /** Undefined while a save is running. */
  letSavesGoOn: (() => void) | undefined;
}

export class HandOvers {
  readonly #options: HandOversOptions;
  readonly #units = new Map<number, HandOver>();

  constructor(options: HandOversOptions) {
    this.#options = options;
  }

  /**
   * Ignored while the unit is being handed over, and while its copy refuses that: who asks does so again when something
   * has changed. One that began and ended at once would be asked for again at once, for ever.
   */
  begin(unit: number, to: UnitOwner): void {
    if (this.#units.has(unit) || this.#options.machines.of(unit)?.mayHandOver(to) !== true) return;
    const handOver: HandOver = { to, letSavesGoOn: undefined };
    this.#units.set(unit, handOver);
    this.#begin(unit, handOver).catch(this.#options.onFatal);
  }

  /** Unit → index. */
  to(): Map<number, number> {
    return new Map([...this.#units].map(([unit, { to }]) => [unit, to.index]));
  }

  /** This process wants another one to lead the unit. */
  isBegun(unit: number): boolean {
    return this.#units.get(unit)?.letSavesGoOn !== undefined;
  }

  /** In each turn, when its steps are carried out. */
  settle(): void {
    const { machines } = this.#options;
    for (const [unit, { letSavesGoOn }] of this.#units) {
      if (letSavesGoOn === undefined || machines.isPending(unit)) continue;
      if (machines.of(unit)?.handOverTo === undefined) this.#end(unit);
    }
  }

  close(): void {
    for (const { letSavesGoOn } of this.#units.values()) letSavesGoOn?.();
    this.#units.clear();
  }

  async #begin(unit: number, handOver: HandOver): Promise<void> {
    const letSavesGoOn = await this.#options.withoutSaves();
    if (this.#units.get(unit) !== handOver) {
      letSavesGoOn();
      return;
    }
    handOver.letSavesGoOn = letSavesGoOn;
    this.#options.machines.step(unit, { type: 'handOver', to: handOver.to });
    this.#options.machines.takeTurn();
  }

  #end(unit: number): void {
    this.#units.get(unit)?.letSavesGoOn?.();
    this.#units.delete(unit);
    this.#options.onEnded(unit);
  }
}
