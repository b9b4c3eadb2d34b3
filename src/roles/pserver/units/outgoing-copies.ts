/**
 * All backup copies of units that this pserver leads and that are being made. Several of one unit may be under way, for
 * different processes. None of them holds up a request, except for the room of an update on its way to a target.
 *
 * Until a target has its copy, nothing is sent to it by the link of the unit's replicas (`follows`).
 *
 * One that is given up counts no more, though its target is still told so until it answers: that may never be, as when
 * the two cannot reach each other. Another process can have the copy at once. The same one can, too: it takes the offer
 * of a newer attempt for the end of an older one (core/units/move-target.ts).
 */
import { assert } from '../../../base/assert.ts';
import type { LivePserver } from '../../../cluster/placement/placement-view.ts';
import { orAborted } from '../../../cluster/waiting.ts';
import type { UnitOwner } from '../../../core/units/move-messages.ts';
import type { SharedUpdate } from '../update/shared-update.ts';
import type { CopyFor, CopyMaker, MadeCopies } from './backup-copies.ts';
import type { MoveConnection } from './move-connection.ts';
import { OutgoingMove } from './outgoing-move.ts';
import type { OutgoingMovesOptions } from './outgoing-moves.ts';

export interface OutgoingCopiesOptions extends Omit<OutgoingMovesOptions, 'onSettled' | 'withoutSaves'> {
  readonly maker: CopyMaker;
}

interface Making {
  readonly move: OutgoingMove;
  readonly link: MoveConnection;
}

export class OutgoingCopies implements MadeCopies {
  readonly #options: OutgoingCopiesOptions;
  /** By unit and target. */
  readonly #making = new Map<string, Making>();

  constructor(options: OutgoingCopiesOptions) {
    this.#options = options;
  }

  /**
   * Begins a copy of a unit for a process that does not follow it. `committed`: the position of what is applied now.
   * From now on each update of the unit is told to `applied` right after it is applied.
   */
  begin(unit: number, target: LivePserver, committed: number): void {
    const { maker, names, owned, connect } = this.#options;
    const name = names.next('copy', unit, target);
    const copy: CopyFor = { unit, target: name.target };
    const key = keyOf(copy);
    assert(!this.isMaking(copy), 'a copy is made for a process once at a time');
    this.#forget(key);
    const link = connect({
      target,
      onConnected: () => move.connected(),
      onAnswer: (answer) => move.received(answer),
    });
    const move = new OutgoingMove({
      ...this.#options,
      ...{ name, shards: owned, position: committed, send: (message) => link.send(message) },
      copy: {
        onCaughtUp: () => maker.caughtUp(copy),
        onCopied: () => maker.copied(copy),
        onUnconfirmed: (reason) => maker.unconfirmed(copy, reason),
        onAbandoned: () => maker.ended(copy),
        onEnded: () => {
          this.#forget(key);
          if (!move.isSettled) maker.ended(copy);
        },
      },
    });
    this.#making.set(key, { move, link });
  }

  /** Unit → indexes of the processes for which it is being copied, or that have their copy and are in no head yet. */
  making(): Map<number, Set<number>> {
    const making = new Map<number, Set<number>>();
    for (const { move } of this.#all()) {
      if (move.isSettled) continue;
      const targets = making.get(move.unit) ?? new Set();
      making.set(move.unit, targets.add(move.target.index));
    }
    return making;
  }

  /**
   * The copy ends with what is committed now; at this moment the machine of the unit's replicas is told `join`. False:
   * it was abandoned before.
   */
  seal(copy: CopyFor, committed: number): boolean {
    return this.#making.get(keyOf(copy))?.move.seal(committed) === true;
  }

  /** A copy is being made, or is made and in no head yet. */
  isMaking(copy: CopyFor): boolean {
    return this.#making.get(keyOf(copy))?.move.isSettled === false;
  }

  /** Whether the process follows the unit by the link of its replicas: no copy is being made for it any more. */
  follows(copy: CopyFor): boolean {
    // It is asked of each unit in each update.
    if (this.#making.size === 0) return true;
    const making = this.#making.get(keyOf(copy));
    return making === undefined || making.move.isCopied;
  }

  /** A sealed copy is in no head, and nothing that was proposed takes it into one. */
  joinFailed(copy: CopyFor): void {
    this.#making.get(keyOf(copy))?.move.joinFailed();
  }

  /** The copy is in the head. */
  release(copy: CopyFor): void {
    this.#making.get(keyOf(copy))?.move.release();
  }

  /** This pserver leads the unit no more. To be called before its shards are removed. */
  releaseAll(unit: number): void {
    for (const { move } of this.#all()) if (move.unit === unit) move.release();
  }

  /**
   * An update was applied just now, by some of these units or all: it raises the position of those. To be awaited
   * before it is answered; undefined: it may be answered at once.
   */
  applied(make: () => SharedUpdate, units: readonly number[]): Promise<void> | undefined {
    if (this.#making.size === 0) return undefined;
    const moves = this.#all().filter(({ move }) => units.includes(move.unit) && !move.isSettled && !move.isSealed);
    if (moves.length === 0) return undefined;
    const update = make();
    const waits = moves.flatMap(({ move }) => move.applied(update) ?? []);
    if (waits.length === 0) return undefined;
    return orAborted(
      Promise.all(waits).then(() => {}),
      this.#options.lost,
    );
  }

  /** Of all that the targets have not confirmed. */
  abandon(reason: string): void {
    for (const { move } of this.#all()) move.abandon(reason);
  }

  /** The view has changed: targets may be gone. */
  lookAgain(): void {
    const { view } = this.#options;
    for (const { move } of this.#all()) {
      if (!view.isLive(move.target.index, BigInt(move.target.token))) move.targetGone();
    }
  }

  resumed(): void {
    for (const { move } of this.#all()) move.resumed();
  }

  /** Nothing is sent any more, and what has not ended is not told to its target. */
  close(): void {
    for (const key of [...this.#making.keys()]) this.#forget(key);
  }

  #forget(key: string): void {
    const making = this.#making.get(key);
    this.#making.delete(key);
    making?.move.forget();
    making?.link.close();
  }

  #all(): Making[] {
    return [...this.#making.values()];
  }
}

const keyOf = ({ unit, target: { index, token } }: { readonly unit: number; readonly target: UnitOwner }): string =>
  `${unit}/${index}/${token}`;
