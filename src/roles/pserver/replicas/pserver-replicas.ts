/**
 * All copies of units on a pserver, both of units that it leads and of units that others lead (docs/copies.md). The
 * machines of the units decide, and this class carries out their effects.
 */
import { unreachable } from '../../../base/assert.ts';
import { isPaddletError } from '../../../base/errors.ts';
import { asSuspended } from '../../../cluster/as-suspended.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { HeldLease } from '../../../cluster/ownership.ts';
import type { PlacementView } from '../../../cluster/placement/placement-view.ts';
import type { DecidedHead, StoredHead } from '../../../cluster/placement/propose-heads.ts';
import { createSignal } from '../../../cluster/waiting.ts';
import type { ReplicaEffect } from '../../../core/replicas/events.ts';
import { isIn } from '../../../core/replicas/messages.ts';
import type { LinkFrame } from '../../../core/replicas/peer-link.ts';
import { Replica } from '../../../core/replicas/replica.ts';
import type { UnitOwner } from '../../../core/units/move-messages.ts';
import type { TrainedSpec } from '../../../tensor/optimizer.ts';
import type { OwnedHead } from '../held/owned-heads.ts';
import type { OwnedShards } from '../held/owned-shards.ts';
import type { CopiedRounds } from '../held/unit-rounds.ts';
import type { WorkTimes } from '../metrics.ts';
import type { CopyActions } from '../placement/duties.ts';
import type { Outgoing } from '../transfer/outgoing.ts';
import type { SharedUpdate } from '../update/shared-update.ts';
import { CommittedUpdates } from './committed-updates.ts';
import { CopiedUnits } from './copied-units.ts';
import { CopyDigests } from './copy-digests.ts';
import { HandOvers } from './hand-overs.ts';
import { HeadProposals } from './head-proposals.ts';
import { Inboxes } from './inboxes.ts';
import { Joins } from './joins.ts';
import { LastCopies } from './last-copies.ts';
import { Leading } from './leading.ts';
import { LinksHost } from './links-host.ts';
import { type MachineStep, UnitMachines } from './machines.ts';
import type { ConnectPeer } from './peer-connections.ts';
import { Placing } from './placing.ts';
import { Presence } from './presence.ts';
import { Readiness } from './readiness.ts';
import { ReceivedCopies } from './received-copies.ts';
import type { ReplicaObserver } from './replica-observer.ts';
import type { ReplicatedJob } from './replicate-codec.ts';
import { roomFor } from './room.ts';
import { KnownHeads, SeenHeads, unitHeadOf } from './seen-heads.ts';
import type { ServedReplicas } from './served-replicas.ts';

export interface PserverReplicasOptions {
  readonly context: RoleContext;
  readonly me: UnitOwner;
  readonly lease: Pick<HeldLease, 'isHeld' | 'lost' | 'onResume'>;
  readonly owned: OwnedShards;
  readonly spec: TrainedSpec;
  readonly job: ReplicatedJob;
  readonly silenceMs: number;
  readonly minInSync: number;
  /** Maximum number of pservers of the job. */
  readonly mostPservers: number;
  readonly view: Pick<PlacementView, 'units' | 'live' | 'changed' | 'version'>;
  readonly connect: ConnectPeer<SharedUpdate>;
  readonly observer: ReplicaObserver;
  readonly times: WorkTimes;
  readonly withoutSaves: () => Promise<() => void>;
  /** Defined in sync mode. */
  readonly rounds?: CopiedRounds | undefined;
  /** This pserver now leads the unit, with every acknowledged update. */
  readonly onLed: (owned: OwnedHead) => void;
  /** A copy was freed, or a hand-over or a join has ended. So other work may have become possible. */
  readonly onChanged: () => void;
  readonly onCopyEnded: (to: { readonly unit: number; readonly to: number }, outcome: 'kept' | 'moved') => void;
  readonly onRecovery: (number: number) => void;
  readonly onFatal: (error: unknown) => void;
}

const BATCHES_IN_FLIGHT = 4;

type Step = MachineStep<SharedUpdate>;
type Effect = ReplicaEffect<SharedUpdate>;

export class PserverReplicas implements CopyActions, ServedReplicas {
  readonly me: UnitOwner;
  readonly job: ReplicatedJob;
  readonly owned: OwnedShards;
  /** Copies of units that other pservers lead. */
  readonly copied: CopiedUnits;
  readonly machines: UnitMachines<SharedUpdate>;
  readonly placing: Placing;
  readonly joins: Joins;
  readonly keeper: ReceivedCopies;
  readonly digests: CopyDigests;
  readonly inboxes: Inboxes;
  readonly lastCopies: LastCopies;
  /** Notified after each turn. */
  readonly changed = createSignal();
  readonly #options: PserverReplicasOptions;
  readonly #known = new KnownHeads();
  readonly #presence: Presence;
  readonly #host: LinksHost<SharedUpdate>;
  readonly #committed: CommittedUpdates;
  readonly #proposals: HeadProposals;
  readonly #seen: SeenHeads;
  readonly #handOvers: HandOvers;
  readonly #leading: Leading;
  readonly #readiness: Readiness;
  readonly #stopped = new AbortController();
  /** Ends all waits when this pserver stops or loses its index. */
  readonly #ending: AbortSignal;
  #copies: Outgoing | undefined;

  constructor(options: PserverReplicasOptions) {
    this.#options = options;
    const { context, me, owned, job, silenceMs, minInSync, mostPservers, view, lease, spec, rounds } = options;
    const { clock, log } = context.host;
    const { observer, times, onFatal } = options;
    this.me = me;
    this.job = job;
    this.owned = owned;
    this.#ending = AbortSignal.any([this.#stopped.signal, lease.lost]);
    this.copied = new CopiedUnits({
      ...{ log, owned },
      timeline: rounds && (() => rounds.timeline()),
    });
    this.digests = new CopyDigests({ clock, spec, owned, copied: this.copied });
    this.machines = new UnitMachines({
      ...{ clock, me, silenceMs, minInSync, onFatal },
      isHeld: () => lease.isHeld(),
      isGone: (owner) => this.#presence.isGone(owner),
      onTurn: (steps) => this.#turn(steps),
    });
    const { machines, copied } = this;
    this.lastCopies = new LastCopies({ context, me, machines, copied });
    this.#presence = new Presence(view);
    this.#host = new LinksHost({
      ...{ clock, log, times, silenceMs, maxInFlight: BATCHES_IN_FLIGHT, onFatal, connect: options.connect },
      addressOf: (peer) => this.#presence.addressOf(peer),
      units: {
        connected: (peer) => machines.stepUnitsOf(peer, { type: 'connected', to: peer }),
        heard: (peer) => machines.stepUnitsOf(peer, { type: 'heard', from: peer }),
        answered: (link, answer) =>
          machines.step(
            link.unit,
            answer === undefined ? { type: 'connected', to: link.member } : { type: 'answer', link, answer },
          ),
      },
    });
    this.inboxes = new Inboxes({
      room: roomFor(job.units, mostPservers),
      hasCopy: (unit) => machines.of(unit) !== undefined,
      onFrame: ({ link, frame }: LinkFrame<SharedUpdate>) => machines.step(link.unit, { type: 'frame', link, frame }),
    });
    this.placing = new Placing({ owned, host: this.#host, machines });
    this.#committed = new CommittedUpdates({
      ...{ of: job, owned, copied, times, rounds },
      onApplied: (payload, units) => this.#applied(payload, units),
      onEach: (units) => {
        for (const one of [this.digests, observer]) one.applied(units);
      },
      onUnfit: (units) => {
        for (const unit of units) this.#leading.unfit(unit);
      },
    });
    this.#proposals = new HeadProposals({
      ...{ heads: owned.heads, known: this.#known, onFatal },
      onMade: (kind, unit) => observer.made(kind, unit),
      onDecided: (decided) => this.#decided(decided),
    });
    this.#seen = new SeenHeads({
      ...{ context, lost: lease.lost, view, known: this.#known, machines, onFatal, onRecovery: options.onRecovery },
      onSeen: (head, isPrimaryAlive) => this.#checkCopy(head, isPrimaryAlive),
    });
    this.joins = new Joins({
      machines,
      copies: () => this.#copies!,
      onEnded: ({ unit, target }, isMember) => {
        observer.joined(isMember);
        options.onCopyEnded({ unit, to: target.index }, isMember ? 'moved' : 'kept');
      },
    });
    this.keeper = new ReceivedCopies({
      ...{ machines, copied },
      onKept: (unit) => this.#seen.begun(unit),
      discard: (unit) => this.#leading.discard(unit),
    });
    const { withoutSaves, onChanged } = options;
    this.#handOvers = new HandOvers({ machines, withoutSaves, onEnded: onChanged, onFatal });
    this.#readiness = new Readiness({
      ...{ machines, owned, rounds, changed: this.changed, ending: this.#ending },
      ...{ placed: this.placing.updates, handOvers: this.#handOvers },
    });
    this.#leading = new Leading({
      ...{ ...options, machines, copied, known: this.#known, host: this.#host, inboxes: this.inboxes },
      ...{ placed: this.placing.updates, handOvers: this.#handOvers, copies: () => this.#copies! },
    });
  }

  /** Attaches the moves, which make copies for other pservers. */
  attach(copies: Outgoing): void {
    this.#copies = copies;
  }

  /** From now on, this pserver follows the view. */
  start(): void {
    const { owned, lease } = this.#options;
    for (const one of owned.heads.all()) this.taken(one);
    lease.onResume(() => this.machines.stepAll({ type: 'resumed' }));
    this.#follow().catch((error: unknown) => {
      if (!isPaddletError(error, 'Interrupted')) this.#options.onFatal(error);
    });
  }

  /** This pserver leads a unit alone, after loading it from a file. Call this when the unit is owned. */
  taken({ unit, head, modRevision }: OwnedHead): void {
    const { me, silenceMs, minInSync } = this.#options;
    this.#known.learn({ unit, head, modRevision });
    const stored = { unit, head, modRevision };
    this.machines.add(unit, Replica.taken(unitHeadOf(stored), 0, { unit, me, silenceMs, minInSync }));
    this.#seen.begun(unit);
  }

  // ---- requests

  wait(kind: 'read' | 'update'): Promise<void> | undefined {
    return this.#readiness.wait(kind);
  }

  quiet(): Promise<void> {
    return this.#readiness.quiet();
  }

  alone(units?: readonly number[]): Promise<void> {
    return this.#readiness.alone(units);
  }

  /** The newest head that is known here. */
  headOf(unit: number): OwnedHead | undefined {
    return this.#known.of(unit);
  }

  // ---- changes of the copies

  joining(): ReadonlyMap<number, ReadonlySet<number>> {
    return this.joins.making();
  }

  handingOver(): ReadonlyMap<number, number> {
    return this.#handOvers.to();
  }

  join(unit: number, target: Parameters<Joins['begin']>[1]): void {
    this.joins.begin(unit, target);
  }

  handOver(unit: number, to: UnitOwner): void {
    this.#handOvers.begin(unit, to);
  }

  remove(unit: number, from: UnitOwner): void {
    this.machines.step(unit, { type: 'gone', owner: from });
  }

  hasMembers(): boolean {
    return this.#readiness.hasMembers();
  }

  isTakingOver(): boolean {
    return this.#readiness.isTakingOver();
  }

  /** The unit will be loaded from a file, so a copy here is useless. */
  free(unit: number): void {
    if (this.machines.of(unit) !== undefined) this.#leading.discard(unit);
  }

  /** After this, nothing is sent, answered or applied. */
  close(): void {
    this.#stopped.abort();
    this.machines.close();
    this.#host.close();
    this.inboxes.close();
    this.digests.close();
    this.#options.observer.close();
    this.placing.close();
    this.#handOvers.close();
  }

  // ---- turns

  #turn(steps: readonly Step[]): void {
    const served: number[] = [];
    const stepped = new Set<number>();
    for (const step of steps) {
      this.#carryOut(step, served);
      stepped.add(step.unit);
    }
    this.#committed.apply();
    for (const { unit, effects } of steps) {
      for (const effect of effects)
        if (effect.type === 'answer' && this.machines.of(unit) !== undefined)
          this.inboxes.answered(effect.link, effect.answer);
    }
    for (const unit of stepped) this.inboxes.keep(unit, this.machines.of(unit)?.staged() ?? []);
    this.inboxes.giveAnswers();
    for (const unit of served) this.#leading.serve(unit);
    this.joins.resume();
    this.#handOvers.settle();
    this.#proposals.send();
    this.changed.notify();
  }

  #carryOut({ unit, effects, peers }: Step, served: number[]): void {
    this.#passToLinks(unit, effects, peers);
    for (const effect of effects) {
      switch (effect.type) {
        case 'send':
        case 'answer':
          break;
        case 'commit':
          this.#committed.add(unit, effect.update.payload);
          break;
        case 'drop':
          this.placing.updates.dropped(unit, effect.names);
          this.#options.observer.dropped(effect.names.length);
          break;
        case 'propose':
          this.#proposals.add(unit, effect.proposal);
          break;
        case 'look':
          this.#seen.look(unit);
          break;
        case 'serve':
          served.push(unit);
          break;
        case 'stepDown':
          this.#committed.apply();
          this.#leading.stepDown(unit);
          break;
        case 'discard':
          this.#committed.apply();
          this.#leading.discard(unit);
          break;
        case 'joinFailed':
          this.joins.joinFailed(unit, effect.joiner);
          break;
        default:
          unreachable(effect);
      }
    }
  }

  /** While a copy is being made, it gets updates only from the move that makes it. */
  #passToLinks(unit: number, effects: readonly Effect[], peers: readonly UnitOwner[]): void {
    const follows = (target: UnitOwner): boolean => this.#copies!.follows({ unit, target });
    this.#host.stepped(
      unit,
      effects.filter((effect) => effect.type !== 'send' || follows(effect.link.member)),
      peers.every(follows) ? peers : peers.filter(follows),
    );
  }

  #applied(payload: SharedUpdate, units: readonly number[]): void {
    const wait = this.#copies!.applied(() => payload, units);
    this.placing.updates.applied(payload, units, wait?.catch(asSuspended));
  }

  // ---- the store

  #decided({ from, outcome, now }: DecidedHead): void {
    this.machines.step(now.unit, { type: 'decided', from, ...outcome });
    if (this.machines.of(now.unit)?.role === 'leading') this.joins.changed(now.unit, now.head.inSync);
    this.#options.onChanged();
  }

  async #follow(): Promise<never> {
    const { view } = this.#options;
    for (;;) {
      const seen = view.version();
      for (const peer of this.#presence.look()) this.#gone(peer);
      this.#host.addressesChanged();
      this.#seen.readView();
      await view.changed.until(() => view.version() !== seen || undefined, this.#ending);
    }
  }

  #gone(peer: UnitOwner): void {
    this.machines.stepUnitsOf(peer, { type: 'gone', owner: peer });
    this.#host.gone(peer);
    this.inboxes.gone(peer);
  }

  /**
   * Other processes count on a copy that a head names. If the copy is not here, it cannot take over. So this process
   * fails, and another process takes the unit.
   */
  #checkCopy({ unit, head }: StoredHead, isPrimaryAlive: boolean): void {
    const { me } = this.#options;
    if (isPrimaryAlive || this.machines.of(unit) !== undefined || !isIn(head.inSync, me)) return;
    this.#leading.lost(unit);
  }
}
