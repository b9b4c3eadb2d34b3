/**
 * A backup is a copy of a unit that another process leads (docs/copies.md). It stages the updates that its primary has
 * placed, and applies them when the primary reports them as committed. It decides only one thing: it takes over when
 * the store shows that its primary has lost its index. It follows an epoch only after the store has shown the head of
 * that epoch, because a name in a frame proves nothing.
 */
import { unreachable } from '../../base/assert.ts';
import { isSameOwner } from '../units/move-messages.ts';
import type { BackupState, HeadProposal, Outcome, ReplicaEffect, ReplicaOptions, UnitHead } from './events.ts';
import { isIn, type LinkName, type PlacedUpdate, type ReplicaFrame, without } from './messages.ts';
import type { UpdateLog } from './update-log.ts';

type State = { -readonly [K in keyof BackupState]: BackupState[K] };
type Begin = Extract<ReplicaFrame<unknown>, { type: 'begin' }>;

export interface Seen {
  readonly head: UnitHead;
  readonly isPrimaryAlive: boolean;
}

export class Backup<P> {
  readonly #options: ReplicaOptions;
  readonly #log: UpdateLog<P>;
  readonly #out: (effect: ReplicaEffect<P>) => void;
  readonly #state: State;

  constructor(options: ReplicaOptions, log: UpdateLog<P>, out: (effect: ReplicaEffect<P>) => void, state: BackupState) {
    this.#options = options;
    this.#log = log;
    this.#out = out;
    this.#state = { ...state };
  }

  state(): BackupState {
    return { ...this.#state };
  }

  get epoch(): number {
    return this.#state.epoch;
  }

  /** `head`: the newest head that the store has shown. The epoch of the frame is not newer. */
  framed(link: LinkName, frame: ReplicaFrame<P>, head: UnitHead): void {
    const known = Math.max(this.#state.epoch, head.epoch);
    if (link.epoch === known && isSameOwner(link.primary, head.primary)) this.#take(link, frame);
    else this.#out({ type: 'answer', link, answer: { type: 'refused', why: 'old' } });
  }

  /**
   * The store shows another head, or shows that the primary has lost its index. Returns false if this copy must be
   * discarded.
   */
  saw(seen: Seen): boolean {
    const { head, isPrimaryAlive } = seen;
    if (!isIn(head.inSync, this.#options.me)) return this.#mayBeNamed(seen);
    this.#state.madeBy = undefined;
    if (!isPrimaryAlive) this.#promote(head);
    return true;
  }

  /**
   * Whether a newer head may name this copy. Only the primary that made the copy can add it, while it leads the unit.
   */
  #mayBeNamed({ head, isPrimaryAlive }: Seen): boolean {
    const { madeBy, epoch } = this.#state;
    if (madeBy === undefined) return head.epoch <= epoch;
    return head.epoch < madeBy.epoch || (isPrimaryAlive && isSameOwner(head.primary, madeBy.primary));
  }

  /** Returns the head under which this copy leads, or undefined. */
  decided(outcome: Outcome & { readonly from: number }): UnitHead | undefined {
    const { proposal } = this.#state;
    if (proposal === undefined || proposal.from !== outcome.from) return undefined;
    if (outcome.outcome === 'unknown') {
      this.#out({ type: 'propose', proposal });
      return undefined;
    }
    this.#state.proposal = undefined;
    if (outcome.outcome === 'succeeded' || isSameHead(outcome.head, proposal.head)) return proposal.head;
    this.#out({ type: 'look' });
    return undefined;
  }

  // ---- frames

  #take(link: LinkName, frame: ReplicaFrame<P>): void {
    const isFollowing = link.epoch === this.#state.epoch;
    switch (frame.type) {
      case 'begin':
        this.#begin(link, frame);
        break;
      case 'stage':
        // The primary begins again on each connection, and then sends every update that this copy lacks.
        if (isFollowing) this.#stage(link, frame.update, frame.committed);
        break;
      case 'commit':
        if (isFollowing) this.#commit(frame.committed);
        // Applied updates free room, but the primary counts the room as free only after this answer.
        if (isFollowing) this.#answerStaged(link);
        break;
      default:
        unreachable(frame);
    }
  }

  #begin(link: LinkName, { base, tail, committed }: Begin): void {
    const agreed = this.#log.agreesThrough(base, tail);
    if (agreed === undefined || agreed < this.#log.committed) {
      this.#out({ type: 'answer', link, answer: { type: 'refused', why: 'unfit' } });
      return;
    }
    // Within an epoch, a position is never placed twice. So only a late frame could contain less than this copy.
    if (link.epoch > this.#state.epoch) this.#log.dropAfter(agreed);
    this.#state.epoch = link.epoch;
    this.#commit(committed);
    this.#answerStaged(link);
  }

  #stage(link: LinkName, update: PlacedUpdate<P>, committed: number): void {
    const { position } = update.name;
    if (position === this.#log.last + 1) this.#log.append(update);
    this.#commit(committed);
    this.#answerStaged(link);
  }

  /** If the position is beyond the staged updates, the frames before it were lost, and come again. */
  #commit(committed: number): void {
    for (const update of this.#log.commitThrough(committed)) this.#out({ type: 'commit', update });
    this.#log.forgetThrough(this.#log.committed);
  }

  #answerStaged(link: LinkName): void {
    const { last: through, committed } = this.#log;
    this.#out({ type: 'answer', link, answer: { type: 'staged', through, committed } });
  }

  // ---- taking over

  #promote({ epoch, primary, inSync }: UnitHead): void {
    const { me } = this.#options;
    if (this.#state.proposal?.from === epoch) return;
    const head = { epoch: epoch + 1, primary: me, inSync: without(inSync, primary) };
    const proposal: HeadProposal = { kind: 'promote', from: epoch, head, alive: [], gone: [primary] };
    this.#state.proposal = proposal;
    this.#out({ type: 'propose', proposal });
  }
}

const isSameHead = (a: UnitHead, b: UnitHead): boolean => a.epoch === b.epoch && isSameOwner(a.primary, b.primary);
