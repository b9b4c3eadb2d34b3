/** Copies that other pservers make here (`IncomingMoves`). As soon as a copy is complete, it follows its primary. */
import { assert } from '../../../base/assert.ts';
import { Replica } from '../../../core/replicas/replica.ts';
import { isSameMove, type MoveName } from '../../../core/units/move-messages.ts';
import type { CopyKeeper } from '../transfer/incoming-move.ts';
import type { FilledCopy } from '../transfer/incoming-unit.ts';
import type { SharedUpdate } from '../update/shared-update.ts';
import type { CopiedUnits } from './copied-units.ts';
import type { UnitMachines } from './machines.ts';

export interface ReceivedCopiesOptions {
  readonly machines: UnitMachines<SharedUpdate>;
  readonly copied: CopiedUnits;
  /** This pserver has a complete copy. */
  readonly onKept: (unit: number) => void;
  /** Frees the copy and its machine. */
  readonly discard: (unit: number) => void;
}

export class ReceivedCopies implements CopyKeeper {
  readonly #options: ReceivedCopiesOptions;
  /** Unit → the move that made its copy. */
  readonly #madeBy = new Map<number, MoveName>();

  constructor(options: ReceivedCopiesOptions) {
    this.#options = options;
  }

  role(unit: number): 'none' | 'joining' | 'member' {
    const role = this.#options.machines.of(unit)?.role ?? 'none';
    return role === 'leading' ? 'member' : role;
  }

  adopt(name: MoveName, filled: FilledCopy, position: number): void {
    const { machines, copied, onKept } = this.#options;
    const { unit, epoch, source } = name;
    assert(machines.of(unit) === undefined, `unit ${unit} has one copy here`);
    copied.adopt(unit, filled);
    machines.add(unit, Replica.copied({ epoch, primary: source }, position));
    this.#madeBy.set(unit, name);
    onKept(unit);
  }

  abandoned(name: MoveName): void {
    const madeBy = this.#madeBy.get(name.unit);
    if (madeBy === undefined || !isSameMove(madeBy, name)) return;
    this.#madeBy.delete(name.unit);
    const role = this.role(name.unit);
    if (role !== 'none' && this.#options.machines.of(name.unit)!.role !== 'leading') this.#options.discard(name.unit);
  }
}
