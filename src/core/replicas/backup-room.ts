/**
 * A backup counts here the payloads that one primary has sent and that copies on this pserver have staged. The primary
 * has a window of bytes. If the primary exceeds its window, the backup treats it as failed.
 *
 * Late payloads (`PeerBatch.isLate`) and payloads in copies that no longer belong to the primary have separate room. If
 * they took room in the window, two primaries could wait for each other. Each would wait for room that an update holds
 * at one joiner, while that update waits for the other primary's joiner.
 */
import { assert } from '../../base/assert.ts';

export interface BackupRoomOptions {
  /** Size of the window. The backup sends it to the primary when the connection opens. */
  readonly windowBytes: number;
  /**
   * Room for late payloads and payloads left behind. For each other pserver, it must fit one window or the largest
   * update.
   */
  readonly lateBytes: number;
  /** Size of the largest possible update. */
  readonly largestBytes: number;
}

interface Payload extends ReceivedPayload {
  /** Units whose parts the payload contains, staged or not. */
  readonly parts: ReadonlySet<number>;
  /** Units whose copies have staged the payload. */
  readonly units: Set<number>;
  /** Units whose copies have staged the payload, but no longer belong to the primary. */
  readonly leftUnits: Set<number>;
}

export interface ReceivedPayload {
  /** Number of the update at its primary. If units join the update later, their parts come in another payload. */
  readonly order: number;
  readonly bytes: number;
  readonly isLate: boolean;
}

/** A limit in bytes. One update may exceed the limit, up to `largestBytes`, while no other update takes room. */
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

  /** Whether the payload has room. Call this before copying the payload. */
  admits({ order, bytes, isLate }: ReceivedPayload): boolean {
    return (isLate ? this.#late : this.#window).admits(bytes, order, this.#largestBytes);
  }

  /** The copies of these units get the payload. Afterwards, `keep` is called for each copy. */
  take(payload: P, received: ReceivedPayload, units: readonly number[]): void {
    assert(!this.#payloads.has(payload), 'each received payload is a separate object');
    const held: Payload = { ...received, parts: new Set(units), units: new Set(units), leftUnits: new Set() };
    this.#payloads.set(payload, held);
    this.#count(held, 1);
    addTo(this.#byOrder, received.order, payload);
    for (const unit of units) addTo(this.#byUnit, unit, payload);
  }

  /**
   * Returns the payload that already contains this part. The unit's copy did not take the part, but other copies have
   * the payload staged. If the part comes again, it takes no memory, because the primary counts it once.
   */
  holding({ order, isLate }: Omit<ReceivedPayload, 'bytes'>, unit: number): P | undefined {
    for (const payload of this.#byOrder.get(order) ?? []) {
      const held = this.#payloads.get(payload)!;
      const isIdle = held.units.size > 0 && !held.units.has(unit);
      if (isIdle && held.isLate === isLate && held.parts.has(unit)) return payload;
    }
    return undefined;
  }

  /** A part that a payload here already contains (`holding`) has come again. */
  takeAgain(payload: P, unit: number): void {
    this.#payloads.get(payload)!.units.add(unit);
    addTo(this.#byUnit, unit, payload);
  }

  /** The copy of the unit has exactly these updates staged. Call this after each step of the copy. */
  keep(unit: number, staged: readonly { readonly payload: P }[]): void {
    const all = this.#byUnit.get(unit);
    if (all === undefined) return;
    for (const payload of all) {
      if (staged.some((one) => one.payload === payload)) continue;
      removeFrom(this.#byUnit, unit, payload);
      this.#release(payload, unit);
    }
  }

  /** The primary no longer counts room for the updates that the unit's copy has staged now. */
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
