/**
 * The heads of the units that this pserver leads, as it wrote them. This is the only place that knows them, and that
 * changes them while the units are owned: one change at a time.
 */
import { assert } from '../../../base/assert.ts';
import { type ChangeHeads, changeHeads } from '../../../cluster/placement/change-heads.ts';
import { type Head, type Rest, takenBy } from '../../../cluster/placement/heads.ts';
import { type DecidedHead, proposeHeads, type StoredHead } from '../../../cluster/placement/propose-heads.ts';
import type { HeadProposal } from '../../../core/replicas/events.ts';
import type { Decision, HandOver } from '../../../core/units/move-source-events.ts';

/** `modRevision`: of the head in the store. */
export type OwnedHead = StoredHead;

/** What a copy of a unit proposes about its head. */
export interface UnitProposal {
  readonly unit: number;
  readonly proposal: HeadProposal;
  /** The newest head that is known here. That of a unit that is owned when its turn comes counts instead. */
  readonly known: StoredHead;
}

export interface OwnedHeadsOptions extends ChangeHeads {
  /** Only a change of the set of copies, or of who leads, begins an epoch: the copies go by that. */
  readonly areCopied?: boolean;
}

export class OwnedHeads {
  readonly #by: OwnedHeadsOptions;
  readonly #heads: Map<number, OwnedHead>;
  /** Heads that name a file as the last state. */
  #resting = new Set<number>();
  /** Units that another pserver leads, and that are not removed yet. */
  readonly #handedOver = new Set<number>();
  /** The newest change; those before it have ended when it begins. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(by: OwnedHeadsOptions, heads: Iterable<OwnedHead>) {
    this.#by = by;
    this.#heads = new Map();
    for (const owned of heads) this.#put(owned);
  }

  /** Ascending. */
  units(): number[] {
    return [...this.#heads.keys()].sort((a, b) => a - b);
  }

  of(unit: number): OwnedHead | undefined {
    return this.#heads.get(unit);
  }

  all(): Iterable<OwnedHead> {
    return this.#heads.values();
  }

  /** `OwnedShards.add` and `remove` call these: a head is owned with its shards. */
  add(owned: OwnedHead): void {
    assert(!this.#heads.has(owned.unit), `unit ${owned.unit} is owned once`);
    this.#put(owned);
  }

  remove(unit: number): void {
    assert(this.#heads.delete(unit), `unit ${unit} is owned`);
    this.#resting.delete(unit);
    this.#handedOver.delete(unit);
  }

  get areResting(): boolean {
    return this.#resting.size > 0;
  }

  /** This file has all that was ever applied to these units, and nothing will be applied any more. */
  rest(rest: Rest, units: readonly number[] = this.units()): Promise<void> {
    return this.#change((head, unit) => {
      return head.rest?.uuid === rest.uuid || !units.includes(unit) ? undefined : { ...head, rest };
    });
  }

  /** No file is the last state any more: something is about to be applied. */
  wake(): Promise<void> {
    return this.#change(({ rest, ...head }) => (rest === undefined ? undefined : head));
  }

  /**
   * Gives the unit to the target of a move, if that process has its index still, and this pserver the head from which
   * the move began. The unit is to be removed after that. Throws like `rest`.
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
   * What copies of units here propose, of units that are owned or are to be. Each is decided once, as soon as that is
   * possible: at once, when it was made of another head than that of now. Throws like `rest`; then what was not told is
   * unknown.
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

  /**
   * Changes every head for which `make` gives another one; its epoch rises. Throws `LeaseGone` when the index is
   * another's by now, `Interrupted` when given up while the store is unreachable.
   */
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
        // A unit that left in the meantime has another owner, who changes its head.
        if (this.#heads.has(unit)) this.#put({ unit, head, modRevision });
      }
    });
  }

  #inTurn<T>(make: () => Promise<T>): Promise<T> {
    const change = this.#turn.then(make);
    // Its caller gets the error; the next change begins in any case.
    this.#turn = Promise.allSettled([change]);
    return change;
  }

  #put(owned: OwnedHead): void {
    this.#heads.set(owned.unit, owned);
    if (owned.head.rest === undefined) this.#resting.delete(owned.unit);
    else this.#resting.add(owned.unit);
  }
}
