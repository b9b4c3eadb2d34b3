/**
 * What a pserver holds of one of the primaries that it backs up: the payloads that came from that process and are
 * staged in any copy here. A primary that goes beyond the window that it was told is taken for failed.
 *
 * Late payloads (`PeerBatch.isLate`) have separate room, and so has what is left behind in a copy that the primary
 * has nothing to do with any longer. If they took room of the window, two primaries could wait for each other: one for
 * room that an update holds at a joiner, which needs the other's joiner first.
 */
import { assert } from '../../base/assert.ts';

export interface BackupRoomOptions {
  /** Sent to the primary when the connection opens. */
  readonly windowBytes: number;
  /** For late payloads and what was left behind: for each other pserver its window, or the largest update. */
  readonly lateBytes: number;
  /** No update is larger. */
  readonly largestBytes: number;
}

interface Payload extends ReceivedPayload {
  /** Units whose parts the payload has, staged or not. */
  readonly parts: ReadonlySet<number>;
  /** Units whose copies have staged it. */
  readonly units: Set<number>;
  /** The same, of units that the primary has left since. */
  readonly leftUnits: Set<number>;
}

export interface ReceivedPayload {
  /** Number of the update at its primary. The update may come in parts, if some units join it later. */
  readonly order: number;
  readonly bytes: number;
  readonly isLate: boolean;
}

/** A number of bytes, of which one update may take more when it is alone. */
class Allowance {
  readonly limitBytes: number;
  takenBytes = 0;
  readonly #byOrder = new Map<number, number>();

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
  }

  admits(bytes: number, order: number, largestBytes: number): boolean {
    const own = this.#byOrder.get(order) ?? 0;
    if (own + bytes > largestBytes) return false;
    return this.takenBytes === own || this.takenBytes + bytes <= this.limitBytes;
  }

  add(bytes: number, order: number): void {
    this.takenBytes += bytes;
    const own = (this.#byOrder.get(order) ?? 0) + bytes;
    if (own === 0) this.#byOrder.delete(order);
    else this.#byOrder.set(order, own);
  }
}

export class BackupRoom<P> {
  readonly #largestBytes: number;
  readonly #payloads = new Map<P, Payload>();
  readonly #byUnit = new Map<number, Set<P>>();
  readonly #byOrder = new Map<number, Set<P>>();
  readonly #window: Allowance;
  readonly #late: Allowance;

  constructor({ windowBytes, lateBytes, largestBytes }: BackupRoomOptions) {
    this.#window = new Allowance(windowBytes);
    this.#late = new Allowance(lateBytes);
    this.#largestBytes = largestBytes;
  }

  get windowTakenBytes(): number {
    return this.#window.takenBytes;
  }

  get lateTakenBytes(): number {
    return this.#late.takenBytes;
  }

  /** Whether a payload may come in: to be asked before memory is taken for it. */
  admits({ order, bytes, isLate }: ReceivedPayload): boolean {
    return (isLate ? this.#late : this.#window).admits(bytes, order, this.#largestBytes);
  }

  /** For the copies of these units; then each of them says what it has kept. */
  take(payload: P, received: ReceivedPayload, units: readonly number[]): void {
    assert(!this.#payloads.has(payload), 'each received payload is a separate object');
    const held: Payload = { ...received, parts: new Set(units), units: new Set(units), leftUnits: new Set() };
    this.#payloads.set(payload, held);
    this.#count(held, 1);
    addTo(this.#byOrder, received.order, payload);
    for (const unit of units) addTo(this.#byUnit, unit, payload);
  }

  /**
   * The payload that has this part already: its unit's copy did not take it, and others of the payload have theirs
   * staged. When the part comes again it takes no memory: the primary counts it once.
   */
  holding({ order, isLate }: Omit<ReceivedPayload, 'bytes'>, unit: number): P | undefined {
    for (const payload of this.#byOrder.get(order) ?? []) {
      const held = this.#payloads.get(payload)!;
      const isIdle = held.units.size > 0 && !held.units.has(unit);
      if (isIdle && held.isLate === isLate && held.parts.has(unit)) return payload;
    }
    return undefined;
  }

  /** The part of a payload that is here (`holding`) has come again. */
  takeAgain(payload: P, unit: number): void {
    this.#payloads.get(payload)!.units.add(unit);
    addTo(this.#byUnit, unit, payload);
  }

  /** The copy of the unit has staged these updates, and nothing else. To be called after each of its steps. */
  keep(unit: number, staged: readonly { readonly payload: P }[]): void {
    const all = this.#byUnit.get(unit);
    if (all === undefined) return;
    for (const payload of all) {
      if (staged.some((one) => one.payload === payload)) continue;
      removeFrom(this.#byUnit, unit, payload);
      this.#release(payload, unit);
    }
  }

  /** The primary counts no more room for what the unit's copy has staged now. */
  left(unit: number): void {
    for (const payload of this.#byUnit.get(unit) ?? []) {
      const held = this.#payloads.get(payload)!;
      this.#count(held, -1);
      if (held.units.delete(unit)) held.leftUnits.add(unit);
      this.#count(held, 1);
    }
  }

  #release(payload: P, unit: number): void {
    const held = this.#payloads.get(payload)!;
    this.#count(held, -1);
    held.units.delete(unit);
    held.leftUnits.delete(unit);
    if (held.units.size + held.leftUnits.size > 0) {
      this.#count(held, 1);
      return;
    }
    this.#payloads.delete(payload);
    removeFrom(this.#byOrder, held.order, payload);
  }

  #count({ isLate, units, bytes, order }: Payload, sign: 1 | -1): void {
    (isLate || units.size === 0 ? this.#late : this.#window).add(sign * bytes, order);
  }
}

function addTo<P>(sets: Map<number, Set<P>>, key: number, payload: P): void {
  const all = sets.get(key) ?? new Set();
  all.add(payload);
  sets.set(key, all);
}

function removeFrom<P>(sets: Map<number, Set<P>>, key: number, payload: P): void {
  const all = sets.get(key)!;
  all.delete(payload);
  if (all.size === 0) sets.delete(key);
}
