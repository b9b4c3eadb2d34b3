/**
 * A primary counts here the room that it has at one peer: a window of bytes for this pair of pservers alone. An update
 * takes room before it is placed. The peer keeps the payload until it has applied or dropped the update in all units.
 * The room is free when the peer has reported that.
 *
 * Invariant: the peer never counts more than the primary (backup-room.ts). On an ordered connection, the primary
 * reports a left unit before it sends anything that uses the room of that unit.
 */
import { assert } from '../../base/assert.ts';
import { isSameName, type UpdateName } from './messages.ts';
import { roomOfPart, type SharedPayload } from './peer-link.ts';

interface HeldPayload {
  readonly order: number;
  bytes: number;
  parts: number;
}

interface HeldPart {
  readonly name: UpdateName;
  readonly payload: HeldPayload;
  /** The primary has dropped the update. An answer in a later epoch shows that the peer has dropped it, too. */
  isDropped: boolean;
}

export class PeerRoom {
  /** Undefined until the peer has sent its window. */
  #windowBytes: number | undefined;
  /** Keyed by the order of the payload. */
  readonly #payloads = new Map<number, HeldPayload>();
  readonly #parts = new Map<number, HeldPart[]>();
  #heldBytes = 0;
  /** Room reserved for updates that are about to be placed. */
  #creditBytes = 0;

  opened(windowBytes: number): void {
    this.#windowBytes = windowBytes;
  }

  get takenBytes(): number {
    return this.#heldBytes + this.#creditBytes;
  }

  /** An update larger than the window has room only if nothing else is taken. */
  hasRoom(bytes: number): boolean {
    if (this.#windowBytes === undefined) return false;
    return this.takenBytes === 0 || this.takenBytes + bytes <= this.#windowBytes;
  }

  takeCredit(bytes: number): void {
    this.#creditBytes += bytes;
  }

  returnCredit(bytes: number): void {
    this.#creditBytes -= bytes;
    assert(this.#creditBytes >= 0, 'a credit is returned once');
  }

  take(payload: SharedPayload, unit: number, name: UpdateName): void {
    const { order } = payload;
    const bytes = roomOfPart(payload.bytesByUnit.get(unit));
    let held = this.#payloads.get(order);
    if (held === undefined) {
      held = { order, bytes: 0, parts: 0 };
      this.#payloads.set(order, held);
    }
    held.bytes += bytes;
    held.parts += 1;
    this.#heldBytes += bytes;
    const parts = this.#parts.get(unit) ?? [];
    parts.push({ name, payload: held, isDropped: false });
    this.#parts.set(unit, parts);
  }

  has(unit: number, name: UpdateName): boolean {
    // Callers ask most often for the newest update.
    return this.#parts.get(unit)?.findLast((part) => isSameName(part.name, name)) !== undefined;
  }

  dropped(unit: number, names: readonly UpdateName[]): void {
    for (const part of this.#parts.get(unit) ?? []) {
      if (names.some((name) => isSameName(name, part.name))) part.isDropped = true;
    }
  }

  /** The peer has answered in the newest epoch of the unit. */
  answered(unit: number, committed: number): void {
    this.#free(unit, ({ name, isDropped }) => isDropped || name.position <= committed);
  }

  /** The unit's copy takes no room from now on. The peer learns this before the room is used again. */
  left(unit: number): void {
    this.#free(unit, () => true);
  }

  #free(unit: number, isFree: (part: HeldPart) => boolean): void {
    const parts = this.#parts.get(unit);
    if (parts === undefined) return;
    const kept: HeldPart[] = [];
    for (const part of parts) {
      if (isFree(part)) this.#freePart(part);
      else kept.push(part);
    }
    if (kept.length === 0) this.#parts.delete(unit);
    else this.#parts.set(unit, kept);
  }

  #freePart({ payload }: HeldPart): void {
    payload.parts -= 1;
    if (payload.parts > 0) return;
    this.#payloads.delete(payload.order);
    this.#heldBytes -= payload.bytes;
  }
}
