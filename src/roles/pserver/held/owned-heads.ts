/**
 * The heads of the units that this pserver leads, as the store last had them. Only this class changes the heads of
 * owned units. It makes one change at a time.
 */
import { assert } from '../../../base/assert.ts';
import { type ChangeHeads, changeHeads } from '../../../cluster/placement/change-heads.ts';
import { type Head, type Rest, takenBy } from '../../../cluster/placement/heads.ts';
import { type DecidedHead, proposeHeads, type StoredHead } from '../../../cluster/placement/propose-heads.ts';
import type { HeadProposal } from '../../../core/replicas/events.ts';
import type { Decision, HandOver } from '../../../core/units/move-source-events.ts';

/** `modRevision`: revision of the head in the store. */
export type OwnedHead = StoredHead;

/** A change that a copy of a unit proposes for the head of the unit. */
export interface UnitProposal {
  readonly unit: number;
  readonly proposal: HeadProposal;
  /**
   * The newest head that the copy knows. If the unit is owned when the turn of the proposal comes, the owned head
   * counts instead, unless `known` has a higher epoch.
   */
  readonly known: StoredHead;
}

export interface OwnedHeadsOptions extends ChangeHeads {
  /**
   * Whether units have several copies. Then only a change of the primary or of the in-sync set raises the epoch,
   * because copies refuse frames of another epoch. Default: false; then each change of a head raises the epoch.
   */
  readonly areCopied?: boolean;
}

export class OwnedHeads {
  readonly #by: OwnedHeadsOptions;
  readonly #heads: Map<number, OwnedHead>;
  /** Units whose head names a file as the last state. */
  #resting = new Set<number>();
  /** Units that another pserver leads now, but that are not removed here yet. */
  readonly #handedOver = new Set<number>();
  /** The newest change. It starts when all earlier changes have ended. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(by: OwnedHeadsOptions, heads: Iterable<OwnedHead>) {
    this.#by = by;
    this.#heads = new Map();
    for (const owned of heads) this.#put(owned);
  }

  /** Returns the owned units, ascending. */
  units(): number[] {
    return [...this.#heads.keys()].sort((a, b) => a - b);
  }

  of(unit: number): OwnedHead | undefined {
    return this.#heads.get(unit);
  }

  all(): Iterable<OwnedHead> {
    return this.#heads.values();
  }

  /** Only `OwnedShards` may call `add` and `remove`, so that a head is owned together with its shards. */
  add(owned: OwnedHead): void {
    assert(!this.#heads.has(owned.unit), `unit ${owned.unit} is owned once`);
    this.#put(owned);
  }

  remove(unit: number): void {
    assert(this.#heads.delete(unit), `unit ${unit} is owned`);
    this.#resting.delete(unit);
    this.#handedOver.delete(unit);
  }

  /** Whether the head of an owned unit names a file as the last state. */
  get areResting(): boolean {
    return this.#resting.size > 0;
  }

  /**
   * Names a file as the last state of these units. The file must contain every update of the units, and `wake` must end
   * before the next update is applied. Throws `LeaseGone` if another process has the index by now. Throws `Interrupted`
   * if the wait for an unreachable store is ended.
   */
  rest(rest: Rest, units: readonly number[] = this.units()): Promise<void> {
    return this.#change((head, unit) => {
      return head.rest?.uuid === rest.uuid || !units.includes(unit) ? undefined : { ...head, rest };
    });
  }

  /** Removes the files from the heads, because the caller is about to apply an update. Throws like `rest`. */
  wake(): Promise<void> {
    return this.#change(({ rest, ...head }) => (rest === undefined ? undefined : head));
  }

  /**
   * Makes the target of a move the primary of the unit. Fails if the target has lost its index, or if the head has
   * changed since the move began. After a success, the caller must remove the unit. Throws like `rest`.
   */
  handOver({ unit, from, primary: target }: HandOver): Promise<Decision> {
    return this.#inTurn(async () => {
      const owned = this.#heads.get(unit);
      assert(owned !== undefined, `unit ${unit} is owned until it is handed over`);
      const { head, modRevision } = owned;
      if (head.epoch !== from) return { outcome: 'failed', primary: head.primary };
      const also = [{ key: this.#by.context.keys.ps(target.index), createRevision: BigInt(target.token) }];
      const [changed] = await changeHeads({ ...this.#by, also }, [{ unit, modRevision, head: takenBy(target, head) }]);
      if (!changed!.isMade) return { outcome: 'failed', primary: changed!.head?.primary ?? head.primary };
      this.#handedOver.add(unit);
      return { outcome: 'succeeded' };
    });
  }

  /**
   * Carries out proposals for units that are owned, or that this pserver is about to lead. Calls `onDecided` once for
   * each proposal, as soon as its outcome is known. A proposal that was made from an older head fails at once. Throws
   * like `rest`; then the outcomes that were not reported are unknown.
   */
  propose(proposals: readonly UnitProposal[], onDecided: (decided: DecidedHead) => void): Promise<void> {
    return this.#inTurn(async () => {
      const made = proposals.map(({ unit, proposal, known }) => ({ from: this.#newestOf(unit, known), proposal }));
      const isCurrent = ({ from, proposal }: (typeof made)[number]): boolean => from.head.epoch === proposal.from;
      for (const { from, proposal } of made.filter((one) => !isCurrent(one)))
        onDecided({ from: proposal.from, outcome: { outcome: 'failed', head: from.head }, now: from });
      const decided = (one: DecidedHead): void => {
        this.#decided(one.now);
        onDecided(one);
      };
      await proposeHeads({ ...this.#by, onDecided: decided }, made.filter(isCurrent));
    });
  }

  #newestOf(unit: number, known: StoredHead): StoredHead {
    const owned = this.#heads.get(unit);
    return owned === undefined || known.head.epoch > owned.head.epoch ? known : owned;
  }

  #decided(now: StoredHead): void {
    if (!this.#heads.has(now.unit)) return;
    if (now.head.primary.token === this.#by.fence.token.toString()) this.#put(now);
    else this.#handedOver.add(now.unit);
  }

  /** Changes every head for which `make` returns a new one. Raises its epoch, unless units have copies. */
  #change(make: (head: Head, unit: number) => Head | undefined): Promise<void> {
    return this.#inTurn(async () => {
      const changes = [...this.#heads.values()].flatMap(({ unit, head, modRevision }) => {
        const made = this.#handedOver.has(unit) ? undefined : make(head, unit);
        const epoch = head.epoch + (this.#by.areCopied === true ? 0 : 1);
        return made === undefined ? [] : [{ unit, modRevision, head: { ...made, epoch } }];
      });
      if (changes.length === 0) return;
      for (const { unit, head, modRevision, isMade } of await changeHeads(this.#by, changes)) {
        assert(isMade && head !== undefined, `only its owner changes the head of unit ${unit}`);
        // If the unit has left in the meantime, its new owner changes its head.
        if (this.#heads.has(unit)) this.#put({ unit, head, modRevision });
      }
    });
  }

  #inTurn<T>(make: () => Promise<T>): Promise<T> {
    const change = this.#turn.then(make);
    // The caller gets the error. The next change starts in any case.
    this.#turn = Promise.allSettled([change]);
    return change;
  }

  #put(owned: OwnedHead): void {
    this.#heads.set(owned.unit, owned);
    if (owned.head.rest === undefined) this.#resting.delete(owned.unit);
    else this.#resting.add(owned.unit);
  }
}
