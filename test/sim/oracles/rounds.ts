/** Sync mode: the barrier of a round, the version before the current one, and rounds that are stuck. */
import { isPaddletError } from '../../../src/base/errors.ts';
import { type CheckpointEntry, generationsOf, shardsIn } from '../../../src/checkpoint/registry/entry.ts';
import { parseParting } from '../../../src/checkpoint/registry/partings.ts';
import type { Head } from '../../../src/cluster/placement/heads.ts';
import type { SimulatedProcess } from '../process.ts';
import { versionIn } from './acknowledged.ts';
import type { LedUnits } from './led-units.ts';
import type { Answered, Oracle, World, Written } from './oracle.ts';

/** A life of a pserver in one timeline. */
interface Stay {
  readonly timeline: number;
  /** The first version that it named: the lowest of its units. One that was loaded may have been a round ahead. */
  first: number;
  /** The highest round of which it took a lane. */
  taken: number;
}

export function rounds(world: World, led: LedUnits): Oracle {
  const { keys } = world;
  /** By timeline: the round that it began at. */
  const starts = new Map<number, number>([[0, 0]]);
  /** By timeline and unit: a version that every role can know it to have reached. */
  const reached = new Map<string, number>();
  const stays = new WeakMap<SimulatedProcess, Stay>();
  /** By timeline and unit: the round of the last state that it was taken with. No version before it is readable. */
  const loaded = new Map<string, number>();
  /** Timelines in which a unit was taken with the last state that another process had left. */
  const continued = new Set<number>();
  /** Timelines in which a pserver gave a version up for a stranger, who had not waited for the others. */
  const misled = new Set<number>();

  const reachedBy = (timeline: number, unit: number): number =>
    reached.get(`${timeline}/${unit}`) ?? starts.get(timeline) ?? 0;

  function reach(answered: Answered, timeline: number, version: number): Stay {
    const { server } = answered;
    for (const unit of led.meant(answered) ?? []) {
      reached.set(`${timeline}/${unit}`, Math.max(reachedBy(timeline, unit), version));
    }
    let stay = stays.get(server);
    if (stay?.timeline !== timeline) {
      stay = { timeline, first: version, taken: -1 };
      stays.set(server, stay);
    }
    stay.first = Math.min(stay.first, version);
    return stay;
  }

  function tookLane(answered: Answered): void {
    const { client, server, request } = answered;
    if (request.type !== 'pushLane') return;
    const { timeline, round } = request;
    for (const unit of led.all) {
      const version = reachedBy(timeline, unit);
      if (version >= round) continue;
      if (client.role === 'stranger') {
        misled.add(timeline);
        continue;
      }
      world.violated(
        `${server.name} took a lane of round ${round} though unit ${unit} has confirmed version ${version} only`,
      );
    }
    const stay = reach(answered, timeline, round);
    stay.taken = Math.max(stay.taken, round);
  }

  function gaveUp(answered: Answered): void {
    const { server, request } = answered;
    if (request.type !== 'pullVersion') return;
    const stay = stays.get(server);
    const { timeline, version } = request;
    if (stay?.timeline !== timeline || stay.first > version || stay.taken > version) return;
    if (led.meant(answered)?.some((unit) => (loaded.get(`${timeline}/${unit}`) ?? 0) > version)) return;
    world.violated(`${server.name} gave version ${version} up before it took a lane of round ${version + 1}`);
  }

  /** Of the last state that the unit was taken with; -1 when it is the cut. Any member may have written it down. */
  function roundOf(unit: number, { rest }: Head, { inSync }: Head): number {
    const entry = rest && world.get(keys.checkpoint(rest.index));
    const files = entry === undefined ? [] : generationsOf(JSON.parse(entry.value) as CheckpointEntry);
    const saved = files.find(({ uuid }) => uuid === rest?.uuid);
    if (saved !== undefined) return saved.round ?? -1;
    const parted = inSync.flatMap(({ token }) => {
      const parting = world.get(keys.parting(BigInt(token)));
      return parting === undefined ? [] : parseParting(parting.key, parting.value).files;
    });
    const ofUnit = parted.filter((file) => shardsIn(file, [unit]).length > 0);
    return Math.max(-1, ...ofUnit.map(({ round }) => round ?? -1));
  }

  /** What was loaded from a file has no version before it. */
  function took(written: Written): void {
    const change = led.changed(written);
    if (change?.before === undefined || change.isMove) return;
    const cut = world.get(keys.cut);
    const timeline = cut === undefined ? 0 : (JSON.parse(cut.value) as { timeline: number }).timeline;
    continued.add(timeline);
    loaded.set(`${timeline}/${change.unit}`, roundOf(change.unit, change.head, change.before));
    const stay = stays.get(written.process);
    if (stay !== undefined) stay.first = Number.POSITIVE_INFINITY;
  }

  return {
    answered(answered) {
      const { server, request, outcome } = answered;
      if (server.role !== 'pserver') return;
      const stay = stays.get(server);
      if (request.type === 'pushLane' && !isPaddletError(outcome) && (stay?.timeline ?? 0) > request.timeline) {
        world.violated(
          `${server.name} accepted a lane of timeline ${request.timeline} after it had gone to ${stay?.timeline}`,
        );
      }
      if (isPaddletError(outcome, 'VersionGone')) gaveUp(answered);
      const named = versionIn(answered);
      if (!isPaddletError(outcome) && outcome.type === 'pushLane' && outcome.outcome === 'taken') tookLane(answered);
      if (named !== undefined) reach(answered, named.timeline, named.version);
      if (request.type === 'pullVersion' && !isPaddletError(outcome))
        reach(answered, request.timeline, request.version);
    },
    wrote(written) {
      took(written);
      const { process, key, value, before } = written;
      if (key !== keys.cut) return;
      const { timeline, round } = JSON.parse(value) as { timeline: number; round: number };
      const last = before === undefined ? 0 : (JSON.parse(before.value) as { timeline: number }).timeline;
      if (timeline === last) return;
      starts.set(timeline, round);
      if (process.role === 'master' && !continued.has(last) && !misled.has(last)) {
        world.violated(`${process.name} found a round of timeline ${last} stuck, though no pserver started in it`);
      }
    },
  };
}
