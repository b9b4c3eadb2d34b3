/**
 * All moves of units from and to this process, in both modes (docs/copies.md). The machines decide about each move;
 * this is what connects them with the cluster and with the requests.
 */
import { isPaddletError } from '../../../base/errors.ts';
import { asSuspended } from '../../../cluster/as-suspended.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { HeldLease } from '../../../cluster/ownership.ts';
import type { LivePserver, PlacementView } from '../../../cluster/placement/placement-view.ts';
import type { PserverRecords } from '../../../cluster/placement/pserver-records.ts';
import { type ShowReplicas, showReplicas } from '../../../cluster/placement/show-replicas.ts';
import { createSignal } from '../../../cluster/waiting.ts';
import type { MoveAnswer, UnitOwner } from '../../../core/units/move-messages.ts';
import type { OwnedHead } from '../held/owned-heads.ts';
import type { OwnedShards } from '../held/owned-shards.ts';
import type { MovedRounds } from '../held/unit-rounds.ts';
import type { PserverMetrics } from '../metrics.ts';
import { type CopyActions, copyDuties, moveDuties } from '../placement/duties.ts';
import { Planner } from '../placement/planner.ts';
import type { Update } from '../update/update.ts';
import type { CopyKeeper, FromSource } from './incoming-move.ts';
import { IncomingMoves } from './incoming-moves.ts';
import { type ConnectMove, type CopyMaker, Outgoing } from './outgoing.ts';

export interface Moves {
  /** What a source sends here. Throws `BadMessage`. */
  received(message: FromSource): Promise<readonly MoveAnswer[]>;
  /**
   * A unit is being handed over: to be awaited right before a request is applied or answered, until it is undefined;
   * then the request is judged again. Rejects with `Suspended`.
   */
  wait(kind: 'read' | 'update'): Promise<void> | undefined;
  /**
   * An update was applied just now, and nothing has happened since. To be awaited before it is answered. `make` is
   * called at once or never. `by`: the units that have applied it, if not all have.
   */
  applied(make: () => Update, by?: readonly number[]): Promise<void> | undefined;
  /** A unit that is coming and not led yet: it must not be loaded from a file. */
  isComing(unit: number): boolean;
  /** What can still stay where it is does: the last checkpoint is about to be taken. */
  keepAll(reason: string): void;
  /** The units that this pserver leads may change now, or may not any more. */
  lookAgain(): void;
  /**
   * Hands over all units and takes none. True when none is left; false when no pserver takes them before the signal
   * aborts: then it stays.
   */
  leave(signal: AbortSignal): Promise<boolean>;
  /** Abandons what is not decided, and begins nothing more; resolves when nothing is under way. */
  stop(): Promise<void>;
  /** Ends at once, whatever is under way: this process ends without a last save. */
  close(): void;
}

export interface BackupCopies {
  readonly maker: CopyMaker;
  readonly keeper: CopyKeeper;
  /** Called first, with the copies that are made for others. */
  readonly attach?: (outgoing: Outgoing) => void;
}

export interface MovesOptions {
  readonly context: RoleContext;
  readonly me: UnitOwner;
  readonly fence: ShowReplicas['fence'];
  readonly lease: Pick<HeldLease, 'isHeld' | 'lost' | 'onResume'>;
  readonly owned: OwnedShards;
  readonly leaseTtlMs: number;
  /** In sync mode. */
  readonly rounds?: MovedRounds;
  readonly view: Pick<PlacementView, 'changed' | 'version' | 'units' | 'live' | 'isLive' | 'isLoaded'>;
  /** A change of the records notifies the view. */
  readonly records: Pick<PserverRecords, 'of' | 'bytesOf' | 'isLoaded' | 'version'>;
  readonly connect: ConnectMove;
  /** Undefined: no unit has a backup copy. */
  readonly backups?: BackupCopies | undefined;
  /** Which copies there are to be. Undefined: units have one, and are moved. */
  readonly duties?: CopyPlanned | undefined;
  readonly metrics: Pick<PserverMetrics, 'moved' | 'times'>;
  readonly withoutSaves: () => Promise<() => void>;
  /** Nothing is applied any more: the last checkpoint is being taken or has been. */
  readonly isFrozen: () => boolean;
  /** Being loaded from a file. */
  readonly isTaking: (unit: number) => boolean;
  /** A unit has come. */
  readonly onGained: () => void;
  /** A copy was given up: the unit may be taken in another way. */
  readonly onGivenUp: () => void;
  /** The recovery number under which a unit may come. */
  readonly onRecovery: (number: number) => void;
  readonly onFatal: (error: unknown) => void;
}

export interface CopyPlanned {
  /** Of each unit, that of its primary included. */
  readonly replicas: number;
  readonly actions: CopyActions;
  /** A head names a copy that is here: who leaves waits until none does. */
  readonly hasMembers: () => boolean;
}

export class PserverMoves implements Moves {
  readonly #options: MovesOptions;
  readonly #incoming: IncomingMoves;
  readonly outgoing: Outgoing;
  readonly #planner: Planner;
  readonly #changed = createSignal();
  readonly #stopped = new AbortController();
  readonly #onFatal: (error: unknown) => void;
  #version = 0;
  #isLeaving = false;
  #isStopping = false;

  constructor(options: MovesOptions) {
    this.#options = options;
    const { context, lease, leaseTtlMs, owned, me } = options;
    const { clock, log } = context.host;
    const onFatal = (error: unknown): void => {
      // Given up because the lease is lost or this process is stopped, which is known already.
      if (!isPaddletError(error, 'Interrupted')) options.onFatal(error);
    };
    this.#onFatal = onFatal;
    const shared = { ...options, clock, log, lost: lease.lost, silenceMs: leaseTtlMs, onFatal };
    this.#incoming = new IncomingMoves({
      ...{ ...shared, keeper: options.backups?.keeper },
      stepped: this.#changed,
      refusal: (unit) => this.#refusal(unit),
      onLed: (unit) => this.#led(unit),
    });
    this.outgoing = new Outgoing({
      ...{ ...shared, times: options.metrics.times, maker: options.backups?.maker },
      onSettled: (move, outcome) => {
        this.#planner.settled(move, outcome);
        options.metrics.moved(outcome);
        this.lookAgain();
      },
    });
    options.backups?.attach?.(this.outgoing);
    const { heads } = owned;
    const moving = (): Map<number, number> => this.outgoing.moving();
    const begin = (unit: number, target: LivePserver): void => this.outgoing.move(unit, target);
    this.#planner = new Planner({
      ...{ ...shared, me: me.index, changed: this.#changed, version: () => this.#version },
      duties: options.duties ? copyDuties({ heads, ...options.duties }) : moveDuties({ heads, moving, begin }),
      isLeaving: () => this.#isLeaving,
      mayMove: () => !this.#isStopping && lease.isHeld() && !options.isFrozen(),
    });
    lease.onResume(() => this.#resumed());
    this.#inBackground(this.#follow());
    this.#inBackground(this.#planner.run(this.#stopped.signal));
  }

  received(message: FromSource): Promise<readonly MoveAnswer[]> {
    return this.#incoming.received(message);
  }

  wait(kind: 'read' | 'update'): Promise<void> | undefined {
    return this.outgoing.wait(kind)?.catch(asSuspended);
  }

  applied(make: () => Update, by?: readonly number[]): Promise<void> | undefined {
    return this.outgoing.applied(make, by)?.catch(asSuspended);
  }

  isComing(unit: number): boolean {
    return this.#incoming.isComing(unit);
  }

  keepAll(reason: string): void {
    this.outgoing.abandon(reason);
    this.#incoming.giveUp(reason);
  }

  /** A copy for a process has come into the head, or its making has ended otherwise. */
  copyEnded(copy: { readonly to: number }, outcome: 'kept' | 'moved'): void {
    this.#planner.settled(copy, outcome);
    this.lookAgain();
  }

  lookAgain(): void {
    this.#version += 1;
    this.#changed.notify();
  }

  async leave(signal: AbortSignal): Promise<boolean> {
    const { owned, lease, isFrozen, rounds, duties } = this.#options;
    const leadsSome = (): boolean =>
      owned.heads.units().length > 0 || rounds?.hasOutdated() === true || duties?.hasMembers() === true;
    this.#isLeaving = true;
    this.#incoming.giveUp('it is leaving');
    this.lookAgain();
    const look = (): boolean | undefined => {
      if (!leadsSome() && this.#incoming.count === 0) return true;
      return isFrozen() || !this.#planner.hasTaker() ? false : undefined;
    };
    const ending = AbortSignal.any([signal, lease.lost, this.#stopped.signal]);
    const hasLeft = await this.#changed.until(look, ending).catch(falseIfInterrupted);
    this.#isLeaving = hasLeft;
    return hasLeft;
  }

  async stop(): Promise<void> {
    const { lost } = this.#options.lease;
    this.#isStopping = true;
    this.keepAll('this pserver stops');
    const isOver = (): boolean => this.outgoing.moving().size === 0 && this.#incoming.count === 0;
    // Where the index is lost, what is not decided concerns the next owner of it.
    await this.#changed.until(() => isOver() || undefined, lost).catch(falseIfInterrupted);
    this.close();
  }

  close(): void {
    this.#isStopping = true;
    this.#stopped.abort();
    this.outgoing.close();
  }

  #refusal(unit: number): string | undefined {
    const { lease, isFrozen, isTaking } = this.#options;
    if (this.#isStopping) return 'it is stopping';
    if (this.#isLeaving) return 'it is leaving';
    if (!lease.isHeld()) return 'it is cut off from the store';
    if (isFrozen()) return 'its last checkpoint is being taken';
    return isTaking(unit) ? 'it is loading the unit' : undefined;
  }

  #led(owned: OwnedHead): void {
    const { context, fence, onGained, owned: shards } = this.#options;
    onGained();
    this.lookAgain();
    this.#inBackground(showReplicas({ context, fence, grouping: shards.job }, [owned]));
  }

  async #follow(): Promise<never> {
    const { view, records } = this.#options;
    const version = (): number => view.version() + records.version();
    for (;;) {
      const seen = version();
      this.#incoming.lookAgain();
      this.outgoing.lookAgain();
      this.lookAgain();
      await view.changed.until(() => version() !== seen || undefined, this.#stopped.signal);
    }
  }

  #resumed(): void {
    this.#incoming.resumed();
    this.outgoing.resumed();
    this.lookAgain();
  }

  #inBackground(work: Promise<unknown>): void {
    work.catch(this.#onFatal);
  }
}

function falseIfInterrupted(error: unknown): false {
  if (isPaddletError(error, 'Interrupted')) return false;
  throw error;
}
