/**
 * All units on their way from this pserver to others: to be led there, or as backup copies. A unit may be copied for
 * several processes at a time, and moved to one.
 *
 * Invariants:
 * - Each update of a unit is told to `applied` in the same step in which it is applied. So each target gets exactly the
 *   updates that its copy lacks.
 * - Until a target has its backup copy, nothing is sent to it by the link of the unit's replicas (`follows`).
 * - A copy that is made holds up no request, except for the room of an update on its way to the target.
 *
 * An attempt that is given up counts no more, though its target is told so until it answers. That may never be, as when
 * the two cannot reach each other. Another process can get the unit at once. The same process can, too: it takes the
 * offer of a newer attempt for the end of an older one (core/units/move-target.ts).
 */
import { assert } from '../../../base/assert.ts';
import type { Clock, Log } from '../../../base/seams.ts';
import type { LivePserver, PlacementView } from '../../../cluster/placement/placement-view.ts';
import { orAborted } from '../../../cluster/waiting.ts';
import type { MoveAnswer, MoveName, MovePurpose, UnitOwner } from '../../../core/units/move-messages.ts';
import type { OwnedShards } from '../held/owned-shards.ts';
import type { MovedRounds } from '../held/unit-rounds.ts';
import type { WorkTimes } from '../metrics.ts';
import { SharedUpdate } from '../update/shared-update.ts';
import type { Update } from '../update/update.ts';
import type { MoveConnection } from './move-connection.ts';
import { OutgoingMove, type OutgoingMoveOptions } from './outgoing-move.ts';

const MiB = 2 ** 20;
/**
 * The memory that a copy on its way takes here beside the unit itself. As many shards are copied at one go when it
 * begins, and no request is answered in that time: some 3 ms a MiB.
 */
const WINDOW_BYTES = 4 * MiB;
const PIECE_BYTES = MiB;
/** The longest that updates wait for a target to have everything. */
const HAND_OVER_MS = 1_000;

export interface MoveLinkOptions {
  readonly target: LivePserver;
  /** After each time that the connection is made. */
  readonly onConnected: () => void;
  readonly onAnswer: (answer: MoveAnswer) => void;
}

/** Connects, and connects again until it is closed. */
export type ConnectMove = (options: MoveLinkOptions) => MoveConnection;

export interface OutgoingOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly times: WorkTimes;
  readonly me: UnitOwner;
  readonly owned: OwnedShards;
  readonly view: Pick<PlacementView, 'isLive'>;
  readonly connect: ConnectMove;
  readonly silenceMs: number;
  /** In sync mode. */
  readonly rounds?: MovedRounds | undefined;
  /** Aborts when the index is lost: then nothing is waited for. */
  readonly lost: AbortSignal;
  readonly withoutSaves: () => Promise<() => void>;
  /** A move to another primary has ended: the unit is kept here, or moved. */
  readonly onSettled: (move: PlannedTarget, outcome: 'kept' | 'moved') => void;
  /** Told of backup copies. Undefined: none is made. */
  readonly maker: CopyMaker | undefined;
  readonly onFatal: (error: unknown) => void;
}

export interface PlannedTarget {
  readonly unit: number;
  /** Index of the target. */
  readonly to: number;
}

/** A copy of a unit that another process is to have. */
export interface CopyFor {
  readonly unit: number;
  readonly target: UnitOwner;
}

/**
 * At the pserver that leads the unit. All of it is told when the step of the move is done, so that the moves may be
 * called. With one copy of each unit, no such copy is made.
 */
export interface CopyMaker {
  /** The target has all shards: `Outgoing.seal` may be called from now on. */
  caughtUp(copy: CopyFor): void;
  /** The target has its copy, as it was at the seal. What it has missed since is to be sent to it from now on. */
  copied(copy: CopyFor): void;
  /**
   * A sealed copy is not confirmed or not wanted any more: the machine of the unit's replicas is to end the join. Then
   * `joinFailed` is called, or `release` if it was too late for that.
   */
  unconfirmed(copy: CopyFor, reason: string): void;
  /** Nothing more comes of the move: it is given up, or the copy is in the head. Another one may begin. */
  ended(copy: CopyFor): void;
}

interface Running {
  readonly move: OutgoingMove;
  readonly link: MoveConnection;
}

type OfPurpose = Pick<OutgoingMoveOptions, 'position' | 'copy' | 'withoutSaves' | 'onSettled'>;

export class Outgoing {
  readonly #options: OutgoingOptions;
  /** By unit and target. Those that are settled stay until their targets have nothing left of them. */
  readonly #running = new Map<string, Running>();
  /** Attempts for a unit, whatever their purpose, under the epoch of its head: no two moves have the same name. */
  readonly #attempts = new Map<number, { readonly epoch: number; readonly count: number }>();

  constructor(options: OutgoingOptions) {
    this.#options = options;
  }

  /** Begins to hand over a unit, whose head names no file. Ends in `onSettled`. */
  move(unit: number, target: LivePserver): void {
    const { withoutSaves, onSettled } = this.#options;
    for (const [key, { move }] of this.#running) if (move.unit === unit) this.#forget(key);
    const name = this.#nameOf('lead', unit, target);
    this.#begin(name, target, {
      withoutSaves,
      onSettled: (outcome) => onSettled({ unit, to: target.index }, outcome),
    });
  }

  /**
   * Begins a backup copy of a unit for a process that does not follow it. `committed`: the position of what is applied
   * now. Ends in `CopyMaker.ended`.
   */
  copy(unit: number, target: LivePserver, committed: number): void {
    const maker = this.#options.maker!;
    const name = this.#nameOf('copy', unit, target);
    const copy: CopyFor = { unit, target: name.target };
    assert(!this.isMaking(copy), 'a copy is made for a process once at a time');
    this.#forget(keyOf(copy));
    const { move } = this.#begin(name, target, {
      position: committed,
      copy: {
        onCaughtUp: () => maker.caughtUp(copy),
        onCopied: () => maker.copied(copy),
        onUnconfirmed: (reason) => maker.unconfirmed(copy, reason),
        onAbandoned: () => maker.ended(copy),
        onEnded: () => {
          this.#forget(keyOf(copy));
          if (!move.isSettled) maker.ended(copy);
        },
      },
    });
  }

  /** Unit → index of the process that is to lead it. */
  moving(): Map<number, number> {
    return new Map(this.#unsettled('lead').map(({ unit, target }) => [unit, target.index]));
  }

  /** Unit → indexes of the processes for which it is being copied, or that have their copy and are in no head yet. */
  making(): Map<number, Set<number>> {
    const making = new Map<number, Set<number>>();
    for (const { unit, target } of this.#unsettled('copy'))
      making.set(unit, (making.get(unit) ?? new Set<number>()).add(target.index));
    return making;
  }

  // ---- requests

  /** Undefined: a request may be answered now. Rejects with `Interrupted` when the index is lost. */
  wait(kind: 'read' | 'update'): Promise<void> | undefined {
    if (this.#running.size === 0) return undefined;
    const busy = this.#unsettled().find((move) => !move.admits(kind));
    return busy && orAborted(busy.settled, this.#options.lost);
  }

  /**
   * These units have applied an update just now; undefined: all have. To be awaited before it is answered; undefined:
   * it may be answered at once. `make` is called at once or never.
   */
  applied(make: () => Update | SharedUpdate, by?: readonly number[]): Promise<void> | undefined {
    if (this.#running.size === 0) return undefined;
    const moves = this.#unsettled().filter((move) => !move.isSealed && (by === undefined || by.includes(move.unit)));
    if (moves.length === 0) return undefined;
    const { owned } = this.#options;
    const made = make();
    const units = [...new Set(moves.map(({ unit }) => unit))];
    const update = made instanceof SharedUpdate ? made : new SharedUpdate({ of: owned.parts, update: made, units });
    const waits = moves.flatMap((move) => move.applied(update) ?? []);
    if (waits.length === 0) return undefined;
    const all = Promise.all(waits).then(() => {});
    return orAborted(all, this.#options.lost);
  }

  // ---- backup copies

  /** A copy is being made, or is made and in no head yet. */
  isMaking(copy: CopyFor): boolean {
    return this.#running.get(keyOf(copy))?.move.isSettled === false;
  }

  /** Whether the process follows the unit by the link of its replicas: no copy is being made for it any longer. */
  follows(copy: CopyFor): boolean {
    // Each update asks this for each unit.
    if (this.#running.size === 0) return true;
    const running = this.#running.get(keyOf(copy));
    return running === undefined || running.move.isCopied;
  }

  /**
   * The copy ends with what is committed now. At the same moment, the machine of the unit's replicas gets `join`.
   * False: it was abandoned before.
   */
  seal(copy: CopyFor, committed: number): boolean {
    return this.#running.get(keyOf(copy))?.move.seal(committed) === true;
  }

  /** A sealed copy is in no head, and no proposed transaction will put it into one. */
  joinFailed(copy: CopyFor): void {
    this.#running.get(keyOf(copy))?.move.joinFailed();
  }

  /** The copy is in the head. */
  release(copy: CopyFor): void {
    this.#running.get(keyOf(copy))?.move.release();
  }

  /** This pserver no longer leads the unit. To be called before its shards are removed. */
  releaseAll(unit: number): void {
    for (const { move } of this.#all()) if (move.unit === unit) move.release();
  }

  // ---- all of them

  /** Gives up all that the store does not decide about, and that the targets have not confirmed. */
  abandon(reason: string): void {
    for (const { move } of this.#all()) move.abandon(reason);
  }

  /** The view has changed: targets may have lost their index. */
  lookAgain(): void {
    const { view } = this.#options;
    for (const { move } of this.#all()) {
      if (!view.isLive(move.target.index, BigInt(move.target.token))) move.targetGone();
    }
  }

  resumed(): void {
    for (const { move } of this.#all()) move.resumed();
  }

  /** From now on nothing is sent. Targets of what has not ended are not told. */
  close(): void {
    for (const key of [...this.#running.keys()]) this.#forget(key);
  }

  #begin(name: MoveName, target: LivePserver, ofPurpose: OfPurpose): Running {
    const { clock, log, times, owned, connect, silenceMs, rounds, onFatal } = this.#options;
    const link = connect({
      target,
      onConnected: () => move.connected(),
      onAnswer: (answer) => move.received(answer),
    });
    const move = new OutgoingMove({
      ...{ clock, log, times, shards: owned, name, silenceMs, rounds, onFatal, ...ofPurpose },
      ...{ windowBytes: WINDOW_BYTES, pieceBytes: PIECE_BYTES, handOverMs: HAND_OVER_MS },
      send: (message) => link.send(message),
    });
    const running = { move, link };
    const key = keyOf(name);
    this.#running.set(key, running);
    void move.ended.then(() => {
      if (this.#running.get(key) === running) this.#forget(key);
    });
    return running;
  }

  #nameOf(purpose: MovePurpose, unit: number, { index, token }: LivePserver): MoveName {
    const { me, owned } = this.#options;
    const { epoch } = owned.heads.of(unit)!.head;
    const before = this.#attempts.get(unit);
    const attempt = before?.epoch === epoch ? before.count + 1 : 1;
    this.#attempts.set(unit, { epoch, count: attempt });
    return { purpose, unit, epoch, source: me, target: { index, token: token.toString() }, attempt };
  }

  #unsettled(purpose?: MovePurpose): OutgoingMove[] {
    const isMeant = (move: OutgoingMove): boolean => purpose === undefined || move.purpose === purpose;
    return this.#all().flatMap(({ move }) => (move.isSettled || !isMeant(move) ? [] : [move]));
  }

  /** Some of what they are told changes the map. */
  #all(): Running[] {
    return [...this.#running.values()];
  }

  #forget(key: string): void {
    const running = this.#running.get(key);
    this.#running.delete(key);
    running?.move.forget();
    running?.link.close();
  }
}

export const keyOf = ({ unit, target: { index, token } }: CopyFor): string => `${unit}/${index}/${token}`;
