/**
 * One copy of a unit: its updates, and its role under the head, primary or backup (docs/copies.md). The machine is
 * pure: time is an argument, and the caller carries out the effects in order. Only the store decides which copy leads.
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
  /** Undefined after the copy was discarded. */
  #role: Primary<P> | Backup<P> | undefined;
  readonly #early: EarlyBegins<P>;
  /** Effects of the current step. */
  #effects: ReplicaEffect<P>[] = [];

  constructor(options: ReplicaOptions, { log, head, isPrimaryAlive, early, role }: ReplicaState<P>) {
    this.#options = options;
    this.#log = new UpdateLog(log);
    this.#seen = head && { head, isPrimaryAlive };
    this.#early = new EarlyBegins(early);
    if (role.is === 'primary') this.#role = new Primary(options, this.#log, this.#out, role);
    else if (role.is === 'backup') this.#role = new Backup(options, this.#log, this.#out, role);
  }

  /** State of a unit that this process has taken alone, with every update up to `committed` applied. */
  static taken<P>(head: UnitHead, committed: number, { me }: ReplicaOptions): ReplicaState<P> {
    const log = { base: committed, committed, updates: [] };
    const role = { is: 'primary' as const, ...Primary.begun(head, { last: committed, committed }, me) };
    return { log, head, isPrimaryAlive: true, early: undefined, role: { ...role, isServing: true } };
  }

  /**
   * State of a copy that was made for this process, with every update up to `committed` applied. No head names it yet.
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

  /** Whether the unit's requests may be answered now. */
  admits(kind: 'read' | 'update'): boolean {
    return this.#role instanceof Primary && this.#role.admits(kind);
  }

  /**
   * The processes to which this copy sends the unit's updates: in the head, asked for, or joining. If the list is the
   * same object as before, they have not changed.
   */
  peers(): readonly UnitOwner[] {
    return this.#role instanceof Primary ? this.#role.peers : NO_PEERS;
  }

  /** Position up to which every update is committed. */
  get committed(): number {
    return this.#log.committed;
  }

  /** `member` and `joining`: the copy follows a primary. `joining`: no head has named the copy yet. */
  get role(): 'leading' | 'member' | 'joining' | 'none' {
    if (this.#role instanceof Primary) return 'leading';
    if (this.#role === undefined) return 'none';
    return this.#role.state().madeBy !== undefined ? 'joining' : 'member';
  }

  /** This copy has proposed to lead the unit, and the store has not answered. */
  get isPromoting(): boolean {
    return this.#role instanceof Backup && this.#role.state().proposal !== undefined;
  }

  /** The member that gets the unit as soon as possible. */
  get handOverTo(): UnitOwner | undefined {
    return this.#role instanceof Primary ? this.#role.state().handOverTo : undefined;
  }

  /** Whether a hand-over to the member may begin now. The store may still refuse it. */
  mayHandOver(to: UnitOwner): boolean {
    return this.#role instanceof Primary && this.#role.mayHandOver(to);
  }

  /** Name of the next update to place. */
  nextName(): UpdateName {
    return { position: this.#log.last + 1, epoch: this.#knownEpoch() };
  }

  /** The updates that are staged here and not committed, in order. */
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

  /** Only a begin is kept: any other frame came before its begin, and is sent again. */
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
      // A primary learns of its own changes from the answers of the store.
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

  /**
   * The new primary keeps everything that it has staged, because trainers may have been told that these updates count.
   */
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
