/**
 * Policy `wait`: lets a trainer pull only when no gradient that is being computed can become staler than the bound
 * through it. An admitted trainer *holds* values of some version until it has made the pushes it announced. A pull of n
 * pushes is admitted when
 *
 *   (current version − oldest version held) + pushes announced by all holders, n included − 1  ≤  bound.
 *
 * A push does not change the left side: it raises the version and takes one from the announced pushes. One pserver's
 * gate serves all pservers: a push that arrived here may still be on its way to another. So a holder that has pushed
 * stays a holder until it asks again or releases its hold, which it does when every pserver has acknowledged its
 * pushes. A trainer that is admitted before that counts as holding values without that push.
 *
 * Trainers are admitted in the order in which they ask. One that holds values never waits, and neither does one alone,
 * so no two wait for each other. A holder that disconnects or says that it holds nothing counts no more; one that is
 * silent too long while others wait expires.
 *
 * A holder renews its hold with each pull. So that none can renew for ever without a push, all holders expire when a
 * pull waits and the version has not changed for several times that long. Such a holder pulls without a hold until a
 * push of it is applied: only that push may be staler than the bound. Pure: time is an argument.
 */
import { assert } from '../../base/assert.ts';

/** All holders expire after this multiple of `patienceMs` without a new version. */
const STANDSTILL_PATIENCES = 4;

export interface GateOptions {
  readonly bound: number;
  /** A holder that made no push for so long is not waited for. */
  readonly patienceMs: number;
  /** A pull is answered after so long, admitted or not. */
  readonly answerWithinMs: number;
}

export interface PullRequested {
  readonly holder: number;
  readonly request: number;
  /**
   * Pushes that will carry gradients of the pulled values; 0: the holder holds nothing. A trainer asks only after all
   * its pushes were acknowledged.
   */
  readonly pushes: number;
  /** The oldest version that it still holds from an earlier pull and has not pushed. */
  readonly since: number | undefined;
}

export type GateEvent =
  | ({ readonly type: 'ask' } & PullRequested)
  | { readonly type: 'pushed' | 'disconnected'; readonly holder: number }
  | { readonly type: 'tick' };

export type GateEffect =
  /** `askLater`: not admitted in time; the trainer asks again. */
  | { readonly type: 'admit' | 'askLater'; readonly request: number }
  /** It pushed nothing for so long, and is not waited for. */
  | { readonly type: 'expired'; readonly holder: number; readonly silentMs: number };

/** `silentMs`: since the holder pulled or pushed. */
export interface HeldUp {
  readonly pulls: number;
  readonly longestMs: number;
  readonly holders: readonly { readonly holder: number; readonly silentMs: number }[];
}

interface Holder {
  readonly version: number;
  /** The version before its last push, which other pservers may not have yet. */
  lateFrom: number | undefined;
  pushes: number;
  lastHeardMs: number;
}

interface Waiting extends PullRequested {
  readonly since: undefined;
  readonly askedAtMs: number;
}

export class StalenessGate {
  readonly #options: GateOptions;
  readonly #holders = new Map<number, Holder>();
  /** They expired in a standstill, and no push of them has been applied since. */
  readonly #barred = new Set<number>();
  #queue: Waiting[] = [];
  #version = -1;
  /** When the version changed, or a trainer that waited was admitted. */
  #movedMs = 0;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  /** `version` is the pserver's after the event; `now` in milliseconds. */
  step(event: GateEvent, version: number, now: number): GateEffect[] {
    const effects: GateEffect[] = [];
    const hasMoved = version !== this.#version;
    this.#version = version;
    if (hasMoved) this.#movedMs = now;
    switch (event.type) {
      case 'ask':
        assert(event.pushes >= 0, 'pushes are counted');
        effects.push(...this.#ask(event, version, now));
        break;
      case 'pushed':
        // A push that was dropped as a duplicate changes nothing.
        if (hasMoved) this.#barred.delete(event.holder);
        this.#pushed(event.holder, version, now);
        break;
      case 'disconnected':
        this.#holders.delete(event.holder);
        this.#barred.delete(event.holder);
        effects.push(...this.#dropRequests(event.holder));
        break;
      case 'tick':
        break;
    }
    effects.push(...this.#expireSilent(now), ...this.#expireAll(now), ...this.#admitNext(version, now));
    return effects;
  }

  nextDeadline(): number | undefined {
    if (this.#queue.length === 0) return undefined;
    const { patienceMs, answerWithinMs } = this.#options;
    const expiries = [...this.#holders.values()].map(({ lastHeardMs }) => lastHeardMs + patienceMs);
    const answers = this.#queue.map(({ askedAtMs }) => askedAtMs + answerWithinMs);
    return Math.min(this.#movedMs + STANDSTILL_PATIENCES * patienceMs, ...expiries, ...answers);
  }

  waiting(): number {
    return this.#queue.length;
  }

  /** What pulls wait for now: undefined when none waits. */
  heldUp(now: number): HeldUp | undefined {
    const [first] = this.#queue;
    if (first === undefined) return undefined;
    const holders = [...this.#holders].map(([holder, { lastHeardMs }]) => ({ holder, silentMs: now - lastHeardMs }));
    return { pulls: this.#queue.length, longestMs: now - first.askedAtMs, holders };
  }

  holders(): number {
    return this.#holders.size;
  }

  #fits({ pushes }: Waiting, version: number): boolean {
    let oldest = version;
    let announced = pushes;
    for (const one of this.#holders.values()) {
      oldest = Math.min(oldest, one.version);
      announced += one.pushes;
    }
    return this.#holders.size === 0 || version - oldest + announced - 1 <= this.#options.bound;
  }

  #admit({ holder, request, pushes }: PullRequested, version: number, now: number): GateEffect {
    if (pushes === 0) this.#holders.delete(holder);
    else {
      const late = [...this.#holders.values()].map(({ lateFrom }) => lateFrom ?? version);
      this.#holders.set(holder, {
        version: Math.min(version, ...late),
        lateFrom: undefined,
        pushes,
        lastHeardMs: now,
      });
    }
    return { type: 'admit', request };
  }

  /** A trainer that asks again has given up its request from before. */
  #dropRequests(holder: number): GateEffect[] {
    const dropped = this.#queue.filter((one) => one.holder === holder);
    this.#queue = this.#queue.filter((one) => one.holder !== holder);
    return dropped.map(({ request }) => ({ type: 'askLater', request }));
  }

  #ask(asking: PullRequested, version: number, now: number): GateEffect[] {
    const effects = this.#dropRequests(asking.holder);
    const { since, pushes } = asking;
    if (this.#barred.has(asking.holder)) return [...effects, { type: 'admit', request: asking.request }];
    if (since !== undefined || pushes === 0) {
      return [...effects, this.#admit(asking, Math.min(version, since ?? version), now)];
    }
    this.#holders.delete(asking.holder);
    this.#queue.push({ ...asking, since, askedAtMs: now });
    return effects;
  }

  #pushed(holder: number, version: number, now: number): void {
    const found = this.#holders.get(holder);
    if (found === undefined) return;
    found.pushes = Math.max(0, found.pushes - 1);
    found.lateFrom = Math.max(found.version, version - 1);
    found.lastHeardMs = now;
  }

  #expireSilent(now: number): GateEffect[] {
    if (this.#queue.length === 0) return [];
    const { patienceMs } = this.#options;
    const silent = [...this.#holders].filter(([, { lastHeardMs }]) => now - lastHeardMs >= patienceMs);
    for (const [holder] of silent) this.#holders.delete(holder);
    return silent.map(([holder]) => ({ type: 'expired', holder, silentMs: patienceMs }));
  }

  /** Ends a standstill. A holder that came during it does not prolong it: one trainer may have many connections. */
  #expireAll(now: number): GateEffect[] {
    const silentMs = STANDSTILL_PATIENCES * this.#options.patienceMs;
    if (this.#queue.length === 0 || now - this.#movedMs < silentMs) return [];
    const all = [...this.#holders.keys()];
    this.#holders.clear();
    for (const holder of all) this.#barred.add(holder);
    return all.map((holder) => ({ type: 'expired', holder, silentMs }));
  }

  #admitNext(version: number, now: number): GateEffect[] {
    const { answerWithinMs } = this.#options;
    const effects: GateEffect[] = [];
    for (let first = this.#queue[0]; first !== undefined && this.#fits(first, version); first = this.#queue[0]) {
      this.#queue.shift();
      this.#movedMs = now;
      effects.push(this.#admit(first, version, now));
    }
    const isLate = ({ askedAtMs }: Waiting): boolean => now - askedAtMs >= answerWithinMs;
    const late = this.#queue.filter(isLate);
    this.#queue = this.#queue.filter((one) => !isLate(one));
    return [...effects, ...late.map(({ request }): GateEffect => ({ type: 'askLater', request }))];
  }
}
