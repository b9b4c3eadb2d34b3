/**
 * The primary is the copy that leads a unit (docs/copies.md; its log follows PacificA, 2008). It gives every update its
 * place, sends the update to the other copies, and commits it when the whole in-sync set has staged it. Only the
 * primary adds a copy to the set, removes a copy, or hands the unit over. While the store decides about a change of the
 * set, a commit needs the old set *and* the requested set.
 *
 * After removing a member, the primary commits the updates that all remaining members have staged. It drops the others,
 * which no copy has applied. It never drops the updates of a former primary, because their trainers may have been told
 * that they count. Until all of these are committed, the unit answers nothing.
 */
import { assert, unreachable } from '../../base/assert.ts';
import { isSameOwner, type UnitOwner } from '../units/move-messages.ts';
import type {
  HeadProposal,
  Outcome,
  PeerState,
  PrimaryState,
  ReplicaEffect,
  ReplicaOptions,
  UnitHead,
} from './events.ts';
import { isIn, isSameLink, type LinkName, type ReplicaAnswer, type ReplicaFrame, without } from './messages.ts';
import type { UpdateLog } from './update-log.ts';

type Peer = { -readonly [K in keyof PeerState]: PeerState[K] };
type Staged = Extract<ReplicaAnswer, { type: 'staged' }>;
type State = { -readonly [K in keyof PrimaryState]: PrimaryState[K] };

export class Primary<P> {
  readonly #options: ReplicaOptions;
  readonly #log: UpdateLog<P>;
  readonly #out: (effect: ReplicaEffect<P>) => void;
  readonly #state: Omit<State, 'peers'>;
  #peers: Peer[];
  /** Owners of `#peers`. The list is replaced whenever they change. */
  #owners: readonly UnitOwner[];

  constructor(
    options: ReplicaOptions,
    log: UpdateLog<P>,
    out: (effect: ReplicaEffect<P>) => void,
    { peers, ...state }: PrimaryState,
  ) {
    this.#options = options;
    this.#log = log;
    this.#out = out;
    this.#state = { ...state };
    this.#peers = peers.map((peer) => ({ ...peer }));
    this.#owners = ownersOf(this.#peers);
  }

  /** State of a copy that leads from this head on, with everything that it has staged. */
  static begun(head: UnitHead, log: Pick<UpdateLog<unknown>, 'last' | 'committed'>, me: UnitOwner): PrimaryState {
    const peers = without(head.inSync, me).map((owner) => newPeer(owner, log.committed));
    const undecided = { proposal: undefined, handOverTo: undefined };
    return { head, peers, inherited: log.last, isServing: false, ...undecided };
  }

  state(): PrimaryState {
    return { ...this.#state, peers: this.#peers.map((peer) => ({ ...peer })) };
  }

  /** The processes to which the primary sends. If the list is the same object as before, they have not changed. */
  get peers(): readonly UnitOwner[] {
    return this.#owners;
  }

  get head(): UnitHead {
    return this.#state.head;
  }

  get epoch(): number {
    return this.#state.head.epoch;
  }

  admits(kind: 'read' | 'update'): boolean {
    const { isServing, proposal, handOverTo, head } = this.#state;
    if (!isServing || proposal?.kind === 'handOver') return false;
    return kind === 'read' || (handOverTo === undefined && head.inSync.length >= this.#options.minInSync);
  }

  nextDeadline(): number | undefined {
    let owingSinceMs: number | undefined;
    for (const { owesSinceMs, isGone } of this.#peers)
      if (owesSinceMs !== undefined && !isGone) owingSinceMs = Math.min(owingSinceMs ?? owesSinceMs, owesSinceMs);
    return owingSinceMs === undefined ? undefined : owingSinceMs + this.#options.silenceMs;
  }

  // ---- events

  /** Call this when an epoch begins. */
  begin(now: number): void {
    for (const peer of this.#peers) this.#beginWith(peer, now);
  }

  place(payload: P): void {
    assert(this.admits('update'), 'an update is placed only while updates are admitted');
    this.#log.append({ name: { position: this.#log.last + 1, epoch: this.epoch }, payload });
  }

  connected(to: UnitOwner, now: number): void {
    const peer = this.#peerOf(to);
    if (peer !== undefined) this.#beginWith(peer, now);
  }

  answered(link: LinkName, answer: ReplicaAnswer, now: number): void {
    const peer = this.#peerOf(link.member);
    if (peer === undefined || !isSameLink(link, this.#linkTo(peer.owner))) return;
    switch (answer.type) {
      case 'staged':
        this.#staged(peer, answer, now);
        break;
      case 'refused':
        if (answer.why === 'old') this.#out({ type: 'look' });
        else this.#failed(peer);
        break;
      default:
        unreachable(answer);
    }
  }

  heard(from: UnitOwner, now: number): void {
    const peer = this.#peerOf(from);
    if (peer?.owesSinceMs !== undefined) peer.owesSinceMs = now;
  }

  gone(owner: UnitOwner): void {
    const peer = this.#peerOf(owner);
    if (peer !== undefined) this.#failed(peer);
  }

  join(joiner: UnitOwner, now: number): void {
    assert(this.#peerOf(joiner) === undefined, 'a copy joins once');
    const peer = newPeer(joiner, this.#log.committed);
    this.#setPeers([...this.#peers, peer]);
    this.#beginWith(peer, now);
  }

  giveUp(joiner: UnitOwner): void {
    const peer = this.#peerOf(joiner);
    if (peer !== undefined && !this.#isMember(peer)) this.#failed(peer);
  }

  /**
   * Whether a hand-over to the member may begin. Inherited updates must be committed, and the member must not have
   * failed.
   */
  mayHandOver(to: UnitOwner): boolean {
    const peer = this.#peerOf(to);
    return this.#state.isServing && peer !== undefined && this.#isMember(peer) && !peer.isGone;
  }

  handOver(to: UnitOwner): void {
    if (this.mayHandOver(to)) this.#state.handOverTo = to;
  }

  tick(now: number): void {
    for (const peer of [...this.#peers]) {
      if (peer.owesSinceMs !== undefined && now >= peer.owesSinceMs + this.#options.silenceMs) this.#failed(peer);
    }
  }

  resumed(now: number): void {
    for (const peer of this.#peers) if (peer.owesSinceMs !== undefined) peer.owesSinceMs = now;
  }

  /** Returns the head under which this copy no longer leads, or undefined. */
  decided(outcome: Outcome & { readonly from: number }, now: number): UnitHead | undefined {
    const { proposal, head } = this.#state;
    if (proposal === undefined || proposal.from !== outcome.from) return undefined;
    // An earlier attempt may still take effect. Only an answered transaction shows the outcome.
    if (outcome.outcome === 'unknown') {
      this.#out({ type: 'propose', proposal });
      return undefined;
    }
    if (outcome.outcome === 'succeeded' || outcome.head.epoch === proposal.head.epoch)
      return this.#changed(proposal, now);
    if (outcome.head.epoch > head.epoch) return outcome.head;
    this.#refused(proposal);
    return undefined;
  }

  /** Sends frames, commits updates and proposes changes of the head, as far as the step makes them due. */
  settle(now: number): void {
    for (const peer of this.#peers) this.#sendTo(peer, now);
    this.#commit();
    for (const peer of this.#peers) this.#sendCommit(peer, now);
    let held = this.#log.committed;
    for (const { acknowledged } of this.#peers) held = Math.min(held, acknowledged);
    this.#log.forgetThrough(held);
    this.#propose();
  }

  // ---- the other copies

  #setPeers(peers: Peer[]): void {
    this.#peers = peers;
    this.#owners = ownersOf(peers);
  }

  #peerOf(owner: UnitOwner): Peer | undefined {
    return this.#peers.find((peer) => isSameOwner(peer.owner, owner));
  }

  #isMember({ owner }: PeerState): boolean {
    return isIn(this.#state.head.inSync, owner);
  }

  #linkTo(member: UnitOwner): LinkName {
    return { unit: this.#options.unit, epoch: this.epoch, primary: this.#options.me, member };
  }

  #send(peer: Peer, frame: ReplicaFrame<P>): void {
    peer.reported = frame.committed;
    this.#out({ type: 'send', link: this.#linkTo(peer.owner), frame });
  }

  #beginWith(peer: Peer, now: number): void {
    peer.isBegun = false;
    peer.owesSinceMs ??= now;
    const { committed } = this.#log;
    this.#send(peer, {
      type: 'begin',
      base: peer.acknowledged,
      tail: this.#log.namesAfter(peer.acknowledged),
      committed,
    });
  }

  #staged(peer: Peer, { through, committed }: Staged, now: number): void {
    if (through > this.#log.last || committed > through) return;
    if (!peer.isBegun) peer.sent = through;
    peer.isBegun = true;
    if (through > peer.acknowledged || committed > peer.committed) peer.owesSinceMs = now;
    peer.acknowledged = Math.max(peer.acknowledged, through);
    peer.committed = Math.max(peer.committed, committed);
    // Updates that a member has not applied take room there. So a member that does not apply them delays others, too.
    if (peer.acknowledged >= peer.sent && peer.committed >= peer.reported) peer.owesSinceMs = undefined;
  }

  #sendTo(peer: Peer, now: number): void {
    if (!peer.isBegun) return;
    for (const update of this.#log.after(Math.max(peer.sent, peer.acknowledged))) {
      this.#send(peer, { type: 'stage', update, committed: this.#log.committed });
      peer.sent = update.name.position;
      peer.owesSinceMs ??= now;
    }
  }

  #sendCommit(peer: Peer, now: number): void {
    const { committed } = this.#log;
    if (!peer.isBegun || peer.reported >= committed) return;
    this.#send(peer, { type: 'commit', committed });
    peer.owesSinceMs ??= now;
  }

  /** Marks a peer that the head or the proposal names for removal, and forgets any other peer. */
  #failed(peer: Peer): void {
    if (this.#state.handOverTo !== undefined && isSameOwner(this.#state.handOverTo, peer.owner)) {
      if (this.#state.proposal?.kind !== 'handOver') this.#state.handOverTo = undefined;
    }
    const isProposed = isIn(this.#state.proposal?.head.inSync ?? [], peer.owner);
    if (this.#isMember(peer) || isProposed) peer.isGone = true;
    else this.#forget(peer);
  }

  #forget(peer: Peer): void {
    this.#setPeers(this.#peers.filter((one) => one !== peer));
    this.#out({ type: 'joinFailed', joiner: peer.owner });
  }

  // ---- commit

  #commit(): void {
    const { head, proposal } = this.#state;
    let through = this.#log.last;
    for (const peer of this.#peers) {
      const isNeeded = isIn(head.inSync, peer.owner) || isIn(proposal?.head.inSync ?? [], peer.owner);
      if (isNeeded) through = Math.min(through, peer.acknowledged);
    }
    for (const update of this.#log.commitThrough(through)) this.#out({ type: 'commit', update });
    if (this.#state.isServing || this.#log.committed < this.#state.inherited) return;
    this.#state.isServing = true;
    this.#out({ type: 'serve', epoch: this.epoch });
  }

  // ---- changes of the head

  #propose(): void {
    if (this.#state.proposal !== undefined) return;
    const proposal = this.#removal() ?? this.#addition() ?? this.#handingOver();
    if (proposal === undefined) return;
    this.#state.proposal = proposal;
    this.#out({ type: 'propose', proposal });
  }

  #headWith(change: Partial<UnitHead>): UnitHead {
    return { ...this.#state.head, ...change, epoch: this.epoch + 1 };
  }

  #removal(): HeadProposal | undefined {
    const { inSync } = this.#state.head;
    const failed = this.#peers.find((peer) => peer.isGone && this.#isMember(peer));
    if (failed === undefined) return undefined;
    const head = this.#headWith({ inSync: without(inSync, failed.owner) });
    return { kind: 'remove', from: this.epoch, head, alive: [], gone: [] };
  }

  #addition(): HeadProposal | undefined {
    const { inSync } = this.#state.head;
    const { committed } = this.#log;
    const ready = this.#peers.find((peer) => !this.#isMember(peer) && peer.isBegun && peer.acknowledged >= committed);
    if (ready === undefined || !this.#state.isServing) return undefined;
    const head = this.#headWith({ inSync: [...inSync, ready.owner] });
    return { kind: 'add', from: this.epoch, head, alive: [ready.owner], gone: [] };
  }

  #handingOver(): HeadProposal | undefined {
    const { handOverTo: to } = this.#state;
    if (to === undefined || this.#log.committed < this.#log.last) return undefined;
    const peer = this.#peerOf(to);
    if (peer === undefined || !peer.isBegun || peer.acknowledged < this.#log.last) return undefined;
    return { kind: 'handOver', from: this.epoch, head: this.#headWith({ primary: to }), alive: [to], gone: [] };
  }

  /** Returns the head if another copy leads under it. */
  #changed({ kind, head }: HeadProposal, now: number): UnitHead | undefined {
    if (kind === 'handOver') return head;
    const wereMembers = this.#state.head.inSync;
    this.#state.head = head;
    this.#state.proposal = undefined;
    this.#setPeers(this.#peers.filter(({ owner }) => isIn(head.inSync, owner) || !isIn(wereMembers, owner)));
    if (kind === 'remove') this.#dropUnstaged();
    for (const peer of this.#peers) {
      // The peer's acknowledgements of the remaining updates count in the new epoch, too.
      peer.acknowledged = Math.min(peer.acknowledged, this.#log.last);
      peer.sent = peer.acknowledged;
      peer.owesSinceMs = undefined;
      this.#beginWith(peer, now);
    }
    return undefined;
  }

  /**
   * Drops updates that a remaining member has not staged. If fewer than `minInSync` members remain, it drops all
   * uncommitted updates. In both cases, it keeps the inherited updates.
   */
  #dropUnstaged(): void {
    const { committed, last } = this.#log;
    const acknowledged = this.#peers.filter((peer) => this.#isMember(peer)).map((peer) => peer.acknowledged);
    const staged = this.#state.head.inSync.length < this.#options.minInSync ? 0 : Math.min(last, ...acknowledged);
    const kept = Math.max(committed, Math.min(this.#state.inherited, last), staged);
    const names = this.#log.dropAfter(kept).map(({ name }) => name);
    if (names.length > 0) this.#out({ type: 'drop', names });
  }

  /**
   * The store refused the change although the head is unchanged. An `add` or `handOver` fails if the other process lost
   * its index.
   */
  #refused({ kind, head }: HeadProposal): void {
    this.#state.proposal = undefined;
    if (kind === 'handOver') this.#state.handOverTo = undefined;
    if (kind !== 'add') return;
    const joiner = this.#peers.find((peer) => !this.#isMember(peer) && isIn(head.inSync, peer.owner));
    if (joiner !== undefined) this.#forget(joiner);
  }
}

const ownersOf = (peers: readonly Peer[]): UnitOwner[] => peers.map(({ owner }) => owner);

const newPeer = (owner: UnitOwner, acknowledged: number): Peer => ({
  ...{ owner, isBegun: false, acknowledged, sent: acknowledged, committed: 0, reported: 0 },
  ...{ owesSinceMs: undefined, isGone: false },
});
