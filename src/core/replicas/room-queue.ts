/**
 * The updates that wait for room at the peers of their units, before they are placed. Room is taken at all peers at
 * once, before anything is placed: taken one by one, updates of two pservers could each hold what the other needs.
 *
 * First come, first served: no update takes room at a peer that an earlier one waits for. An update waits for the peers
 * that its units have now, and no longer for a peer that was taken out of the set, or of a unit that was handed over. A
 * grant is room and no place in the order: for a trainer that dies before its update is placed, `cancel` returns it.
 */
import { assert } from '../../base/assert.ts';
import type { UnitOwner } from '../units/move-messages.ts';
import { isIn, keyOfOwner, type UpdateName } from './messages.ts';
import { roomOfPart, type SharedPayload } from './peer-link.ts';
import type { PeerRoom } from './peer-room.ts';

export interface PlacedPart {
  readonly unit: number;
  readonly name: UpdateName;
}

type BytesByUnit = SharedPayload['bytesByUnit'];

interface Need {
  readonly room: PeerRoom;
  readonly bytes: number;
}

interface Waiter {
  readonly bytesByUnit: BytesByUnit;
  /** By the peers that its units have now. Undefined: they have changed since. */
  needs: readonly Need[] | undefined;
}

const NO_PEERS: readonly UnitOwner[] = [];

export class RoomQueue {
  readonly #roomAt: (peer: UnitOwner) => PeerRoom;
  readonly #peers = new Map<number, readonly UnitOwner[]>();
  /** Waiters in the order in which they came. */
  readonly #waiting = new Map<number, Waiter>();
  readonly #granted = new Map<number, readonly Need[]>();

  constructor(roomAt: (peer: UnitOwner) => PeerRoom) {
    this.#roomAt = roomAt;
  }

  isPeer(one: UnitOwner): boolean {
    return [...this.#peers.values()].some((peers) => isIn(peers, one));
  }

  /** Peers of all units, each once. */
  peers(): UnitOwner[] {
    return [...new Map([...this.#peers.values()].flat().map((peer) => [keyOfOwner(peer), peer])).values()];
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  peersOf(unit: number): readonly UnitOwner[] {
    return this.#peers.get(unit) ?? NO_PEERS;
  }

  /** Returns the former peers of the unit that are no longer its peers; undefined if all are as before. */
  setPeers(unit: number, peers: readonly UnitOwner[]): readonly UnitOwner[] | undefined {
    const before = this.peersOf(unit);
    // Nearly always: a machine gives the same list until it is another one.
    if (before === peers) return undefined;
    const left = before.filter((peer) => !isIn(peers, peer));
    if (peers.length === 0) this.#peers.delete(unit);
    else this.#peers.set(unit, peers);
    if (left.length === 0 && before.length === peers.length) return undefined;
    for (const waiter of this.#waiting.values()) waiter.needs = undefined;
    return left;
  }

  /** To place an update of that size in these units. `id`: another one each time. `grant` says when there is room. */
  ask(id: number, bytesByUnit: BytesByUnit): void {
    assert(!this.#waiting.has(id) && !this.#granted.has(id), 'room is asked for once');
    this.#waiting.set(id, { bytesByUnit, needs: undefined });
  }

  /** It will not be placed. */
  cancel(id: number): void {
    this.#waiting.delete(id);
    this.#returnCredit(id);
  }

  /**
   * Those that have room from now on, in order: each is to be placed, or cancelled, before anything is awaited. To be
   * called after whatever may have made room.
   */
  grant(): number[] {
    const granted: number[] = [];
    const claimed = new Set<PeerRoom>();
    for (const [id, waiter] of this.#waiting) {
      waiter.needs ??= this.#needsOf(waiter.bytesByUnit);
      const { needs } = waiter;
      if (needs.every(({ room, bytes }) => !claimed.has(room) && room.hasRoom(bytes))) {
        for (const { room, bytes } of needs) room.takeCredit(bytes);
        this.#waiting.delete(id);
        this.#granted.set(id, needs);
        granted.push(id);
      } else for (const { room } of needs) claimed.add(room);
    }
    return granted;
  }

  /**
   * It is placed now in these units, which may be fewer than it has asked for. To be called before the machines of the
   * units place it. A peer that has come since the grant is sent it late.
   */
  place(id: number, payload: SharedPayload, placed: Iterable<PlacedPart>): void {
    const granted = this.#granted.get(id);
    assert(granted !== undefined, 'an update is placed only where there is room for it');
    this.#returnCredit(id);
    const rooms = new Set(granted.map(({ room }) => room));
    for (const { unit, name } of placed) {
      for (const peer of this.peersOf(unit)) {
        const room = this.#roomAt(peer);
        if (rooms.has(room)) room.take(payload, unit, name);
      }
    }
  }

  #returnCredit(id: number): void {
    for (const { room, bytes } of this.#granted.get(id) ?? []) room.returnCredit(bytes);
    this.#granted.delete(id);
  }

  #needsOf(bytesByUnit: BytesByUnit): Need[] {
    const needs = new Map<PeerRoom, number>();
    for (const [unit, bytes] of bytesByUnit) {
      for (const peer of this.peersOf(unit)) {
        const room = this.#roomAt(peer);
        needs.set(room, (needs.get(room) ?? 0) + roomOfPart(bytes));
      }
    }
    return [...needs].map(([room, bytes]) => ({ room, bytes }));
  }
}
