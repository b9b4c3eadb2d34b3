/**
 * Updates that were placed here and are undecided in some of their units. An update ends when every unit has committed
 * it, has dropped it, or is led by another process. Then its trainer gets the outcome.
 */
import { isSameName, type UpdateName } from '../../../core/replicas/messages.ts';
import type { PlacedPart } from '../../../core/replicas/room-queue.ts';
import type { SharedUpdate } from '../update/shared-update.ts';

/** `failed`: as far as this process knows, not every unit has committed the update. */
export type PlacedOutcome = 'committed' | 'failed';

interface Placed {
  readonly payload: SharedUpdate;
  /** Units in which the update is undecided. */
  readonly open: Set<number>;
  isCommittedSomewhere: boolean;
  isFailed: boolean;
  /** Copies that are being made get the update, too. Its outcome waits for these promises. */
  readonly waits: Promise<void>[];
  readonly onEnd: (isCommittedSomewhere: boolean) => void;
  readonly ended: PromiseWithResolvers<PlacedOutcome>;
}

interface Part {
  readonly name: UpdateName;
  readonly placed: Placed;
}

export class PlacedUpdates {
  readonly #byPayload = new Map<SharedUpdate, Placed>();
  /** Parts of each unit, in the order of their places. */
  readonly #byUnit = new Map<number, Part[]>();

  get size(): number {
    return this.#byPayload.size;
  }

  /** `onEnd` is called once, at the moment when the last unit has decided. */
  add(
    payload: SharedUpdate,
    parts: readonly PlacedPart[],
    onEnd: (isCommittedSomewhere: boolean) => void,
  ): Promise<PlacedOutcome> {
    const placed: Placed = {
      ...{ payload, open: new Set(parts.map(({ unit }) => unit)), isCommittedSomewhere: false, isFailed: false },
      ...{ waits: [], onEnd, ended: Promise.withResolvers<PlacedOutcome>() },
    };
    this.#byPayload.set(payload, placed);
    for (const { unit, name } of parts) {
      const all = this.#byUnit.get(unit);
      if (all === undefined) this.#byUnit.set(unit, [{ name, placed }]);
      else all.push({ name, placed });
    }
    return placed.ended.promise;
  }

  /** These units have applied the update. */
  applied(payload: SharedUpdate, units: readonly number[], wait: Promise<void> | undefined): void {
    const placed = this.#byPayload.get(payload);
    if (placed === undefined) return;
    placed.isCommittedSomewhere = true;
    if (wait !== undefined) placed.waits.push(wait);
    for (const unit of units) {
      const parts = this.#byUnit.get(unit) ?? [];
      const at = parts.findIndex((part) => part.placed === placed);
      if (at >= 0) parts.splice(at, 1);
      this.#decided(unit, placed);
    }
  }

  dropped(unit: number, names: readonly UpdateName[]): void {
    this.#fail(unit, ({ name }) => names.some((one) => isSameName(one, name)));
  }

  /** Another process leads the unit, or this process ends. The outcome of the unit's updates is not known here. */
  lost(unit: number): void {
    this.#fail(unit, () => true);
  }

  allLost(): void {
    for (const unit of [...this.#byUnit.keys()]) this.lost(unit);
  }

  #fail(unit: number, isMeant: (part: Part) => boolean): void {
    const parts = this.#byUnit.get(unit) ?? [];
    const meant = parts.filter(isMeant);
    if (meant.length === 0) return;
    this.#byUnit.set(
      unit,
      parts.filter((part) => !meant.includes(part)),
    );
    for (const { placed } of meant) {
      placed.isFailed = true;
      this.#decided(unit, placed);
    }
  }

  #decided(unit: number, placed: Placed): void {
    if (!placed.open.delete(unit) || placed.open.size > 0) return;
    this.#byPayload.delete(placed.payload);
    placed.onEnd(placed.isCommittedSomewhere);
    const outcome = placed.isFailed ? 'failed' : 'committed';
    const { waits, ended } = placed;
    if (waits.length === 0) ended.resolve(outcome);
    else Promise.all(waits).then(() => ended.resolve(outcome), ended.reject);
  }
}
