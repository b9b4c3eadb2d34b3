/**
 * Going back costs work, so it happens only when something is lost: never after a pserver saved its last state, as on a
 * clean stop or in a parting snapshot. When something is lost, the recovery number (or the timeline) says so before
 * anybody can find the shards under their next owner.
 */
import { isPaddletError } from '../../../src/base/errors.ts';
import type { Cut } from '../../../src/checkpoint/registry/cut.ts';
import type { CheckpointEntry } from '../../../src/checkpoint/registry/entry.ts';
import { generationsOf, isClean } from '../../../src/checkpoint/registry/entry.ts';
import { plannedShards } from '../../../src/core/placement.ts';
import type { SimulatedProcess } from '../process.ts';
import { indexOf, type Oracle, type World, type Written } from './oracle.ts';

interface Claim {
  readonly token: string;
  /** When the index was claimed, the last state of its shards was in a file. */
  readonly wasSaved: boolean;
  readonly timeline: number;
  hasRaised: boolean;
}

type HeadValue = { readonly primary: { readonly index: number; readonly token: string } };

export function restores(world: World): Oracle {
  const { keys } = world;
  /** Indexes whose shards have their last state in a file; in sync mode with the timeline of it. */
  const saved = new Map<number, { readonly timeline: number }>();
  /** Processes that changed their shards, with the timeline in which they did. */
  const updated = new WeakMap<SimulatedProcess, number>();
  const claims = new WeakMap<SimulatedProcess, Claim>();
  /** Tasks that a process was asked to close: each new master asks again, which changes nothing. */
  const closed = new WeakMap<SimulatedProcess, Set<string>>();

  const closesMore = (server: SimulatedProcess, tasks: readonly { pass: number; task: number }[]): boolean => {
    const before = closed.get(server) ?? new Set();
    closed.set(server, before);
    const count = before.size;
    for (const { pass, task } of tasks) before.add(`${pass}/${task}`);
    return before.size > count;
  };

  const timelineNow = (): number => {
    const cut = world.get(keys.cut);
    return cut === undefined ? 0 : (JSON.parse(cut.value) as Cut).timeline;
  };

  const ownersOf = (index: number): Set<string> => {
    const shards = plannedShards(index, world.pservers, world.shards);
    const heads = shards.map((shard) => world.get(keys.head(shard)));
    return new Set(heads.map((head) => (head === undefined ? '' : tokenIn(head.value))));
  };

  function claimed({ process }: Written): void {
    const index = indexOf(process);
    const timeline = timelineNow();
    const state = saved.get(index);
    const isOne = ownersOf(index).size === 1;
    const isUsable = world.mode === 'async' || (isOne && state?.timeline === timeline);
    const wasSaved = state !== undefined && isUsable && !world.wasDamaged(index);
    const token = world.get(keys.ps(index))!.createRevision.toString();
    claims.set(process, { token, wasSaved, timeline, hasRaised: false });
  }

  /** The process saved its last state under its own token. */
  function savedBy(index: number, token: string, timeline: number): void {
    if (ownersOf(index).has(token)) saved.set(index, { timeline });
  }

  function raised(process: SimulatedProcess, what: string): void {
    const claim = claims.get(process);
    if (claim === undefined) return;
    claim.hasRaised = true;
    if (!claim.wasSaved || (world.mode === 'sync' && timelineNow() > claim.timeline + 1)) return;
    world.violated(`${process.name} raised the ${what} although the last state of its shards was saved`);
  }

  function tookShard({ process, key, before }: Written): void {
    const claim = claims.get(process);
    if (before === undefined || claim?.hasRaised === true) return;
    // Two that go back to a cut at the same instant put the same value: one raise is enough for both.
    if (world.mode === 'sync' && claim !== undefined && timelineNow() > claim.timeline) return;
    const index = indexOf(process);
    const token = tokenIn(before.value);
    const entry = entryOf(index);
    const parting = world.get(keys.parting(BigInt(token)));
    if (parting !== undefined) {
      // In sync mode the next owner does not publish the snapshot again.
      if (world.mode === 'sync') saved.delete(index);
      else if (!names(entry, (JSON.parse(parting.value) as { uuid: string }).uuid)) {
        world.violated(`${process.name} took ${key}, but no entry names the parting snapshot of its former owner`);
      }
      return;
    }
    if (entry === undefined || !isClean(entry)) {
      world.violated(`${process.name} took ${key}, whose last state is lost, before it raised anything`);
    }
  }

  /** A process that ends by itself has saved what only it has, unless another has its shards, or the job is over. */
  function ended(process: SimulatedProcess): void {
    const claim = claims.get(process);
    if (claim === undefined || updated.get(process) !== timelineNow() || world.get(keys.result) !== undefined) return;
    const index = indexOf(process);
    if (saved.has(index) || !ownersOf(index).has(claim.token) || world.refusedWrites(index)) return;
    world.violated(`${process.name} ended and left no file with the last state of its shards`);
  }

  function entryOf(index: number): CheckpointEntry | undefined {
    const found = world.get(keys.checkpoint(index));
    return found && (JSON.parse(found.value) as CheckpointEntry);
  }

  return {
    wrote(written) {
      const { process, key, value, before } = written;
      if (process.role !== 'pserver') return;
      const index = indexOf(process);
      if (key === keys.ps(index)) claimed(written);
      else if (key === keys.recovery) raised(process, 'recovery number');
      else if (key === keys.cut) raised(process, 'timeline');
      else if (key.startsWith(keys.headsPrefix)) tookShard(written);
      else if (key.startsWith(keys.partingPrefix)) {
        const { timeline } = JSON.parse(value) as CheckpointEntry;
        savedBy(index, key.slice(keys.partingPrefix.length), Number(timeline));
      } else if (key === keys.checkpoint(index) && before?.value !== value) {
        const entry = JSON.parse(value) as CheckpointEntry;
        if (isClean(entry)) savedBy(index, entry.token ?? '', Number(entry.timeline));
        else saved.delete(index);
      }
    },
    ended,
    answered({ server, request, outcome }) {
      if (server.role !== 'pserver' || isPaddletError(outcome)) return;
      const isUpdate =
        (outcome.type === 'push' && outcome.outcome === 'applied') ||
        (outcome.type === 'pushLane' && outcome.outcome === 'taken') ||
        (request.type === 'closeTasks' && closesMore(server, request.tasks));
      if (!isUpdate) return;
      updated.set(server, timelineNow());
      saved.delete(indexOf(server));
    },
  };
}

const tokenIn = (head: string): string => (JSON.parse(head) as HeadValue).primary.token;

const names = (entry: CheckpointEntry | undefined, uuid: string): boolean =>
  entry !== undefined && generationsOf(entry).some((one) => one.uuid === uuid);
