/**
 * The machines of all units that this pserver leads or has copies of (`core/replicas/replica.ts`). A machine takes a
 * step immediately when it gets an event. The effects of all steps are carried out in one turn (a microtask), after the
 * caller has returned. So an update of many units is applied at once, and proposals of many units share transactions.
 * An effect is never carried out from within the call that caused it.
 */
import { assert } from '../../../base/assert.ts';
import type { Cancel, Clock } from '../../../base/seams.ts';
import type { ReplicaEffect, ReplicaEvent, ReplicaState } from '../../../core/replicas/events.ts';
import { isIn, type UpdateName } from '../../../core/replicas/messages.ts';
import { Replica } from '../../../core/replicas/replica.ts';
import { isSameOwner, type UnitOwner } from '../../../core/units/move-messages.ts';

/** The effects of a machine's step, and its peers after the step. */
export interface MachineStep<P> {
  readonly unit: number;
  readonly effects: readonly ReplicaEffect<P>[];
  readonly peers: readonly UnitOwner[];
}

export interface UnitMachinesOptions<P> {
  readonly clock: Clock;
  readonly me: UnitOwner;
  readonly silenceMs: number;
  readonly minInSync: number;
  /** Whether the process is known to have lost its index. */
  readonly isGone: (owner: UnitOwner) => boolean;
  /** Whether this process certainly has its index, and can get answers. */
  readonly isHeld: () => boolean;
  /**
   * Carries out the steps in the order in which they were taken. Later events belong to the next turn.
   */
  readonly onTurn: (steps: readonly MachineStep<P>[]) => void;
  /** Reports a bug. */
  readonly onFatal: (error: unknown) => void;
}

/**
 * Checks per `silenceMs` whether this process itself was running. Time in which it was suspended, or cut off from the
 * store, does not count as silence of others. Their answers may wait to be read, and they may have been cut off as
 * well.
 */
const LOOKS_IN_SILENCE = 8;

export class UnitMachines<P> {
  readonly #options: UnitMachinesOptions<P>;
  readonly #machines = new Map<number, Replica<P>>();
  #steps: MachineStep<P>[] = [];
  #isTurnDue = false;
  #isClosed = false;
  #cancelTick: Cancel | undefined;

  constructor(options: UnitMachinesOptions<P>) {
    this.#options = options;
  }

  units(): number[] {
    return [...this.#machines.keys()];
  }

  of(unit: number): Replica<P> | undefined {
    return this.#machines.get(unit);
  }

  add(unit: number, state: ReplicaState<P>): void {
    assert(!this.#machines.has(unit), `unit ${unit} has one copy here`);
    const { me, silenceMs, minInSync } = this.#options;
    this.#machines.set(unit, new Replica({ unit, me, silenceMs, minInSync }, state));
  }

  remove(unit: number): void {
    this.#machines.delete(unit);
  }

  /** Ignored for a unit without a machine. */
  step(unit: number, event: ReplicaEvent<P>): void {
    const machine = this.#machines.get(unit);
    if (machine === undefined || this.#isClosed) return;
    const before = machine.peers();
    const effects = machine.step(event, this.#options.clock.monotonicMs());
    const peers = machine.peers();
    this.#steps.push({ unit, effects, peers });
    this.#takeTurn();
    if (peers !== before) this.#reportGone(unit, peers, before);
  }

  /**
   * If a new peer has already lost its index, the unit must be informed now. Otherwise the unit would wait for the peer
   * as long as for a silent one.
   */
  #reportGone(unit: number, peers: readonly UnitOwner[], before: readonly UnitOwner[]): void {
    for (const owner of peers)
      if (!isIn(before, owner) && this.#options.isGone(owner)) this.step(unit, { type: 'gone', owner });
  }

  stepAll(event: ReplicaEvent<P>): void {
    for (const unit of this.units()) this.step(unit, event);
  }

  /** Submits the event to the units that have the process as a peer. */
  stepUnitsOf(peer: UnitOwner, event: ReplicaEvent<P>): void {
    for (const [unit, machine] of [...this.#machines]) {
      if (machine.peers().some((one) => isSameOwner(one, peer))) this.step(unit, event);
    }
  }

  /** Whether a step of the machine has not been carried out yet. */
  isPending(unit: number): boolean {
    return this.#steps.some((step) => step.unit === unit);
  }

  /** Requests a turn for work that is not a step. */
  takeTurn(): void {
    if (!this.#isClosed) this.#takeTurn();
  }

  /**
   * Returns the names that an update gets in these units, each of which admits it. Place the update before submitting
   * another event.
   */
  nextNames(units: readonly number[]): { readonly unit: number; readonly name: UpdateName }[] {
    return units.map((unit) => ({ unit, name: this.#machines.get(unit)!.nextName() }));
  }

  /** After this, nothing is stepped or carried out. */
  close(): void {
    this.#isClosed = true;
    this.#cancelTick?.();
  }

  /** After `close`: the committed updates that a copy has not applied, and then its staged updates, in order. */
  unapplied(unit: number): P[] {
    const own = this.#steps.filter((step) => step.unit === unit).flatMap(({ effects }) => effects);
    const committed = own.flatMap((effect) => (effect.type === 'commit' ? [effect.update] : []));
    return [...committed, ...(this.of(unit)?.staged() ?? [])].map(({ payload }) => payload);
  }

  #takeTurn(): void {
    if (this.#isTurnDue) return;
    this.#isTurnDue = true;
    queueMicrotask(() => {
      this.#isTurnDue = false;
      if (this.#isClosed) return;
      try {
        const steps = this.#steps;
        this.#steps = [];
        this.#options.onTurn(steps);
        if (!this.#isClosed) this.#planTick(steps);
      } catch (error) {
        this.#options.onFatal(error);
      }
    });
  }

  /** A deadline that is set later is never earlier, because all deadlines are based on the same `silenceMs`. */
  #planTick(steps: readonly MachineStep<P>[]): void {
    if (this.#cancelTick !== undefined) return;
    const due = steps.flatMap(({ unit }) => this.#machines.get(unit)?.nextDeadline() ?? []);
    if (due.length > 0) this.#tickAt(Math.min(...due));
  }

  #tickAt(dueMs: number): void {
    const { clock, silenceMs, isHeld, onFatal } = this.#options;
    const nowMs = clock.monotonicMs();
    const lookMs = silenceMs / LOOKS_IN_SILENCE;
    const plannedMs = Math.min(Math.max(dueMs, nowMs + 1), nowMs + lookMs);
    this.#cancelTick = clock.after(plannedMs - nowMs, () => {
      this.#cancelTick = undefined;
      try {
        const lateMs = clock.monotonicMs() - plannedMs;
        if (!isHeld() || lateMs >= lookMs) this.stepAll({ type: 'resumed' });
        this.#tick(clock.monotonicMs());
      } catch (error) {
        onFatal(error);
      }
    });
  }

  #tick(nowMs: number): void {
    let next: number | undefined;
    for (const [unit, machine] of [...this.#machines]) {
      const due = machine.nextDeadline();
      if (due === undefined) continue;
      if (due <= nowMs) this.step(unit, { type: 'tick' });
      const again = machine.nextDeadline();
      if (again !== undefined && again > nowMs) next = Math.min(next ?? again, again);
    }
    if (next !== undefined) this.#tickAt(next);
  }
}
