/** What a pserver acknowledged is in every later state of its shards, unless it said that they were restored. */
import { isPaddletError } from '../../../src/base/errors.ts';
import type { LedUnits } from './led-units.ts';
import type { Answered, Oracle, World } from './oracle.ts';

interface Acknowledged {
  readonly next: number;
  readonly recovery: number;
  readonly atMs: number;
  /** What was known before `atMs`. */
  readonly earlier: Acknowledged | undefined;
}

/** Async mode. A push is acknowledged under a recovery number; only under a higher one it may be wanted again. */
export function acknowledgedPushes(world: World, led: LedUnits): Oracle {
  /** By unit, pass and task: the next push, and the recovery number it was acknowledged under. */
  const acknowledged = new Map<string, Acknowledged>();
  const nameOf = (unit: number, { pass, task }: { pass: number; task: number }): string => `${unit}/${pass}/${task}`;

  /**
   * With copies a push is answered some turns after it was applied, and a repeat of it is judged at that same instant:
   * the answer to the repeat may leave first.
   */
  function knownOf(name: string): Acknowledged | undefined {
    const known = acknowledged.get(name);
    return world.replicas > 1 && known?.atMs === world.nowMs() ? known.earlier : known;
  }

  /** Some of the units may want it still; not all of them have acknowledged it. */
  function wanted(answered: Answered, at: { pass: number; task: number; push: number; recovery: number }): void {
    // Nothing tells it that its machine slept: others lead its units, and its answers are of the time before.
    if (answered.server.hadStoppedClock) return;
    let before = Number.POSITIVE_INFINITY;
    for (const unit of led.meant(answered) ?? []) {
      const known = knownOf(nameOf(unit, at));
      before = Math.min(before, known === undefined || known.recovery < at.recovery ? 0 : known.next);
    }
    if (at.push >= before || before === Number.POSITIVE_INFINITY) return;
    world.violated(
      `${answered.server.name} wanted push ${at.push} of task ${at.task}, pass ${at.pass}, again under recovery ` +
        `${at.recovery}: all of its units had acknowledged those before ${before}`,
    );
  }

  function acknowledge(unit: number, at: { pass: number; task: number; next: number; recovery: number }): void {
    const { next, recovery } = at;
    const before = acknowledged.get(nameOf(unit, at));
    if (before === undefined || recovery > before.recovery || next > before.next) {
      const name = nameOf(unit, at);
      const atMs = world.nowMs();
      acknowledged.set(name, { next, recovery, atMs, earlier: before?.atMs === atMs ? before.earlier : before });
    }
  }

  return {
    answered(answered) {
      const { server, request, outcome } = answered;
      if (isPaddletError(outcome) || server.role !== 'pserver') return;
      if (request.type === 'push' && outcome.type === 'push') {
        const { pass, task, push, last } = request;
        const { recovery } = outcome;
        if (outcome.outcome === 'applied') wanted(answered, { pass, task, push, recovery });
        const next = last ? Number.POSITIVE_INFINITY : push + 1;
        for (const unit of led.meant(answered) ?? []) acknowledge(unit, { pass, task, next, recovery });
      } else if (request.type === 'position' && outcome.type === 'position') {
        const { recovery } = outcome;
        for (const [at, { pass, task }] of request.tasks.entries()) {
          const next = outcome.next[at]!;
          wanted(answered, { pass, task, push: next < 0 ? Number.POSITIVE_INFINITY : next, recovery });
        }
      }
    },
  };
}

/** Of one unit and timeline. */
interface Named {
  readonly atMs: number;
  readonly highest: number;
  /** The highest that was named before `atMs`. */
  readonly earlier: number;
}

/**
 * Sync mode: within a timeline no unit is at a lower version than one that was named at an earlier time. Answers of one
 * instant are seen here in another order than they were made: requests that wait for a move to end are all judged at
 * that instant, and each answer needs a few turns to get here. They go to several processes, so no order is promised.
 */
export function acknowledgedVersions(world: World, led: LedUnits): Oracle {
  const named = new Map<string, Named>();

  function reachedBefore(name: string): number {
    const known = named.get(name);
    if (known === undefined) return 0;
    return known.atMs < world.nowMs() ? known.highest : known.earlier;
  }

  function note(name: string, version: number): void {
    const atMs = world.nowMs();
    const highest = Math.max(named.get(name)?.highest ?? 0, version);
    named.set(name, { atMs, highest, earlier: reachedBefore(name) });
  }

  return {
    answered(answered) {
      if (answered.server.hadStoppedClock) return;
      const answer = versionIn(answered);
      const units = led.meant(answered) ?? [];
      if (answer === undefined || units.length === 0) return;
      const { timeline, version } = answer;
      // A pserver names the lowest version of its units. One that has just come may be a round behind the others.
      const reached = Math.min(...units.map((unit) => reachedBefore(`${unit}/${timeline}`)));
      // A refusal is made a few turns before it is seen here: another answer may overtake it.
      if (version < reached && !isPaddletError(answered.outcome)) {
        world.violated(
          `${answered.server.name} is at version ${version} of timeline ${timeline}: all of its units had reached ` +
            `${reached}`,
        );
      }
      for (const unit of units) note(`${unit}/${timeline}`, version);
    },
  };
}

export interface NamedVersion {
  readonly timeline: number;
  readonly version: number;
}

/** The version of the shards that an answer of a pserver names. */
export function versionIn({ server, request, outcome }: Answered): NamedVersion | undefined {
  if (server.role !== 'pserver') return undefined;
  if (isPaddletError(outcome)) {
    const { version } = outcome.details;
    const isOfRequest = isPaddletError(outcome, 'VersionPending', 'VersionGone', 'RoundAhead');
    return isOfRequest && 'timeline' in request && typeof version === 'number'
      ? { timeline: request.timeline, version }
      : undefined;
  }
  if (outcome.type === 'rounds') return { timeline: outcome.timeline, version: outcome.version };
  if (outcome.type === 'pushLane' && request.type === 'pushLane') {
    return { timeline: request.timeline, version: outcome.version };
  }
  return undefined;
}
