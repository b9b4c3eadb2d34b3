/**
 * A process of the simulated cluster, as its kernel sees it. What it does goes through `operate`, what reaches it
 * through `deliver`: a dead process does nothing and hears nothing, a stopped one hears everything later.
 */
import type { Cancel, Clock, Random } from '../../src/base/seams.ts';
import type { Dice } from './dice.ts';
import type { Timeline } from './timeline.ts';

export type RoleName = 'master' | 'pserver' | 'trainer';

export interface ProcessIdentity {
  /** `trainer 1`: the same for all that run one after the other under one supervisor. */
  readonly name: string;
  readonly role: RoleName | 'stranger';
  /** Counts these, from 1. */
  readonly life: number;
}

/** As Node has it: time goes on between a timer and the next. */
const SHORTEST_TIMER_MS = 1;

/** The answer to what a dead process asked for. */
export const never = <T>(): Promise<T> => new Promise<T>(() => {});

/** Where the processor time of a process is simulated, too: what it does one after the other, each for so long. */
export interface Processor {
  /** When it has done all that it has begun, on the timeline. */
  readonly freeAtMs: number;
  /** Runs it after what came before, when it has taken so long. */
  take(ms: number, run: () => void): void;
  /** What it does at present takes so much longer. */
  spend(ms: number): void;
}

interface Delivery {
  readonly run: () => void;
  readonly isTimer: boolean;
}

export class SimulatedProcess {
  readonly name: string;
  readonly role: RoleName | 'stranger';
  readonly life: number;
  readonly pid: number;
  readonly timeline: Timeline;
  readonly dice: Dice;
  readonly clock: Clock;
  readonly random: Random;
  /** Every operation takes so many times longer. */
  slowness = 1;
  operations = 0;
  /** It has ended because it is not wanted and has given up all that it had. */
  hasLeft = false;
  /** Undefined: whatever it does takes no time of its own. */
  processor: Processor | undefined;
  /** Called before each operation; may kill. */
  onOperation: (() => void) | undefined;
  #state: 'running' | 'stopped' | 'dead' = 'running';
  #backlog: Delivery[] = [];
  /** How far its clock is behind, by having stood still. */
  #clockLostMs = 0;
  #clockStoppedAtMs: number | undefined;

  constructor(identity: ProcessIdentity, timeline: Timeline, dice: Dice) {
    this.name = identity.name;
    this.role = identity.role;
    this.life = identity.life;
    this.pid = dice.whole(2, 99_999);
    this.timeline = timeline;
    this.dice = dice;
    // Monotonic clocks of two machines have nothing to do with each other.
    const zeroMs = dice.between(0, 1e6);
    const skewSeconds = dice.between(-30, 30);
    this.clock = {
      monotonicMs: () => this.#ranMs() + zeroMs,
      wallSeconds: () => 1_790_000_000 + skewSeconds + timeline.nowMs / 1000,
      after: (delayMs, fire) => this.#after(delayMs, fire),
    };
    this.random = { uuid: () => dice.uuid(), fraction: () => dice.fraction() };
  }

  get isDead(): boolean {
    return this.#state === 'dead';
  }

  get isStopped(): boolean {
    return this.#state === 'stopped';
  }

  /** True when the process lives to do one more thing. */
  operate(): boolean {
    if (this.isDead) return false;
    this.operations += 1;
    this.onOperation?.();
    return !this.isDead;
  }

  /** A duration of this process's own doing. */
  takes(lowMs: number, highMs: number): number {
    return this.dice.between(lowMs, highMs) * this.slowness;
  }

  /** Lets something reach the process: now, or when it runs again; never when it is dead. */
  deliver(run: () => void, isTimer = false): void {
    if (this.isDead) return;
    if (this.isStopped || this.#backlog.length > 0) this.#backlog.push({ run, isTimer });
    else run();
  }

  /** SIGSTOP. */
  stop(): void {
    if (this.#state === 'running') this.#state = 'stopped';
  }

  /** The machine sleeps: its monotonic clock stands still until `resume`, and timers with it. */
  stopClock(): void {
    this.#clockStoppedAtMs ??= this.timeline.nowMs;
  }

  /** True once its clock has stood still: it may take an ended lease for held. */
  get hadStoppedClock(): boolean {
    return this.#clockStoppedAtMs !== undefined || this.#clockLostMs > 0;
  }

  /** SIGCONT. Node runs timers that are due before it reads its sockets. */
  resume(): void {
    if (this.#state !== 'stopped') return;
    this.#state = 'running';
    if (this.#clockStoppedAtMs !== undefined) this.#clockLostMs += this.timeline.nowMs - this.#clockStoppedAtMs;
    this.#clockStoppedAtMs = undefined;
    this.#backlog = [...this.#backlog.filter((one) => one.isTimer), ...this.#backlog.filter((one) => !one.isTimer)];
    this.timeline.after(0, () => this.#catchUp());
  }

  /** Nothing it does from now on has any effect. */
  die(): void {
    this.#state = 'dead';
    this.#backlog = [];
  }

  #catchUp(): void {
    if (this.#state !== 'running') return;
    const next = this.#backlog.shift();
    if (next === undefined) return;
    next.run();
    if (this.#backlog.length > 0) this.timeline.after(0, () => this.#catchUp());
  }

  #after(delayMs: number, fire: () => void): Cancel {
    if (this.isDead) return () => {};
    let isCancelled = false;
    const dueMs = this.#ranMs() + Math.max(SHORTEST_TIMER_MS, delayMs);
    let cancel: Cancel = () => {};
    const arm = (waitMs: number): void => {
      cancel = this.timeline.after(waitMs, () => {
        const leftMs = dueMs - this.#ranMs();
        if (leftMs > 1e-6) arm(leftMs);
        else
          this.deliver(() => {
            if (!isCancelled) fire();
          }, true);
      });
    };
    arm(Math.max(SHORTEST_TIMER_MS, delayMs));
    return () => {
      isCancelled = true;
      cancel();
    };
  }

  /** Time on its own clock. */
  #ranMs(): number {
    const { nowMs } = this.timeline;
    return (this.#clockStoppedAtMs ?? nowMs) - this.#clockLostMs;
  }
}
