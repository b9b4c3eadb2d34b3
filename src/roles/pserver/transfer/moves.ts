/**
 * All moves of units from and to this pserver, in sync and async mode (docs/copies.md). The state machines decide about
 * each move; this class connects them with the cluster and with the requests.
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
  /** Takes a message of a source. Throws `BadMessage`. */
  received(message: FromSource): Promise<readonly MoveAnswer[]>;
  /**
   * Undefined unless a unit is being handed over. The caller awaits it right before it applies or answers a request,
   * and checks the request again, until `wait` returns undefined. Rejects with `Suspended`.
   */
  wait(kind: 'read' | 'update'): Promise<void> | undefined;
  /**
   * The caller calls this in the step in which it applied an update, and awaits the result before it answers. `make` is
   * called at once or never. `by`: the units that have applied the update; undefined if all have.
   */
  applied(make: () => Update, by?: readonly number[]): Promise<void> | undefined;
  /** Whether the unit is being moved here and is not led yet: this pserver must not load it from a file. */
  isComing(unit: number): boolean;
  /** Abandons all undecided moves, because the last checkpoint is about to be taken. */
  keepAll(reason: string): void;
  /** The conditions for planning have changed, such as whether this pserver may move units. */
  recheck(): void;
  /**
   * Hands over all units and takes none. Resolves to true when no unit is left. Resolves to false if the units cannot
   * be handed over, or not before the signal aborts: then this pserver stays.
   */
  leave(signal: AbortSignal): Promise<boolean>;
  /** Abandons undecided moves and starts no further ones. Resolves when all moves have ended. */
  stop(): Promise<void>;
  /** Drops all moves at once: this process ends without a last save. */
  close(): void;
}

export interface BackupCopies {
  readonly maker: CopyMaker;
  readonly keeper: CopyKeeper;
  /** Called once, before any move starts, with the copies that this pserver makes for others. */
  readonly attach?: (outgoing: Outgoing) => void;
}

export interface MovesOptions {
  readonly context: RoleContext;
  readonly me: UnitOwner;
  readonly fence: ShowReplicas['fence'];
  readonly lease: Pick<HeldLease, 'isHeld' | 'lost' | 'onResume'>;
  readonly owned: OwnedShards;
  readonly leaseTtlMs: number;
  /** In sync mode only. */
  readonly rounds?: MovedRounds;
  readonly view: Pick<PlacementView, 'changed' | 'version' | 'units' | 'live' | 'isLive' | 'isLoaded'>;
  /** A change of the records also notifies `view.changed`. */
  readonly records: Pick<PserverRecords, 'of' | 'bytesOf' | 'isLoaded' | 'version'>;
  readonly connect: ConnectMove;
  /** Undefined: units do not have backup copies. */
  readonly backups?: BackupCopies | undefined;
  /** The copies that the planner aims for. Undefined: each unit has one copy, and the planner only moves units. */
  readonly duties?: CopyPlanned | undefined;
  readonly metrics: Pick<PserverMetrics, 'moved' | 'times'>;
  readonly withoutSaves: () => Promise<() => void>;
  /** Whether this pserver no longer applies updates: its last checkpoint is being taken or has been taken. */
  readonly isFrozen: () => boolean;
  /** Whether the unit is being loaded from a file. */
  readonly isTaking: (unit: number) => boolean;
  /** Called once this pserver leads a unit that was moved to it. */
  readonly onGained: () => void;
  /** Called when this pserver has given up a copy: it may now take the unit in another way. */
  readonly onGivenUp: () => void;
  /** Called with the recovery number under which a unit is moved here. */
  readonly onRecovery: (number: number) => void;
  readonly onFatal: (error: unknown) => void;
}

export interface CopyPlanned {
  /** Number of copies of each unit, including the primary's. */
  readonly replicas: number;
  readonly actions: CopyActions;
  /** Whether a head names a copy on this pserver: while it does, this pserver cannot leave. */
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
      // The lease is lost or this process stops; other code handles both.
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
        this.recheck();
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

  /** The head names the copy for a pserver now, or the copy was given up. */
  copyEnded(copy: { readonly to: number }, outcome: 'kept' | 'moved'): void {
    this.#planner.settled(copy, outcome);
    this.recheck();
  }

  recheck(): void {
    this.#version += 1;
    this.#changed.notify();
  }

  async leave(signal: AbortSignal): Promise<boolean> {
    const { owned, lease, isFrozen, rounds, duties } = this.#options;
    const leadsSome = (): boolean =>
      owned.heads.units().length > 0 || rounds?.hasOutdated() === true || duties?.hasMembers() === true;
    this.#isLeaving = true;
    this.#incoming.giveUp('it is leaving');
    this.recheck();
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
    // If this pserver loses its index, the next owner of the index deals with undecided moves.
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
    this.recheck();
    this.#inBackground(showReplicas({ context, fence, grouping: shards.job }, [owned]));
  }

  async #follow(): Promise<never> {
    const { view, records } = this.#options;
    const version = (): number => view.version() + records.version();
    for (;;) {
      const seen = version();
      this.#incoming.recheck();
      this.outgoing.recheck();
      this.recheck();
      await view.changed.until(() => version() !== seen || undefined, this.#stopped.signal);
    }
  }

  #resumed(): void {
    this.#incoming.resumed();
    this.outgoing.resumed();
    this.recheck();
  }

  #inBackground(work: Promise<unknown>): void {
    work.catch(this.#onFatal);
  }
}

function falseIfInterrupted(error: unknown): false {
  if (isPaddletError(error, 'Interrupted')) return false;
  throw error;
}
