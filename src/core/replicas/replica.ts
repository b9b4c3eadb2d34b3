/**
 * One copy of a unit: its updates, and what it is by the head, primary or backup (docs/copies.md). Pure: time is an
 * argument, effects are carried out in their order. The store alone decides which copy leads.
 */
import { unreachable } from '../../base/assert.ts';
import { isSameOwner, type UnitOwner } from '../units/move-messages.ts';
import { Backup, type Seen } from './backup.ts';
import { EarlyBegins } from './early-begin.ts';
import type { CopyMaker, ReplicaEffect, ReplicaEvent, ReplicaOptions, ReplicaState, UnitHead } from './events.ts';
import { isIn, type LinkName, type PlacedUpdate, type ReplicaFrame, type UpdateName } from './messages.ts';
import { Primary } from './primary.ts';
import { UpdateLog } from './update-log.ts';

const NO_PEERS: readonly UnitOwner[] = [];

export class Replica<P> {
  readonly #options: ReplicaOptions;
  readonly #log: UpdateLog<P>;
  #seen: Seen | undefined;
  /** Undefined: the copy was discarded. */
  #role: Primary<P> | Backup<P> | undefined;
  readonly #early: EarlyBegins<P>;
  /** Filled during one step. */
  #effects: ReplicaEffect<P>[] = [];

  constructor(options: ReplicaOptions, { log, head, isPrimaryAlive, early, role }: ReplicaState<P>) {
    this.#options = options;
    this.#log = new UpdateLog(log);
    this.#seen = head && { head, isPrimaryAlive };
    this.#early = new EarlyBegins(early);
    if (role.is === 'primary') this.#role = new Primary(options, this.#log, this.#out, role);
    else if (role.is === 'backup') this.#role = new Backup(options, this.#log, this.#out, role);
  }

  /** The state of a unit that this process has taken alone, with everything up to this position applied. */
  static taken<P>(head: UnitHead, committed: number, { me }: ReplicaOptions): ReplicaState<P> {
    const log = { base: committed, committed, updates: [] };
    const role = { is: 'primary' as const, ...Primary.begun(head, { last: committed, committed }, me) };
    return { log, head, isPrimaryAlive: true, early: undefined, role: { ...role, isServing: true } };
  }

  /**
   * The state of a copy that was made for this process, with everything up to this position applied. It is in no head
   * yet.
   */
  static copied<P>({ epoch, primary }: CopyMaker, committed: number): ReplicaState<P> {
    const log = { base: committed, committed, updates: [] };
    const role = { is: 'backup' as const, epoch: epoch - 1, madeBy: { epoch, primary }, proposal: undefined };
    return { log, head: undefined, isPrimaryAlive: true, early: undefined, role };
  }

  state(): ReplicaState<P> {
    const role = this.#role;
    return {
      log: this.#log.state(),
      head: this.#seen?.head,
      isPrimaryAlive: this.#seen?.isPrimaryAlive ?? true,
      early: this.#early.state(),
      role:
        role instanceof Primary
          ? { is: 'primary', ...role.state() }
          : role instanceof Backup
            ? { is: 'backup', ...role.state() }
            : { is: 'none' },
    };
  }

  /** Whether requests of the unit may be answered now. */
  admits(kind: 'read' | 'update'): boolean {
    return this.#role instanceof Primary && this.#role.admits(kind);
  }

  /**
   * The processes to which it sends the unit's updates: in the head, asked for, or joining. The list is another one
   * only when they have changed.
   */
  peers(): readonly UnitOwner[] {
    return this.#role instanceof Primary ? this.#role.peers : NO_PEERS;
  }

  /** The position up to which everything is applied. */
  get committed(): number {
    return this.#log.committed;
  }

  /** The copy follows another one. `joining`: it was in no head yet. */
  get standing(): 'leading' | 'member' | 'joining' | 'none' {
    if (this.#role instanceof Primary) return 'leading';
    if (this.#role === undefined) return 'none';
    return this.#role.state().madeBy !== undefined ? 'joining' : 'member';
  }

  /** It wants to lead, and the store has not answered. */
  get isPromoting(): boolean {
    return this.#role instanceof Backup && this.#role.state().proposal !== undefined;
  }

  /** By whom the unit is to be led, as soon as that is possible. */
  get handOverTo(): UnitOwner | undefined {
    return this.#role instanceof Primary ? this.#role.state().handOverTo : undefined;
  }

  /** A hand-over to that member may begin now. Later it may be refused anyway. */
  mayHandOver(to: UnitOwner): boolean {
    return this.#role instanceof Primary && this.#role.mayHandOver(to);
  }

  /** Name of the next update to place. */
  nextName(): UpdateName {
    return { position: this.#log.last + 1, epoch: this.#knownEpoch() };
  }

  /** What is staged here and not committed, in order. */
  staged(): readonly PlacedUpdate<P>[] {
    return this.#role === undefined ? [] : this.#log.after(this.#log.committed);
  }

  nextDeadline(): number | undefined {
    return this.#role instanceof Primary ? this.#role.nextDeadline() : undefined;
  }

  step(event: ReplicaEvent<P>, now: number): ReplicaEffect<P>[] {
    this.#effects = [];
    this.#handle(event, now);
    this.#takeEarly();
    if (this.#role instanceof Primary) this.#role.settle(now);
    return this.#effects;
  }

  readonly #out = (effect: ReplicaEffect<P>): void => void this.#effects.push(effect);

  #handle(event: ReplicaEvent<P>, now: number): void {
    switch (event.type) {
      case 'seen':
        this.#saw({ head: event.head, isPrimaryAlive: event.isPrimaryAlive }, now);
        break;
      case 'decided':
        this.#decided(event, now);
        break;
      case 'frame':
        if (event.link.unit === this.#options.unit && isSameOwner(event.link.member, this.#options.me))
          this.#framed(event.link, event.frame);
        break;
      default:
        if (this.#role instanceof Primary) this.#lead(this.#role, event, now);
    }
  }

  #lead(primary: Primary<P>, event: Exclude<ReplicaEvent<P>, { type: 'seen' | 'decided' | 'frame' }>, now: number) {
    switch (event.type) {
      case 'place':
        primary.place(event.payload);
        break;
      case 'answer':
        primary.answered(event.link, event.answer, now);
        break;
      case 'connected':
        primary.connected(event.to, now);
        break;
      case 'heard':
        primary.heard(event.from, now);
        break;
      case 'gone':
        primary.gone(event.owner);
        break;
      case 'join':
        primary.join(event.joiner, now);
        break;
      case 'giveUp':
        primary.giveUp(event.joiner);
        break;
      case 'handOver':
        primary.handOver(event.to);
        break;
      case 'tick':
        primary.tick(now);
        break;
      case 'resumed':
        primary.resumed(now);
        break;
      default:
        unreachable(event);
    }
  }

  #framed(link: LinkName, frame: ReplicaFrame<P>): void {
    if (this.#role !== undefined && link.epoch > this.#knownEpoch()) this.#keepEarly(link, frame);
    else if (this.#role instanceof Backup && this.#seen !== undefined) this.#role.framed(link, frame, this.#seen.head);
    else this.#refuse(link, this.#role === undefined ? 'unfit' : 'old');
  }

  #refuse(link: LinkName, why: 'old' | 'unfit'): void {
    this.#out({ type: 'answer', link, answer: { type: 'refused', why } });
  }

  #knownEpoch(): number {
    return this.#role instanceof Primary ? this.#role.epoch : (this.#seen?.head.epoch ?? 0);
  }

  /** A frame of another kind has come before its beginning, and is sent again. */
  #keepEarly(link: LinkName, frame: ReplicaFrame<P>): void {
    this.#out({ type: 'look' });
    const useless = frame.type === 'begin' ? this.#early.keep({ link, frame }) : undefined;
    if (useless !== undefined) this.#refuse(useless, 'old');
  }

  #takeEarly(): void {
    const early = this.#early.take((epoch) => this.#role === undefined || epoch <= this.#knownEpoch());
    if (early !== undefined) this.#framed(early.link, early.frame);
  }

  #saw(seen: Seen, now: number): void {
    const known = this.#seen?.head.epoch ?? 0;
    if (seen.head.epoch < known) return;
    this.#seen = seen;
    const { head } = seen;
    if (this.#role instanceof Primary) {
      // Its own changes it learns from the answers of the store.
      if (head.epoch > this.#role.epoch && !isSameOwner(head.primary, this.#options.me))
        this.#stepDown(this.#role, head);
    } else if (this.#role !== undefined && isSameOwner(head.primary, this.#options.me)) {
      if (head.epoch > this.#role.epoch) this.#takeOver(head, now);
    } else if (this.#role?.saw(seen) === false) this.#discard();
  }

  #decided(event: Extract<ReplicaEvent<P>, { type: 'decided' }>, now: number): void {
    if (this.#role instanceof Primary) {
      const other = this.#role.decided(event, now);
      if (other !== undefined) this.#stepDown(this.#role, other);
      return;
    }
    const own = this.#role?.decided(event);
    if (own !== undefined && own.epoch > (this.#seen?.head.epoch ?? 0)) this.#takeOver(own, now);
  }

  /** It keeps everything that it has staged: trainers may have an answer that says that the update counts. */
  #takeOver(head: UnitHead, now: number): void {
    this.#seen = { head, isPrimaryAlive: true };
    const primary = new Primary(this.#options, this.#log, this.#out, Primary.begun(head, this.#log, this.#options.me));
    this.#role = primary;
    primary.begin(now);
  }

  #stepDown({ epoch }: Primary<P>, head: UnitHead): void {
    this.#out({ type: 'stepDown' });
    if ((this.#seen?.head.epoch ?? 0) < head.epoch) this.#seen = { head, isPrimaryAlive: true };
    const backup = { epoch, madeBy: undefined, proposal: undefined };
    this.#role = new Backup(this.#options, this.#log, this.#out, backup);
    if (!isIn(head.inSync, this.#options.me)) this.#discard();
  }

  #discard(): void {
    this.#role = undefined;
    this.#out({ type: 'discard' });
  }
}
