/**
 * Informs the units' machines about the heads in the store. It follows the view, and reads a head if a machine asks for
 * that. While a head names a file as the last state, its primary counts as alive. That primary has stopped cleanly, and
 * no copy takes over.
 */
import type { RoleContext } from '../../../cluster/context.ts';
import type { PlacementView } from '../../../cluster/placement/placement-view.ts';
import type { StoredHead } from '../../../cluster/placement/propose-heads.ts';
import type { UnitHead } from '../../../core/replicas/events.ts';
import { readHead } from '../transfer/read-head.ts';
import type { SharedUpdate } from '../update/shared-update.ts';
import type { UnitMachines } from './machines.ts';

export interface SeenHeadsOptions {
  readonly context: RoleContext;
  /** Aborts when this process loses its index. */
  readonly lost: AbortSignal;
  readonly view: Pick<PlacementView, 'units'>;
  readonly known: KnownHeads;
  readonly machines: UnitMachines<SharedUpdate>;
  readonly onRecovery: (number: number) => void;
  /** Called for each unit, with or without a machine. */
  readonly onSeen: (head: StoredHead, isPrimaryAlive: boolean) => void;
  readonly onFatal: (error: unknown) => void;
}

export class SeenHeads {
  readonly #options: SeenHeadsOptions;
  /** Unit → the head and the liveness last reported to its machine. */
  readonly #reported = new Map<number, string>();
  /** Reads under way. `true`: another read must follow. */
  readonly #reading = new Map<number, boolean>();

  constructor(options: SeenHeadsOptions) {
    this.#options = options;
  }

  /** The view has changed. */
  readView(): void {
    for (const unit of this.#options.view.units().keys()) this.#readUnit(unit);
  }

  /** This pserver has a copy of the unit from now on. */
  begun(unit: number): void {
    this.#reported.delete(unit);
    this.#readUnit(unit);
  }

  /** Reads the head from the store. */
  look(unit: number): void {
    const { onFatal } = this.#options;
    if (this.#reading.has(unit)) this.#reading.set(unit, true);
    else this.#read(unit).catch(onFatal);
  }

  #readUnit(unit: number): void {
    const place = this.#options.view.units()[unit];
    if (place?.stored !== undefined) this.#seen(place.stored, place.owner !== undefined);
  }

  #seen(stored: StoredHead, isOwned: boolean): void {
    const { known, machines, onSeen } = this.#options;
    const { unit, modRevision, head } = stored;
    known.learn(stored);
    if (known.of(unit)!.modRevision > modRevision) return;
    const isPrimaryAlive = isOwned || head.rest !== undefined;
    onSeen(stored, isPrimaryAlive);
    if (machines.of(unit) === undefined) return;
    const seen = `${modRevision} ${isPrimaryAlive}`;
    if (this.#reported.get(unit) === seen) return;
    this.#reported.set(unit, seen);
    machines.step(unit, { type: 'seen', head: unitHeadOf(stored), isPrimaryAlive });
  }

  async #read(unit: number): Promise<void> {
    const { context, known, lost, onRecovery } = this.#options;
    this.#reading.set(unit, false);
    const read = await readHead(context, unit, known.of(unit)?.head.primary.index ?? 0, lost).catch(
      undefinedIfLost(lost),
    );
    const isWantedAgain = this.#reading.get(unit) === true;
    this.#reading.delete(unit);
    if (read === undefined) return;
    onRecovery(read.recovery);
    // The machine has asked, so it gets an answer even if the head is unchanged.
    this.#reported.delete(unit);
    this.#seen(read.owned, read.isPrimaryAlive);
    if (isWantedAgain) await this.#read(unit);
  }
}

const undefinedIfLost =
  (lost: AbortSignal) =>
  (error: unknown): undefined => {
    if (lost.aborted) return undefined;
    throw error;
  };

/** The newest known head of each unit, from the view, a read, or the answer to a proposal. */
export class KnownHeads {
  readonly #heads = new Map<number, StoredHead>();

  of(unit: number): StoredHead | undefined {
    return this.#heads.get(unit);
  }

  /** Views, reads and answers may come in any order. */
  learn(head: StoredHead): void {
    const known = this.#heads.get(head.unit);
    if (known === undefined || known.modRevision < head.modRevision) this.#heads.set(head.unit, head);
  }
}

export const unitHeadOf = ({ head: { epoch, primary, inSync } }: StoredHead): UnitHead => ({ epoch, primary, inSync });
