/**
 * A lease as its owner sees it. The owner counts its deadline from the moment when the last successful keepalive was
 * *sent*, with the TTL that the store *granted*: the store cannot have ended the lease before that. At the deadline the
 * owner suspends its work; the lease is lost only when the store says so.
 *
 *   held ──deadline──> suspended ──renewed──> held
 *     └───────────gone──────┴──gone──> lost
 *
 * Pure: time comes in as an argument, effects go out.
 */
import { unreachable } from '../base/assert.ts';

export type LeaseEvent =
  /** Time has passed. The first event, too. */
  | { readonly type: 'tick' }
  /** The keepalive that was sent at `sentAtMs` was answered. */
  | { readonly type: 'renewed'; readonly sentAtMs: number; readonly grantedTtlMs: number }
  /** The keepalive in flight was not answered. */
  | { readonly type: 'failed' }
  /** The store says that the lease has ended. */
  | { readonly type: 'gone' };

export type LeaseEffect =
  /** Send one keepalive now and report `renewed`, `failed` or `gone`. */
  { readonly type: 'renew' } | { readonly type: 'suspend' } | { readonly type: 'resume' } | { readonly type: 'lose' };

export type LeaseState = 'held' | 'suspended' | 'lost';

/** Renewing at a third of the TTL leaves time for two more tries. */
const RENEWALS_PER_TTL = 3;
const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 1_000;
/**
 * The longest pause is at most this part of the TTL: a store that takes writes again gives each owner a quarter of its
 * TTL at least, which is then enough for two tries.
 */
const LONGEST_RETRY_OF_TTL = 1 / 8;

export interface LeaseOptions {
  readonly grantedTtlMs: number;
  /** When the grant was *sent*, on the clock that `now` comes from. */
  readonly sentAtMs: number;
}

export class Lease {
  #state: LeaseState = 'held';
  #deadlineMs: number;
  #isInFlight = false;
  #nextRenewalMs: number;
  #longestRetryMs: number;
  #failures = 0;

  constructor(options: LeaseOptions) {
    this.#deadlineMs = options.sentAtMs + options.grantedTtlMs;
    this.#nextRenewalMs = options.sentAtMs + options.grantedTtlMs / RENEWALS_PER_TTL;
    this.#longestRetryMs = longestRetryMs(options.grantedTtlMs);
  }

  get state(): LeaseState {
    return this.#state;
  }

  /** The lease is certainly held until then, on the clock of `sentAtMs`. */
  get deadlineMs(): number {
    return this.#deadlineMs;
  }

  /** Compared at each use, since timers may be late. */
  isHeld(now: number): boolean {
    return this.#state === 'held' && now < this.#deadlineMs;
  }

  /** When to call `step` with a tick at the latest; Infinity when only an answer can change anything. */
  nextDeadline(): number {
    if (this.#state === 'lost') return Number.POSITIVE_INFINITY;
    const suspension = this.#state === 'held' ? this.#deadlineMs : Number.POSITIVE_INFINITY;
    return Math.min(suspension, this.#isInFlight ? Number.POSITIVE_INFINITY : this.#nextRenewalMs);
  }

  step(event: LeaseEvent, now: number): LeaseEffect[] {
    if (this.#state === 'lost') return [];
    const effects: LeaseEffect[] = [];
    // Before the event, whatever it is: the deadline may have passed unnoticed.
    if (this.#state === 'held' && now >= this.#deadlineMs) this.#suspend(effects);
    this.#apply(event, now, effects);
    this.#renewWhenDue(now, effects);
    return effects;
  }

  #apply(event: LeaseEvent, now: number, effects: LeaseEffect[]): void {
    switch (event.type) {
      case 'tick':
        return;
      case 'renewed':
        this.#renewed(event.sentAtMs, event.grantedTtlMs, now, effects);
        return;
      case 'failed':
        this.#isInFlight = false;
        this.#nextRenewalMs = now + Math.min(FIRST_RETRY_MS * 2 ** this.#failures, this.#longestRetryMs);
        this.#failures = Math.min(this.#failures + 1, 16);
        return;
      case 'gone':
        this.#isInFlight = false;
        this.#state = 'lost';
        effects.push({ type: 'lose' });
        return;
      default:
        unreachable(event);
    }
  }

  #renewed(sentAtMs: number, grantedTtlMs: number, now: number, effects: LeaseEffect[]): void {
    this.#isInFlight = false;
    this.#failures = 0;
    this.#deadlineMs = sentAtMs + grantedTtlMs;
    this.#nextRenewalMs = sentAtMs + grantedTtlMs / RENEWALS_PER_TTL;
    this.#longestRetryMs = longestRetryMs(grantedTtlMs);
    // An answer may come so late that the new deadline has passed, too: then only the next answer resumes the work.
    if (this.#state === 'suspended' && now < this.#deadlineMs) {
      this.#state = 'held';
      effects.push({ type: 'resume' });
    } else if (this.#state === 'held' && now >= this.#deadlineMs) this.#suspend(effects);
  }

  #suspend(effects: LeaseEffect[]): void {
    this.#state = 'suspended';
    effects.push({ type: 'suspend' });
  }

  #renewWhenDue(now: number, effects: LeaseEffect[]): void {
    if (this.#state === 'lost' || this.#isInFlight || now < this.#nextRenewalMs) return;
    this.#isInFlight = true;
    effects.push({ type: 'renew' });
  }
}

const longestRetryMs = (ttlMs: number): number => Math.min(LONGEST_RETRY_MS, ttlMs * LONGEST_RETRY_OF_TTL);
