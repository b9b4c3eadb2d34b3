/**
 * Updates wait here for room at the peers of their units, before they are placed. An update takes room at all peers at
 * once. If it took room peer by peer, updates of two pservers could each hold the room that the other needs.
 *
 * First come, first served: an update never takes room at a peer for which an earlier update waits. An update waits
 * only for the current peers of its units, not for a peer that was removed or whose unit was handed over. A grant
 * reserves room, but not a place in the sequence. If a trainer dies before its update is placed, `cancel` returns the
 * room.
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
  /** Room needed at the current peers of the units. Undefined after the peers have changed. */
  needs: readonly Need[] | undefined;
}

const NO_PEERS: readonly UnitOwner[] = [];

export class RoomQueue {
  readonly #roomAt: (peer: UnitOwner) => PeerRoom;
  readonly #peers = new Map<number, readonly UnitOwner[]>();
  /** Waiting updates in order of arrival, by id. */
  readonly #waiting = new Map<number, Waiter>();
  readonly #granted = new Map<number, readonly Need[]>();

  constructor(roomAt: (peer: UnitOwner) => PeerRoom) {
    this.#roomAt = roomAt;
  }

  isPeer(one: UnitOwner): boolean {
    return [...this.#peers.values()].some((peers) => isIn(peers, one));
  }

  /** Peers of all units, each peer once. */
  peers(): UnitOwner[] {
    return [...new Map([...this.#peers.values()].flat().map((peer) => [keyOfOwner(peer), peer])).values()];
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  peersOf(unit: number): readonly UnitOwner[] {
    return this.#peers.get(unit) ?? NO_PEERS;
  }

  /** Returns the former peers that the unit has lost; undefined if all peers are the same. */
  setPeers(unit: number, peers: readonly UnitOwner[]): readonly UnitOwner[] | undefined {
    const before = this.peersOf(unit);
    // The usual case: a machine returns the same list until its peers change.
    if (before === peers) return undefined;
    const left = before.filter((peer) => !isIn(peers, peer));
    if (peers.length === 0) this.#peers.delete(unit);
    else this.#peers.set(unit, peers);
    if (left.length === 0 && before.length === peers.length) return undefined;
    for (const waiter of this.#waiting.values()) waiter.needs = undefined;
    return left;
  }

  /**
   * Asks for room for an update with parts of these sizes. `id` must not be used twice. `grant` reports when there is
   * room.
   */
  ask(id: number, bytesByUnit: BytesByUnit): void {
    assert(!this.#waiting.has(id) && !this.#granted.has(id), 'room is asked for once');
    this.#waiting.set(id, { bytesByUnit, needs: undefined });
  }

  /** The update will not be placed. */
  cancel(id: number): void {
    this.#waiting.delete(id);
    this.#returnCredit(id);
  }

  /**
   * Returns the updates that have room from now on, in order. The caller must place or cancel each of them before it
   * awaits anything. Call this after anything that may have freed room.
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
   * The update is placed now in these units, which may be fewer than those it asked for. Call this before the machines
   * of the units place the update. A peer that was added after the grant gets the update late.
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
