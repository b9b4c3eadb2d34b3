/**
 * All moves of units from this pserver to others, to be led there or as backup copies. A unit may be copied for several
 * pservers at a time, but moved only to one.
 *
 * Invariants:
 * - The caller passes each update of a unit to `applied` in the step in which it applies the update. So each target
 *   gets exactly the updates that its copy lacks.
 * - The replica link sends nothing for a unit to a target until the target has its backup copy (`follows`).
 * - Making a backup copy delays requests only while the window has no room for their updates.
 *
 * The move sends `abandon` for an attempt that is given up until the target answers, which may never happen. Until
 * then, the unit can be moved to another pserver. It can also be moved to the same pserver: a newer offer ends the
 * older attempt (core/units/move-target.ts).
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
 * Memory that a move uses here in addition to the unit. A move starts by copying shards of up to this size at once, and
 * this pserver answers no request then: about 3 ms per MiB.
 */
const WINDOW_BYTES = 4 * MiB;
const PIECE_BYTES = MiB;
/** Longest time that updates wait for the target to confirm its sealed copy. */
const HAND_OVER_MS = 1_000;

export interface MoveLinkOptions {
  readonly target: LivePserver;
  /** Called after each connect. */
  readonly onConnected: () => void;
  readonly onAnswer: (answer: MoveAnswer) => void;
}

/** Connects, and reconnects until the connection is closed. */
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
  /** In sync mode only. */
  readonly rounds?: MovedRounds | undefined;
  /** Aborts when this pserver loses its index; all waits then end. */
  readonly lost: AbortSignal;
  readonly withoutSaves: () => Promise<() => void>;
  /** Called when a move to another primary has ended. */
  readonly onSettled: (move: PlannedTarget, outcome: 'kept' | 'moved') => void;
  /** Called about backup copies. Undefined: this pserver makes none. */
  readonly maker: CopyMaker | undefined;
  readonly onFatal: (error: unknown) => void;
}

export interface PlannedTarget {
  readonly unit: number;
  /** Index of the target. */
  readonly to: number;
}

/** A backup copy of a unit on another pserver. */
export interface CopyFor {
  readonly unit: number;
  readonly target: UnitOwner;
}

/**
 * Callbacks at the primary of a unit whose backup copy is being made. They are called after the step of the move, so
 * they may call the moves.
 */
export interface CopyMaker {
  /** The target has all shards: `Outgoing.seal` may be called from now on. */
  caughtUp(copy: CopyFor): void;
  /** The target has its copy as it was at the seal. From now on, the replica link sends it the later updates. */
  copied(copy: CopyFor): void;
  /**
   * The target has not confirmed the sealed copy, or `abandon` was called after `seal`. The machine of the unit's
   * replicas ends the join; the callee then calls `joinFailed`, or `release` if the head already names the copy.
   */
  unconfirmed(copy: CopyFor, reason: string): void;
  /** The move is given up, or the head names the copy. Another move may start. */
  ended(copy: CopyFor): void;
}

interface Running {
  readonly move: OutgoingMove;
  readonly link: MoveConnection;
}

type OfPurpose = Pick<OutgoingMoveOptions, 'position' | 'copy' | 'withoutSaves' | 'onSettled'>;

export class Outgoing {
  readonly #options: OutgoingOptions;
  /** By unit and target. A settled move stays until its target has discarded its copy. */
  readonly #running = new Map<string, Running>();
  /** Unit → attempts of both purposes under the epoch of its head: so two moves never have the same name. */
  readonly #attempts = new Map<number, { readonly epoch: number; readonly count: number }>();

  constructor(options: OutgoingOptions) {
    this.#options = options;
  }

  /** Starts to move a unit whose head names no file. Ends with `onSettled`. */
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
   * Starts a backup copy of a unit for a pserver that does not follow it. `committed`: the position of the updates that
   * are applied now. Ends with `CopyMaker.ended`.
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

  /** Units that are being moved → index of the pserver that is to lead the unit. */
  moving(): Map<number, number> {
    return new Map(this.#unsettled('lead').map(({ unit, target }) => [unit, target.index]));
  }

  /** Unit → indexes of the pservers that are getting a backup copy, or have one that the head does not name yet. */
  making(): Map<number, Set<number>> {
    const making = new Map<number, Set<number>>();
    for (const { unit, target } of this.#unsettled('copy'))
      making.set(unit, (making.get(unit) ?? new Set<number>()).add(target.index));
    return making;
  }

  // ---- requests

  /** Undefined: a request may be answered now. Rejects with `Interrupted` when this pserver loses its index. */
  wait(kind: 'read' | 'update'): Promise<void> | undefined {
    if (this.#running.size === 0) return undefined;
    const busy = this.#unsettled().find((move) => !move.admits(kind));
    return busy && orAborted(busy.settled, this.#options.lost);
  }

  /**
   * The caller calls this in the step in which it applied an update, and awaits the result before it answers.
   * Undefined: it may answer at once. `by`: the units that have applied the update; undefined if all have. `make` is
   * called at once or never.
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

  /** Whether the copy is being made, or is made but the head does not name it yet. */
  isMaking(copy: CopyFor): boolean {
    return this.#running.get(keyOf(copy))?.move.isSettled === false;
  }

  /** Whether the target follows the unit by its replica link, since no copy for it is in progress. */
  follows(copy: CopyFor): boolean {
    // Fast path: called for each unit of each update.
    if (this.#running.size === 0) return true;
    const running = this.#running.get(keyOf(copy));
    return running === undefined || running.move.isCopied;
  }

  /**
   * Ends the copy at the position that is committed now. In the same step, the caller must submit `join` to the machine
   * of the unit's replicas. Returns false if the copy was already abandoned.
   */
  seal(copy: CopyFor, committed: number): boolean {
    return this.#running.get(keyOf(copy))?.move.seal(committed) === true;
  }

  /** No head names the sealed copy, and no proposed transaction will change that. */
  joinFailed(copy: CopyFor): void {
    this.#running.get(keyOf(copy))?.move.joinFailed();
  }

  /** The head names the copy. */
  release(copy: CopyFor): void {
    this.#running.get(keyOf(copy))?.move.release();
  }

  /** This pserver no longer leads the unit. The caller must call this before it removes the shards. */
  releaseAll(unit: number): void {
    for (const { move } of this.#all()) if (move.unit === unit) move.release();
  }

  // ---- all of them

  /** Gives up all moves that the store is not deciding about and whose targets have not confirmed the copy. */
  abandon(reason: string): void {
    for (const { move } of this.#all()) move.abandon(reason);
  }

  /** The view has changed: targets may have lost their index. */
  recheck(): void {
    const { view } = this.#options;
    for (const { move } of this.#all()) {
      if (!view.isLive(move.target.index, BigInt(move.target.token))) move.targetGone();
    }
  }

  resumed(): void {
    for (const { move } of this.#all()) move.resumed();
  }

  /** Stops sending. The targets of unfinished moves are not notified. */
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

  /** A copy of the list: calls to the moves may change the map. */
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
