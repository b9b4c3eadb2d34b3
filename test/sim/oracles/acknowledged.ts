/** What a pserver acknowledged is in every later state of its shards, unless it said that they were restored. */
import { isPaddletError } from '../../../src/base/errors.ts';
import type { Head } from '../../../src/cluster/placement/heads.ts';
import { type Answered, indexOf, type Oracle, type World } from './oracle.ts';

/** Async mode. A push is acknowledged under a recovery number; only under a higher one it may be wanted again. */
export function acknowledgedPushes(world: World): Oracle {
  /** By pserver, pass and task: the next push, and the recovery number it was acknowledged under. */
  const acknowledged = new Map<string, { readonly next: number; readonly recovery: number }>();
  const nameOf = (server: Answered['server'], pass: number, task: number): string =>
    `${indexOf(server)}/${pass}/${task}`;

  function wanted(
    server: Answered['server'],
    at: { pass: number; task: number; push: number; recovery: number },
  ): void {
    const before = acknowledged.get(nameOf(server, at.pass, at.task));
    if (before === undefined || at.push >= before.next || at.recovery > before.recovery) return;
    world.violated(
      `${server.name} wanted push ${at.push} of task ${at.task}, pass ${at.pass}, again under recovery ${at.recovery}: ` +
        `it had acknowledged those before ${before.next} under ${before.recovery}`,
    );
  }

  return {
    wrote({ process, key, before }) {
      if (process.role !== 'pserver' || before === undefined || !key.startsWith(world.keys.headsPrefix)) return;
      const { primary } = JSON.parse(before.value) as Head;
      // It takes units of a pserver that had acknowledged less.
      if (primary.index === indexOf(process)) return;
      for (const name of acknowledged.keys()) if (name.startsWith(`${indexOf(process)}/`)) acknowledged.delete(name);
    },
    answered({ server, request, outcome }) {
      if (isPaddletError(outcome) || server.role !== 'pserver') return;
      if (request.type === 'push' && outcome.type === 'push') {
        const { pass, task, push, last } = request;
        const { recovery } = outcome;
        if (outcome.outcome === 'applied') wanted(server, { pass, task, push, recovery });
        const name = nameOf(server, pass, task);
        const before = acknowledged.get(name);
        const next = last ? Number.POSITIVE_INFINITY : push + 1;
        if (before === undefined || recovery > before.recovery || next > before.next) {
          acknowledged.set(name, { next, recovery });
        }
      } else if (request.type === 'position' && outcome.type === 'position') {
        const { recovery } = outcome;
        for (const [at, { pass, task }] of request.tasks.entries()) {
          const next = outcome.next[at]!;
          wanted(server, { pass, task, push: next < 0 ? Number.POSITIVE_INFINITY : next, recovery });
        }
      }
    },
  };
}

/** Sync mode: within a timeline no version of a pserver is lower than one that it named before. */
export function acknowledgedVersions(world: World): Oracle {
  const highest = new Map<string, number>();
  return {
    wrote({ process, key, before }) {
      if (process.role !== 'pserver' || before === undefined || !key.startsWith(world.keys.headsPrefix)) return;
      const { primary } = JSON.parse(before.value) as Head;
      // It takes units of a pserver that was a round behind.
      if (primary.index === indexOf(process)) return;
      for (const name of highest.keys()) if (name.startsWith(`${indexOf(process)}/`)) highest.delete(name);
    },
    answered(answered) {
      const named = versionIn(answered);
      if (named === undefined) return;
      const { server } = answered;
      const name = `${indexOf(server)}/${named.timeline}`;
      const before = highest.get(name) ?? 0;
      // A refusal is made a few turns before it is seen here: another answer may overtake it.
      if (named.version < before && !isPaddletError(answered.outcome)) {
        world.violated(
          `${server.name} is at version ${named.version} of timeline ${named.timeline}: it had reached ${before}`,
        );
      }
      highest.set(name, Math.max(before, named.version));
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
