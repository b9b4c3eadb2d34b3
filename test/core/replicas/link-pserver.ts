/** A pserver with copies of units, as small as can be, around the real machines of the units and of its links. */
import type {
  HeadProposal,
  ReplicaEvent,
  ReplicaOptions,
  ReplicaState,
  UnitHead,
} from '../../../src/core/replicas/events.ts';
import { isSameName, keyOfOwner } from '../../../src/core/replicas/messages.ts';
import { PeerInbox } from '../../../src/core/replicas/peer-inbox.ts';
import type { BatchAnswer, PeerBatch } from '../../../src/core/replicas/peer-link.ts';
import { type AddressedBatch, PeerLinks } from '../../../src/core/replicas/peer-links.ts';
import { Replica } from '../../../src/core/replicas/replica.ts';
import type { UnitOwner } from '../../../src/core/units/move-messages.ts';

export const SILENCE_MS = 1_000;
export const BATCHES_IN_FLIGHT = 2;

export interface Push {
  readonly order: number;
  readonly bytesByUnit: ReadonlyMap<number, number>;
  readonly id: number;
}

export interface Sizes {
  readonly windowBytes: number;
  readonly lateBytes: number;
  readonly largestBytes: number;
}

export const optionsOf = (unit: number, me: UnitOwner): ReplicaOptions => ({
  ...{ unit, me, silenceMs: SILENCE_MS, minInSync: 1 },
});

export interface Unit {
  readonly replica: Replica<Push>;
  /** Pushes that it has applied, in order. */
  readonly applied: number[];
  proposed: HeadProposal | undefined;
}

export class LinkPserver {
  readonly me: UnitOwner;
  readonly units = new Map<number, Unit>();
  readonly inboxes = new Map<string, PeerInbox<Push>>();
  readonly links = new PeerLinks<Push>(BATCHES_IN_FLIGHT);
  /** Those whose trainer has died since it asked: they give back what they are granted. */
  readonly dying = new Set<number>();
  /** By push: in which units it was placed. */
  readonly placed = new Map<number, number[]>();
  readonly dropped: { readonly unit: number; readonly push: number }[] = [];
  readonly #sizes: Sizes;
  readonly #asked = new Map<number, ReadonlyMap<number, number>>();
  #orders = 0;
  nowMs = 0;

  constructor(me: UnitOwner, sizes: Sizes) {
    this.me = me;
    this.#sizes = sizes;
  }

  addCopy(unit: number, state: ReplicaState<Push>, applied: readonly number[]): void {
    // The copy that was here before is of no use any more.
    this.free(unit);
    this.units.set(unit, {
      replica: new Replica(optionsOf(unit, this.me), state),
      applied: [...applied],
      proposed: undefined,
    });
  }

  free(unit: number): void {
    this.units.delete(unit);
    for (const inbox of this.inboxes.values()) inbox.hasNone(unit);
  }

  step(unit: number, event: ReplicaEvent<Push>): void {
    const held = this.units.get(unit);
    if (held === undefined) return;
    if (event.type === 'decided' && held.proposed?.from === event.from) held.proposed = undefined;
    const before = held.replica.staged();
    const effects = held.replica.step(event, this.nowMs);
    for (const effect of effects) {
      if (effect.type === 'commit') held.applied.push(effect.update.payload.id);
      else if (effect.type === 'propose') held.proposed = effect.proposal;
      else if (effect.type === 'answer')
        this.inboxes.get(keyOfOwner(effect.link.primary))?.answered(effect.link, effect.answer);
      else if (effect.type === 'drop')
        for (const name of effect.names) {
          const { payload } = before.find((update) => isSameName(update.name, name))!;
          this.dropped.push({ unit, push: payload.id });
        }
    }
    this.links.effects(unit, effects);
    this.links.setPeers(unit, held.replica.peers());
    const staged = held.replica.staged();
    for (const inbox of this.inboxes.values()) inbox.room.keep(unit, staged);
    if (effects.some(({ type }) => type === 'discard')) this.free(unit);
  }

  all(make: (unit: number) => ReplicaEvent<Push>): void {
    for (const unit of [...this.units.keys()]) this.step(unit, make(unit));
  }

  // ---- as a primary

  leads(unit: number): boolean {
    return this.units.get(unit)?.replica.admits('update') === true;
  }

  ask(id: number, units: readonly number[], bytes: number): void {
    const bytesByUnit = new Map(units.map((unit) => [unit, bytes]));
    this.#asked.set(id, bytesByUnit);
    this.links.queue.ask(id, bytesByUnit);
  }

  /** Whatever has room now is placed, and what there is to send goes out. */
  turn(): AddressedBatch<Push>[] {
    for (let granted = this.links.queue.grant(); granted.length > 0; granted = this.links.queue.grant())
      for (const id of granted) this.#place(id);
    return this.links.batches(true);
  }

  #place(id: number): void {
    const { queue } = this.links;
    const units = [...this.#asked.get(id)!.keys()].filter((unit) => this.leads(unit));
    if (this.dying.has(id) || units.length === 0) {
      queue.cancel(id);
      return;
    }
    this.#orders += 1;
    const payload = { order: this.#orders, bytesByUnit: this.#asked.get(id)!, id };
    const names = units.map((unit) => ({ unit, name: this.units.get(unit)!.replica.nextName() }));
    queue.place(id, payload, names);
    this.placed.set(id, units);
    for (const unit of units) this.step(unit, { type: 'place', payload });
  }

  /** Gives false when the peer has failed. */
  answered(peer: UnitOwner, connection: number, answers: BatchAnswer): boolean {
    const frames = this.links.answered(peer, connection, answers);
    if (frames === undefined) return false;
    this.all(() => ({ type: 'heard', from: peer }));
    for (const { link, answer } of frames) {
      if (answer === undefined) this.step(link.unit, { type: 'connected', to: peer });
      else this.step(link.unit, { type: 'answer', link, answer });
    }
    return true;
  }

  // ---- as a backup

  inboxOf(primary: UnitOwner): PeerInbox<Push> {
    const key = keyOfOwner(primary);
    const inbox = this.inboxes.get(key) ?? new PeerInbox<Push>(this.#sizes);
    this.inboxes.set(key, inbox);
    return inbox;
  }

  /** Throws when the primary does not keep to its window. */
  received(primary: UnitOwner, sent: PeerBatch<Push>): void {
    const inbox = this.inboxOf(primary);
    this.#orders += 1;
    const batch = asReceived(sent, this.#orders);
    const frames = inbox.received(batch);
    if (frames === undefined) throw new Error(`${keyOfOwner(primary)} goes beyond its window at ${this.me.index}`);
    for (const { link, frame } of frames) {
      if (this.units.has(link.unit)) this.step(link.unit, { type: 'frame', link, frame });
      else inbox.hasNone(link.unit);
    }
  }
}

/** What comes over a wire is another object, of the parts that were sent. */
export function asReceived(sent: PeerBatch<Push>, order: number): PeerBatch<Push> {
  const about = sent.frames.map(({ link }) => link.unit);
  if (new Set(about).size < about.length) throw new Error(`a batch has two frames of one unit: ${about.join(', ')}`);
  const units = sent.frames.flatMap(({ link, frame }) => (frame.type === 'stage' ? [link.unit] : []));
  let payload: Push | undefined;
  const frames = sent.frames.map(({ link, frame }) => {
    if (frame.type !== 'stage') return { link, frame };
    const { id, bytesByUnit } = frame.update.payload;
    payload ??= { id, order, bytesByUnit: new Map(units.map((unit) => [unit, bytesByUnit.get(unit)!])) };
    return { link, frame: { ...frame, update: { ...frame.update, payload } } };
  });
  return { ...sent, frames };
}

export const aliveHead = (head: UnitHead, isPrimaryAlive: boolean): ReplicaEvent<Push> => ({
  type: 'seen',
  ...{ head, isPrimaryAlive },
});
