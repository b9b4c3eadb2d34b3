/**
 * Policy `wait`: lets a trainer pull only when no gradient that is being computed can grow staler than the bound by it.
 * Who was let in *holds* values of some version until it has made the pushes it announced. A pull of n pushes may come in when
 *
 *   (version now − oldest version held) + pushes announced by all holders, n included − 1  ≤  bound,
 *
 * which no push changes: it raises the version and takes one from the announced ones. The gate is one pserver for all: a push
 * that it has may still be on its way to another. So a holder that has pushed stays one until it asks again or lets go, which
 * it does when every pserver has acknowledged; and who comes in meanwhile counts as holding what lacks that push.
 *
 * First come, first served; one that holds already never waits, and one alone neither, so there is no circle of waiting. A
 * holder that goes, or says that it holds nothing, counts no more; one that stays silent too long while others wait lapses.
 * Pure; time is an argument.
 */
import { assert } from '../../base/assert.ts';

export interface GateOptions {
  readonly bound: number;
  /** A holder that made no push for so long is not waited for. */
  readonly patienceMs: number;
  /** A pull is answered after so long, let in or not. */
  readonly answerWithinMs: number;
}

export interface Asking {
  readonly holder: number;
  readonly request: number;
  /**
   * Pushes that will carry gradients of what is pulled; 0: the holder holds nothing any more. Whoever asks has had all its
   * pushes acknowledged.
   */
  readonly pushes: number;
  /** Oldest version that it holds from before and has not pushed. */
  readonly since: number | undefined;
}

export type GateEvent =
  | ({ readonly type: 'ask' } & Asking)
  | { readonly type: 'pushed' | 'left'; readonly holder: number }
  | { readonly type: 'tick' };

export type GateEffect =
  | { readonly type: 'admit' | 'later'; readonly request: number }
  | { readonly type: 'lapsed'; readonly holder: number };

interface Held {
  readonly version: number;
  /** The version before its last push, which other pservers may not have yet. */
  lateFrom: number | undefined;
  pushes: number;
  signAt: number;
}

interface Waiting extends Asking {
  readonly since: undefined;
  readonly at: number;
}

export interface StalenessGate {
  /** `version` is the pserver's, after what the event tells. */
  step(event: GateEvent, version: number, now: number): GateEffect[];
  nextDeadline(): number | undefined;
  waiting(): number;
  holders(): number;
}

export function createStalenessGate({ bound, patienceMs, answerWithinMs }: GateOptions): StalenessGate {
  const held = new Map<number, Held>();
  let queue: Waiting[] = [];

  function fits({ pushes }: Waiting, version: number): boolean {
    let oldest = version;
    let announced = pushes;
    for (const one of held.values()) {
      oldest = Math.min(oldest, one.version);
      announced += one.pushes;
    }
    return held.size === 0 || version - oldest + announced - 1 <= bound;
  }

  function admit({ holder, request, pushes }: Asking, version: number, now: number): GateEffect {
    if (pushes === 0) held.delete(holder);
    else {
      const late = [...held.values()].map(({ lateFrom }) => lateFrom ?? version);
      held.set(holder, { version: Math.min(version, ...late), lateFrom: undefined, pushes, signAt: now });
    }
    return { type: 'admit', request };
  }

  /** Whoever asks anew has given up what it asked before. */
  function forget(holder: number): GateEffect[] {
    const given = queue.filter((one) => one.holder === holder);
    queue = queue.filter((one) => one.holder !== holder);
    return given.map(({ request }) => ({ type: 'later', request }));
  }

  function ask(asking: Asking, version: number, now: number): GateEffect[] {
    const effects = forget(asking.holder);
    const { since, pushes } = asking;
    if (since !== undefined || pushes === 0) {
      return [...effects, admit(asking, Math.min(version, since ?? version), now)];
    }
    held.delete(asking.holder);
    queue.push({ ...asking, since, at: now });
    return effects;
  }

  function pushed(holder: number, version: number, now: number): void {
    const found = held.get(holder);
    if (found === undefined) return;
    found.pushes = Math.max(0, found.pushes - 1);
    found.lateFrom = Math.max(found.version, version - 1);
    found.signAt = now;
  }

  function lapse(now: number): GateEffect[] {
    if (queue.length === 0) return [];
    const silent = [...held].filter(([, { signAt }]) => now - signAt >= patienceMs);
    for (const [holder] of silent) held.delete(holder);
    return silent.map(([holder]) => ({ type: 'lapsed', holder }));
  }

  function letIn(version: number, now: number): GateEffect[] {
    const effects: GateEffect[] = [];
    for (let first = queue[0]; first !== undefined && fits(first, version); first = queue[0]) {
      queue.shift();
      effects.push(admit(first, version, now));
    }
    const late = queue.filter(({ at }) => now - at >= answerWithinMs);
    queue = queue.filter(({ at }) => now - at < answerWithinMs);
    return [...effects, ...late.map(({ request }): GateEffect => ({ type: 'later', request }))];
  }

  return {
    step(event, version, now) {
      const effects: GateEffect[] = [];
      if (event.type === 'ask') {
        assert(event.pushes >= 0, 'pushes are counted');
        effects.push(...ask(event, version, now));
      } else if (event.type === 'pushed') pushed(event.holder, version, now);
      else if (event.type === 'left') {
        held.delete(event.holder);
        effects.push(...forget(event.holder));
      }
      effects.push(...lapse(now), ...letIn(version, now));
      return effects;
    },
    nextDeadline() {
      if (queue.length === 0) return undefined;
      const lapses = [...held.values()].map(({ signAt }) => signAt + patienceMs);
      return Math.min(...lapses, ...queue.map(({ at }) => at + answerWithinMs));
    },
    waiting: () => queue.length,
    holders: () => held.size,
  };
}
