/**
 * The target of a move, which gets the unit (docs/copies.md). It puts in the copy of each shard and the later updates.
 *
 * `lead`: the target leads the unit once the head names it and its copy is sealed, that is, complete and final. The
 * source says when to read the head, but may die right after it changed the head. So the target also follows the head
 * by itself.
 *
 * The target may discard an unsealed copy at any time. It keeps a sealed copy until the source abandons the copy, or
 * the store shows that the change of the head can no longer take effect: the source may already have sent the change.
 *
 * `copy`: the source continues to lead and may change the head. Once the copy is sealed, it becomes a backup copy
 * (core/replicas). From then on, only two messages end it here, and both show that no head names it:
 * - Its source abandons it.
 * - Its source offers another copy.
 *
 * One machine handles all moves of one unit to this pserver, one after the other. It is pure: time is an argument. The
 * shell carries out the effects in order. If one of them fails, the shell drops the later effects and submits `failed`.
 */
import { assert, unreachable } from '../../base/assert.ts';
import {
  isSameMove,
  isSameOwner,
  type MoveAnswer,
  type MoveContent,
  type MoveFrame,
  type MoveMessage,
  type MoveName,
  type UnitOwner,
} from './move-messages.ts';

export interface TargetOptions {
  readonly unit: number;
  /** This pserver. */
  readonly me: UnitOwner;
  /** Shards of the unit, ascending. */
  readonly shards: readonly number[];
  /** The target discards an unsealed copy when the source has been silent for this long. */
  readonly silenceMs: number;
}

/** A copy of the unit that this pserver does not lead yet. */
export interface IncomingCopy {
  readonly name: MoveName;
  /** The number of the next frame. */
  next: number;
  /** Number of complete shards, in the order of the options. */
  complete: number;
  /** Whether some pieces of the next shard have arrived. */
  isPartial: boolean;
  /** Position of all complete shards, in the source's count of updates. */
  position: number;
  isSealed: boolean;
  heardMs: number;
}

/** Plain data. A machine that is created from it continues where this machine is. */
export interface TargetState {
  /** The newest head that was read from the store. */
  head: SeenHead | undefined;
  /** Whether the store has shown that the primary of that head lost its index. */
  isPrimaryGone: boolean;
  /** The newest attempt under that head that was accepted or abandoned. */
  attempt: number;
  copy: IncomingCopy | undefined;
  /** The newest copy that became a backup copy here. It may have been freed since. */
  copied: CopiedUnit | undefined;
}

export interface CopiedUnit {
  readonly name: MoveName;
  readonly position: number;
}

export interface SeenHead {
  readonly epoch: number;
  readonly primary: UnitOwner;
  /** The in-sync set, including the primary. */
  readonly inSync: readonly UnitOwner[];
}

export type TargetEvent<P> =
  /** `refusal`: why this pserver does not take the unit now, for example because it leads the unit. */
  | { readonly type: 'offer'; readonly name: MoveName; readonly refusal: string | undefined }
  | Exclude<MoveMessage<P>, { readonly type: 'offer' }>
  /**
   * The head, and whether its primary's token exists, at one revision of the store. Submitted when either changes.
   * While this pserver has a copy, it does not take the unit in another way: it discards the copy first.
   */
  | { readonly type: 'seen'; readonly head: SeenHead; readonly isPrimaryAlive: boolean }
  /** An effect could not be carried out, for example for lack of memory. */
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'tick' }
  /** This process was suspended until now. The machine does not count that time as silence of the source. */
  | { readonly type: 'resumed' };

export type TargetEffect<P> =
  | { readonly type: 'answer'; readonly answer: MoveAnswer }
  /** Put in a part of the copy. `isFirst`: the shard was empty before. `isLast`: the shard is complete afterwards. */
  | {
      readonly type: 'put';
      readonly shard: number;
      readonly isFirst: boolean;
      readonly isLast: boolean;
      readonly payload: P;
    }
  /** Apply the update to exactly these shards. */
  | { readonly type: 'apply'; readonly shards: readonly number[]; readonly payload: P }
  /** Read the head now and submit `seen`. */
  | { readonly type: 'look' }
  /** Lead the unit with the copy, under the head of this epoch. */
  | { readonly type: 'lead'; readonly epoch: number }
  /** The copy is a backup copy from now on, with all updates committed up to `position`. */
  | ({ readonly type: 'copied' } & CopiedUnit)
  /** No head names the backup copy that this move has made: free it, if it has not been freed yet. */
  | { readonly type: 'abandoned'; readonly name: MoveName }
  /** Free the copy. */
  | { readonly type: 'discard'; readonly reason: string }
  /**
   * The head names this pserver, but its copy is not sealed. It must give up its token, so that the unit is loaded from
   * a file.
   */
  | { readonly type: 'lost' };

const NOTHING_SEEN: TargetState = {
  head: undefined,
  isPrimaryGone: false,
  attempt: 0,
  copy: undefined,
  copied: undefined,
};

export class MoveTarget<P> {
  readonly #options: TargetOptions;
  readonly #state: TargetState;
  /** Filled during one step. */
  #effects: TargetEffect<P>[] = [];

  constructor(options: TargetOptions, from: TargetState = NOTHING_SEEN) {
    this.#options = options;
    this.#state = { ...from, copy: from.copy && { ...from.copy } };
  }

  state(): TargetState {
    const { copy } = this.#state;
    return { ...this.#state, copy: copy && { ...copy } };
  }

  /** Latest time for the next `tick`; undefined if none is needed. */
  nextDeadline(): number | undefined {
    const { copy } = this.#state;
    return copy === undefined || copy.isSealed ? undefined : copy.heardMs + this.#options.silenceMs;
  }

  step(event: TargetEvent<P>, now: number): TargetEffect<P>[] {
    this.#effects = [];
    this.#handle(event, now);
    return this.#effects;
  }

  #handle(event: TargetEvent<P>, now: number): void {
    const { copy } = this.#state;
    switch (event.type) {
      case 'offer':
        this.#offered(event, now);
        break;
      case 'frame':
        this.#framed(event.frame, now);
        break;
      case 'abandon':
        this.#abandoned(event.name);
        break;
      case 'moved':
        if (copy !== undefined && isSameMove(copy.name, event.name)) this.#effects.push({ type: 'look' });
        break;
      case 'seen':
        this.#seen(event);
        break;
      case 'failed':
        this.#failed(event.reason);
        break;
      case 'tick':
        if (now >= (this.nextDeadline() ?? Number.POSITIVE_INFINITY)) this.#discard('the source is silent');
        break;
      case 'resumed':
        if (copy !== undefined) copy.heardMs = now;
        break;
      default:
        unreachable(event);
    }
  }

  #reply(answer: MoveAnswer): void {
    this.#effects.push({ type: 'answer', answer });
  }

  // ---- the start of the copy

  #offered({ name, refusal }: Extract<TargetEvent<P>, { type: 'offer' }>, now: number): void {
    const { copy, copied } = this.#state;
    const isKnown = [copy, copied].some((one) => one !== undefined && isSameMove(one.name, name));
    const reason = isKnown ? undefined : (this.#refusal(name) ?? refusal);
    if (reason !== undefined) {
      this.#reply({ type: 'refused', name, reason });
      return;
    }
    if (!isKnown) this.#begin(name, now);
    this.#reply({ type: 'accepted', name });
  }

  #refusal(name: MoveName): string | undefined {
    if (!this.#isNew(name)) return 'the offer is outdated, or this pserver does not know its head yet';
    const { head } = this.#state;
    const isMember = head?.inSync.some((owner) => isSameOwner(owner, this.#options.me)) === true;
    return isMember ? 'it has a copy of the unit' : undefined;
  }

  #begin(name: MoveName, now: number): void {
    // The source has given up its earlier attempt.
    if (this.#state.copy !== undefined) this.#discard('the source starts again');
    this.#forgetCopied();
    this.#state.attempt = name.attempt;
    const fresh = { next: 0, complete: 0, isPartial: false, position: 0, isSealed: false };
    this.#state.copy = { name, ...fresh, heardMs: now };
  }

  /**
   * Checks the name against the store, since a name in a message proves nothing. If the source has lost its token, the
   * move is refused: nothing would end its copy.
   */
  #isNew({ unit, epoch, source, target, attempt }: MoveName): boolean {
    const { head, isPrimaryGone } = this.#state;
    if (unit !== this.#options.unit || !isSameOwner(target, this.#options.me)) return false;
    if (head === undefined || head.epoch !== epoch || !isSameOwner(head.primary, source)) return false;
    return !isPrimaryGone && attempt > this.#state.attempt;
  }

  // ---- frames

  #framed({ name, number, content }: MoveFrame<P>, now: number): void {
    const { copy } = this.#state;
    if (copy === undefined || !isSameMove(copy.name, name)) {
      this.#replyToOther(name);
      return;
    }
    // An earlier frame was lost. The source will resend both frames.
    if (number > copy.next) return;
    if (number === copy.next && !copy.isSealed) {
      copy.heardMs = now;
      if (!this.#isInOrder(copy, content)) {
        this.#breakOff(copy, 'the frames contradict each other');
        return;
      }
      this.#take(copy, content);
    }
    this.#replyTaken(copy);
  }

  /** The source may have missed the answer that its copy is sealed. */
  #replyToOther(name: MoveName): void {
    const { copied } = this.#state;
    if (copied !== undefined && isSameMove(copied.name, name)) this.#replySealed(copied);
    else this.#reply({ type: 'refused', name, reason: 'the target does not have a copy for this move' });
  }

  #replySealed({ name, position }: CopiedUnit): void {
    this.#reply({ type: 'sealed', name, position });
  }

  #replyTaken(copy: IncomingCopy): void {
    if (copy.isSealed) this.#replySealed(copy);
    else this.#reply({ type: 'taken', name: copy.name, next: copy.next });
  }

  /** Whether shards arrive in order, and all complete shards are at one position. */
  #isInOrder(copy: IncomingCopy, content: MoveContent<P>): boolean {
    const { complete, isPartial, position } = copy;
    const { shards } = this.#options;
    switch (content.type) {
      case 'piece':
        return content.shard === shards[complete] && (copy.next === 0 || content.position === position);
      case 'update':
        return complete > 0 && !isPartial && content.position === position + 1;
      case 'seal':
        return complete === shards.length && content.position === position;
      default:
        return unreachable(content);
    }
  }

  #take(copy: IncomingCopy, content: MoveContent<P>): void {
    copy.next += 1;
    copy.position = content.position;
    switch (content.type) {
      case 'piece': {
        const { shard, isLast, payload } = content;
        this.#effects.push({ type: 'put', shard, isFirst: !copy.isPartial, isLast, payload });
        copy.isPartial = !isLast;
        if (isLast) copy.complete += 1;
        return;
      }
      case 'update': {
        const shards = this.#options.shards.slice(0, copy.complete);
        this.#effects.push({ type: 'apply', shards, payload: content.payload });
        return;
      }
      case 'seal':
        copy.isSealed = true;
        if (copy.name.purpose === 'copy') this.#leave(copy);
        return;
      default:
        unreachable(content);
    }
  }

  /** Leaves the copy to the replicas. */
  #leave({ name, position }: IncomingCopy): void {
    this.#state.copied = { name, position };
    this.#state.copy = undefined;
    this.#effects.push({ type: 'copied', name, position });
  }

  #failed(reason: string): void {
    const { copy, copied } = this.#state;
    if (copy !== undefined) this.#breakOff(copy, reason);
    else if (copied !== undefined) {
      // The sealed copy could not become a backup copy.
      this.#state.copied = undefined;
      this.#discard(reason);
      this.#reply({ type: 'refused', name: copied.name, reason });
    }
  }

  /** The source still leads the unit, and can try another move. */
  #breakOff({ name, isSealed }: IncomingCopy, reason: string): void {
    assert(!isSealed, 'nothing is put into a sealed copy');
    this.#discard(reason);
    this.#reply({ type: 'refused', name, reason });
  }

  // ---- the end of the copy

  #abandoned(name: MoveName): void {
    const { copy, copied } = this.#state;
    // A late offer of this move must be refused.
    if (this.#isNew(name)) this.#state.attempt = name.attempt;
    if (copy !== undefined && isSameMove(copy.name, name)) this.#discard('the source keeps the unit');
    if (copied !== undefined && isSameMove(copied.name, name)) this.#forgetCopied();
    this.#reply({ type: 'discarded', name });
  }

  #seen({ head, isPrimaryAlive }: Extract<TargetEvent<P>, { type: 'seen' }>): void {
    const { copy } = this.#state;
    const known = this.#state.head?.epoch ?? 0;
    if (head.epoch < known) return;
    if (head.epoch > known) {
      this.#state.attempt = 0;
      this.#state.isPrimaryGone = false;
    }
    // Reads of the store may arrive out of order, but a process never gets back an index that it has lost.
    this.#state.isPrimaryGone ||= !isPrimaryAlive;
    this.#state.head = head;
    if (copy !== undefined) this.#judge(copy, head);
  }

  #judge(copy: IncomingCopy, head: SeenHead): void {
    const { epoch, source, purpose } = copy.name;
    if (purpose === 'copy') {
      if (!isSameOwner(head.primary, source)) this.#discard('the unit has another leader');
      else if (this.#state.isPrimaryGone) this.#discard('the source disconnected');
      return;
    }
    // The source's token fences the change of the head, so the change can no longer take effect.
    if (head.epoch === epoch && this.#state.isPrimaryGone) this.#discard('the source disconnected');
    if (head.epoch === epoch) return;
    if (head.epoch === epoch + 1 && isSameOwner(head.primary, this.#options.me)) this.#named(copy);
    else this.#discard('the unit has another leader');
  }

  #named({ isSealed, name }: IncomingCopy): void {
    this.#effects.push(isSealed ? { type: 'lead', epoch: name.epoch + 1 } : { type: 'lost' });
    this.#state.copy = undefined;
  }

  #forgetCopied(): void {
    const { copied } = this.#state;
    if (copied === undefined) return;
    this.#state.copied = undefined;
    this.#effects.push({ type: 'abandoned', name: copied.name });
  }

  #discard(reason: string): void {
    this.#state.copy = undefined;
    this.#effects.push({ type: 'discard', reason });
  }
}
