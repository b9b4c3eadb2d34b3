/** Hands tasks to the trainers that wait for one: the next of the pass, or else a copy of one that takes too long. */
import { LIMITS } from '../../base/limits.ts';
import type { Attempt } from './attempt.ts';
import type { QueueConfig } from './events.ts';
import type { TaskPass } from './pass.ts';
import { createPace, oldestToCopy } from './speculation.ts';
import type { Timeouts } from './timeouts.ts';
import { createQueueTrainers, type QueueTrainers } from './trainers.ts';

export interface Dealt {
  readonly request: number;
  readonly attempt: Attempt;
  /** The trainer that takes too long, when this attempt is a copy. */
  readonly slow: string | undefined;
}

interface Dealing {
  readonly dealt: Dealt[];
  readonly now: number;
  /** Trainers that may work. */
  readonly sharers: number;
}

interface Asker {
  readonly trainer: string;
  /** Tasks that it takes. */
  readonly most: number;
}

/** All trainers together get at most one in this number of the remaining tasks, in addition to their first ones. */
const GIVEN_PART = 2;

export class Dealer {
  readonly trainers: QueueTrainers;
  readonly pace = createPace();
  /** Copies so far. */
  speculations = 0;
  readonly #timeouts: Timeouts;
  /** Requests for tasks, in the order in which they came. */
  readonly #waiting = new Map<number, Asker>();

  constructor(config: QueueConfig, timeouts: Timeouts) {
    this.trainers = createQueueTrainers(config);
    this.#timeouts = timeouts;
  }

  ask(request: number, asker: Asker): void {
    this.#waiting.set(request, asker);
  }

  cancel(request: number): void {
    this.#waiting.delete(request);
  }

  /** Requests that wait. */
  waiting(): number {
    return this.#waiting.size;
  }

  /** When the attempt is taken back because nothing comes of it; undefined while no other live trainer wants a task. */
  idleAt(attempt: Attempt): number | undefined {
    for (const { trainer } of this.#waiting.values()) {
      if (trainer !== attempt.trainer && this.trainers.isLive(trainer)) return this.#timeouts.idleAt(attempt);
    }
    return undefined;
  }

  /** When the first of the attempts is taken back, or has worked too long. */
  nextDeadline(attempts: Iterable<Attempt>): number | undefined {
    const idle = this.#waiting.size === 0 ? [] : [...attempts].map((attempt) => this.idleAt(attempt));
    const due = [this.#timeouts.next(), ...idle].filter((at) => at !== undefined);
    return due.length === 0 ? undefined : Math.min(...due);
  }

  /** Drops and returns all requests that wait. */
  dismiss(): readonly number[] {
    const requests = [...this.#waiting.keys()];
    this.#waiting.clear();
    return requests;
  }

  /** To the trainers that are active and have room, in the order in which they asked. */
  deal(pass: TaskPass, now: number): Dealt[] {
    const asking = [...this.#waiting.values()].map(({ trainer }) => trainer);
    const active = this.trainers.active(pass.open.trainers(), asking);
    const dealt: Dealt[] = [];
    const hungry: [request: number, asker: Asker][] = [];
    for (const [request, asker] of this.#waiting) {
      const { trainer } = asker;
      if (!active.has(trainer) || pass.open.countHeldBy(trainer) >= LIMITS.tasksHeld) continue;
      const next = pass.tally.todo > 0 ? pass.deal(trainer, now) : undefined;
      const given = next === undefined ? this.#copyStraggler(pass, trainer, now) : { attempt: next, slow: undefined };
      if (given === undefined) continue;
      this.#waiting.delete(request);
      dealt.push({ request, ...given });
      if (given.slow === undefined) hungry.push([request, asker]);
    }
    for (const [request, asker] of hungry) this.#dealMore(pass, request, asker, { dealt, now, sharers: active.size });
    return dealt;
  }

  /**
   * So that fewer requests are needed. A trainer is given less and less at a time as a pass comes to its end, so that
   * all end together (Polychronopoulos and Kuck, "Guided Self-Scheduling", IEEE Trans. Computers C-36, 1987).
   */
  #dealMore(pass: TaskPass, request: number, { trainer, most }: Asker, { dealt, now, sharers }: Dealing): void {
    const share = Math.floor(pass.tally.todo / (GIVEN_PART * sharers));
    for (let more = Math.min(most - 1, share); more > 0; more -= 1) {
      if (pass.open.countHeldBy(trainer) >= LIMITS.tasksHeld) return;
      const attempt = pass.deal(trainer, now);
      if (attempt === undefined) return;
      dealt.push({ request, attempt, slow: undefined });
    }
  }

  /** Only a trainer without any work gets a copy. */
  #copyStraggler(pass: TaskPass, trainer: string, now: number): Omit<Dealt, 'request'> | undefined {
    const stragglerMs = this.pace.stragglerMs();
    if (stragglerMs === undefined || pass.open.countHeldBy(trainer) > 0) return undefined;
    const oldest = oldestToCopy(pass.open.entries(), trainer, stragglerMs);
    if (oldest === undefined) return undefined;
    if (now < oldest.dueMs) {
      this.#timeouts.dueAt(oldest.dueMs);
      return undefined;
    }
    this.speculations += 1;
    const { task, trainer: slow } = oldest.attempt;
    return { attempt: pass.copy(task, trainer, now), slow };
  }
}
