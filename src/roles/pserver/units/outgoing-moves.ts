/** All units that this pserver hands over. Requests ask here whether they may be answered. */
import type { Clock, Log } from '../../../base/seams.ts';
import type { LivePserver, PlacementView } from '../../../cluster/placement/placement-view.ts';
import { orAborted } from '../../../cluster/waiting.ts';
import type { MoveAnswer } from '../../../core/units/move-messages.ts';
import { createIdRouter } from '../../../tensor/id-router.ts';
import type { TrainedSpec } from '../../../tensor/optimizer.ts';
import type { OwnedShards } from '../held/owned-shards.ts';
import type { WorkTimes } from '../metrics.ts';
import type { MovedRounds } from '../unit-rounds.ts';
import type { UnitParts } from '../update/parts.ts';
import { SharedUpdate } from '../update/shared-update.ts';
import type { Update } from '../update/update.ts';
import type { MoveConnection } from './move-connection.ts';
import type { MoveNames } from './move-names.ts';
import { OutgoingMove } from './outgoing-move.ts';

export interface MoveLinkOptions {
  readonly target: LivePserver;
  /** After each time that the connection is made. */
  readonly onConnected: () => void;
  readonly onAnswer: (answer: MoveAnswer) => void;
}

/** Connects, and connects again until it is closed. */
export type ConnectMove = (options: MoveLinkOptions) => MoveConnection;

export interface OutgoingMovesOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly times: WorkTimes;
  readonly names: MoveNames;
  readonly owned: OwnedShards;
  readonly spec: TrainedSpec;
  readonly job: { readonly units: number; readonly shards: number };
  readonly view: Pick<PlacementView, 'isLive'>;
  readonly connect: ConnectMove;
  readonly windowBytes: number;
  readonly pieceBytes: number;
  readonly silenceMs: number;
  readonly handOverMs: number;
  /** In sync mode. */
  readonly rounds?: MovedRounds | undefined;
  /** Aborts when the index is lost: then nothing is waited for. */
  readonly lost: AbortSignal;
  readonly withoutSaves: () => Promise<() => void>;
  /** Of moves that hand over. */
  readonly onSettled: (move: PlannedTarget, outcome: 'kept' | 'moved') => void;
  readonly onFatal: (error: unknown) => void;
}

export interface PlannedTarget {
  readonly unit: number;
  /** Index of the target. */
  readonly to: number;
}

interface Running {
  readonly move: OutgoingMove;
  readonly link: MoveConnection;
}

export class OutgoingMoves {
  readonly #options: OutgoingMovesOptions;
  readonly #of: UnitParts;
  /** By unit. Those that are settled stay until the target has nothing left of them. */
  readonly #running = new Map<number, Running>();

  constructor(options: OutgoingMovesOptions) {
    this.#options = options;
    const { spec, job } = options;
    this.#of = { spec, ...job, router: createIdRouter({ shards: job.shards }) };
  }

  /** Begins to hand over a unit, whose head names no file. Settles in `onSettled`. */
  begin(unit: number, target: LivePserver): void {
    this.#forget(unit);
    const name = this.#options.names.next('lead', unit, target);
    const link = this.#options.connect({
      target,
      onConnected: () => move.connected(),
      onAnswer: (answer) => move.received(answer),
    });
    const move = new OutgoingMove({
      ...this.#options,
      ...{ name, shards: this.#options.owned, send: (message) => link.send(message) },
      onSettled: (outcome) => this.#options.onSettled({ unit, to: target.index }, outcome),
    });
    const running = { move, link };
    this.#running.set(unit, running);
    void move.ended.then(() => {
      if (this.#running.get(unit) === running) this.#running.delete(unit);
      link.close();
    });
  }

  /** Unit → index of its target, of moves that are not settled. */
  moving(): Map<number, number> {
    return new Map(this.#unsettled().map((move) => [move.unit, move.target.index]));
  }

  /** Undefined: a request may be answered now. Rejects with `Interrupted` when the index is lost. */
  wait(kind: 'read' | 'update'): Promise<void> | undefined {
    if (this.#running.size === 0) return undefined;
    const busy = this.#unsettled().find((move) => !move.admits(kind));
    return busy && orAborted(busy.settled, this.#options.lost);
  }

  /**
   * An update was applied just now, by the given units or all. To be awaited before it is answered; undefined: it may
   * be answered at once. `make` is called at once or never.
   */
  applied(make: () => Update, by?: readonly number[]): Promise<void> | undefined {
    if (this.#running.size === 0) return undefined;
    const moves = this.#unsettled().filter(({ unit }) => by === undefined || by.includes(unit));
    if (moves.length === 0) return undefined;
    const update = new SharedUpdate({ of: this.#of, update: make(), units: moves.map(({ unit }) => unit) });
    const waits = moves.flatMap((move) => move.applied(update) ?? []);
    if (waits.length === 0) return undefined;
    const all = Promise.all(waits).then(() => {});
    return orAborted(all, this.#options.lost);
  }

  /** Of all that is not under decision by the store. */
  abandon(reason: string): void {
    for (const move of this.#unsettled()) move.abandon(reason);
  }

  /** The view has changed: targets may be gone. */
  lookAgain(): void {
    const { view } = this.#options;
    for (const { move } of [...this.#running.values()]) {
      if (!view.isLive(move.target.index, BigInt(move.target.token))) move.targetGone();
    }
  }

  resumed(): void {
    for (const { move } of [...this.#running.values()]) move.resumed();
  }

  /** Nothing is sent any more, and what has not ended is not told to its target. */
  close(): void {
    for (const unit of [...this.#running.keys()]) this.#forget(unit);
  }

  #unsettled(): OutgoingMove[] {
    return [...this.#running.values()].flatMap(({ move }) => (move.isSettled ? [] : [move]));
  }

  #forget(unit: number): void {
    const running = this.#running.get(unit);
    running?.move.forget();
    running?.link.close();
    this.#running.delete(unit);
  }
}
