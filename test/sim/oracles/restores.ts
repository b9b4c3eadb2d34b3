/**
 * Going back costs work, so it happens only when something is lost: never after a pserver saved its last state, as on a
 * clean stop or in a parting snapshot. When something is lost, the recovery number (or the timeline) says so before
 * anybody can find the shards under their next owner.
 */
import { EXIT, isPaddletError } from '../../../src/base/errors.ts';
import { coveredShards } from '../../../src/checkpoint/file/coverage.ts';
import type { Cut } from '../../../src/checkpoint/registry/cut.ts';
import { type CheckpointEntry, type Generation, generationsOf } from '../../../src/checkpoint/registry/entry.ts';
import type { PublishedFile } from '../../../src/checkpoint/registry/newest.ts';
import { parseParting } from '../../../src/checkpoint/registry/partings.ts';
import { countedOn, type Head } from '../../../src/cluster/placement/heads.ts';
import { type PserverRecord, parsePserverRecord } from '../../../src/cluster/placement/pserver-record.ts';
import { plannedPrimary } from '../../../src/core/placement.ts';
import type { SimulatedProcess } from '../process.ts';
import type { ChangedPrimary, LedUnits } from './led-units.ts';
import { indexOf, type Oracle, type World, type Written } from './oracle.ts';

interface Claim {
  readonly token: string;
  readonly at: Moment;
  /** Sync mode: when the index was claimed, the last state of the units that it had led was in a file. */
  readonly wasSaved: boolean;
  readonly timeline: number;
  /** When it last raised the number. */
  raisedAt: Moment | undefined;
}

/** What is seen is counted: two things happen at the same millisecond. */
type Moment = number;

export function restores(world: World, led: LedUnits): Oracle {
  const { keys } = world;
  /** Units that have their last state in a file; in sync mode with the timeline of it. */
  const saved = new Map<number, { readonly timeline: number; readonly at: Moment; readonly index: number }>();
  /** By unit: when an update was last acknowledged. */
  const acknowledged = new Map<number, Moment>();
  /** By unit: when it last got another primary because the one before was gone. */
  const taken = new Map<number, Moment>();
  let now: Moment = 0;
  /** When a pserver last raised the number or the timeline. */
  let risenAt: Moment = 0;
  /** Processes that changed their shards, with the timeline in which they did. */
  const updated = new WeakMap<SimulatedProcess, number>();
  const claims = new WeakMap<SimulatedProcess, Claim>();
  /** Units that a process has said it holds: not those that it was still loading when it lost its index. */
  const told = new WeakMap<SimulatedProcess, Set<number>>();
  /** By token: units that were handed over to it. */
  const given = new Map<string, Set<number>>();
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

  const recoveryNow = (): number => Number(world.get(keys.recovery)?.value ?? 0);

  function claimed({ process }: Written): void {
    const index = indexOf(process);
    const timeline = timelineNow();
    const heads = led.all
      .map((unit) => ({ unit, head: led.head(unit) }))
      .filter(({ unit, head }) => (head?.primary.index ?? plannedPrimary(unit, world.pservers)) === index);
    const owned = heads.filter(({ head }) => head !== undefined);
    const states = owned.map(({ unit }) => saved.get(unit));
    const isUsable = states.every((state) => state?.timeline === timeline);
    const isSaved = owned.length > 0 && states.every((state) => state !== undefined);
    const token = world.get(keys.ps(index))!.createRevision.toString();
    claims.set(process, {
      ...{ token, timeline, at: now, raisedAt: undefined },
      wasSaved: isSaved && isUsable && !world.wasDamaged(index),
    });
  }

  function raised(process: SimulatedProcess, what: string): void {
    const claim = claims.get(process);
    if (claim === undefined) return;
    claim.raisedAt = now;
    const isAllowed = world.mode === 'async' ? led.all.some((unit) => mayHaveLost(unit, claim)) : mayGoBack(claim);
    risenAt = now;
    if (isAllowed) return;
    world.violated(`${process.name} raised the ${what} although the last state of all shards was saved`);
  }

  /**
   * The unit has no primary, and its last state was in no file at some time since the process came: it may have looked
   * then. Or another one was quicker to take it. A unit that was handed over has lost nothing.
   */
  function mayHaveLost(unit: number, { at }: Claim): boolean {
    const head = led.head(unit);
    if (head === undefined) return false;
    if ((taken.get(unit) ?? 0) > at) return true;
    if (led.hasCopy(head)) return false;
    const file = saved.get(unit);
    const isOfUse =
      file !== undefined && file.at <= at && (world.mode === 'async' || file.timeline === timelineNow() - 1);
    // Several may have the last state: of these the loader knows only the one that the head names.
    const named = head.rest?.index ?? file?.index;
    return !isOfUse || [file.index, named].some((index) => index !== undefined && world.wasDamaged(index));
  }

  /** Sync mode. What it takes later, of those that do not come back, may have been saved after it had looked. */
  const mayGoBack = (claim: Claim): boolean =>
    led.all.some((unit) => mayBeWithoutCopy(unit)) &&
    (!claim.wasSaved ||
      timelineNow() > claim.timeline + 1 ||
      led.ledBy(claim.token).length > 0 ||
      led.all.some((unit) => mayHaveLost(unit, claim)));

  /** No live process has a copy of the unit, or had one at some time since all went back last. */
  function mayBeWithoutCopy(unit: number): boolean {
    const head = led.head(unit);
    return head === undefined || !led.hasCopy(head) || (taken.get(unit) ?? 0) > risenAt;
  }

  function changedHead(written: Written): void {
    const change = led.changed(written);
    if (change?.before === undefined) rested(written);
    else if (change.isMove || change.isPromotion) gave(written.process, change);
    else {
      took(written.process, change.unit, { head: change.head, last: change.before });
      taken.set(change.unit, now);
    }
  }

  function gave(process: SimulatedProcess, { unit, head: { primary } }: ChangedPrimary): void {
    saved.delete(unit);
    // It may get the unit back, and again not know it.
    told.get(process)?.delete(unit);
    given.set(primary.token, new Set([...(given.get(primary.token) ?? []), unit]));
  }

  function rested({ key, value }: Written): void {
    const unit = Number(key.slice(keys.headsPrefix.length));
    const { rest } = JSON.parse(value) as Head;
    if (rest === undefined) saved.delete(unit);
    else saved.set(unit, { timeline: timelineOf(rest), at: now, index: rest.index });
  }

  function took(process: SimulatedProcess, unit: number, { head, last }: { head: Head; last: Head }): void {
    const claim = claims.get(process);
    const hasRaised = (claim?.raisedAt ?? -1) > (acknowledged.get(unit) ?? 0);
    // Two that go back to a cut at the same instant put the same value: one raise is enough for both.
    const hasRisen = world.mode === 'sync' && claim !== undefined && timelineNow() > claim.timeline;
    if (hasRaised || hasRisen) {
      // Nothing names the file of its last state any more, if it had one.
      if (last.rest === undefined || head.rest?.uuid !== last.rest.uuid) saved.delete(unit);
      return;
    }
    const partings = countedOn(last).flatMap((owner) => partingWith(unit, owner) ?? []);
    const [parting] = partings;
    if (parting !== undefined) {
      if (parting.index !== last.primary.index) world.count('copy loaded that was written down');
      // In sync mode the next owner does not publish the snapshot again.
      const isOthers = partings.some(({ index }) => index !== indexOf(process));
      if (world.mode === 'sync' || (isOthers && head.rest === undefined)) saved.delete(unit);
      else if (!isOthers && !names(entryOf(indexOf(process)), parting.generation.uuid)) {
        world.violated(
          `${process.name} took unit ${unit}, but no entry names the parting snapshot of its former owner`,
        );
      }
    } else if (last.rest === undefined) {
      world.violated(`${process.name} took unit ${unit}, whose last state is lost, before it raised anything`);
    } else if (head.rest?.uuid !== last.rest.uuid) {
      world.violated(`${process.name} took unit ${unit}, and nothing names the file that it loaded as the last state`);
    }
  }

  function timelineOf({ index, uuid }: NonNullable<Head['rest']>): number {
    const entry = entryOf(index);
    const named = entry && generationsOf(entry).find((generation) => generation.uuid === uuid);
    if (named === undefined) world.violated(`a head names ${uuid} of pserver ${index}, which is not published`);
    return named === undefined ? NO_TIMELINE : timelineIn(named);
  }

  function tells(process: SimulatedProcess, { units }: PserverRecord): void {
    const all = told.get(process) ?? new Set();
    told.set(process, all);
    // The record may be put after a unit was given away.
    const token = claims.get(process)?.token;
    for (const { unit } of units) if (led.head(unit)?.primary.token === token) all.add(unit);
  }

  /** The file lacks what its writer had taken but not yet loaded when it lost its index: that is where it was. */
  function parted(token: string, index: number, files: readonly Generation[]): void {
    if (files.length > 1) world.count('parting snapshot of several rounds');
    for (const unit of led.countingOn({ index, token })) {
      const file = files.find((one) => isIn(one, unit));
      if (file === undefined) continue;
      saved.set(unit, { timeline: timelineIn(file), at: now, index });
      if (led.head(unit)!.primary.token !== token) world.count('copy written down');
    }
  }

  function partingWith(unit: number, { index, token }: Head['primary']): PublishedFile | undefined {
    const found = world.get(keys.parting(BigInt(token)));
    const generation = found && parseParting(found.key, found.value).files.find((file) => isIn(file, unit));
    return generation && { index, generation };
  }

  /** A process that ends by itself has saved what only it has, unless another has its shards, or the job is over. */
  function ended(process: SimulatedProcess, code: number): void {
    const claim = claims.get(process);
    if (claim === undefined || updated.get(process) !== timelineNow() || world.get(keys.result) !== undefined) return;
    // One that has lost its index may not know what it got at that very moment.
    const got = code === EXIT.interrupted ? given.get(claim.token) : undefined;
    const isHeld = (unit: number): boolean => told.get(process)?.has(unit) === true || got?.has(unit) === true;
    const isOnlyHere = (unit: number): boolean => led.head(unit)!.inSync.every((one) => !isOther(one, claim.token));
    const left = led.ledBy(claim.token).filter((unit) => isHeld(unit) && !saved.has(unit) && isOnlyHere(unit));
    if (left.length === 0 || world.refusedWrites(indexOf(process))) return;
    world.violated(`${process.name} ended and left no file with the last state of its units ${left.join(', ')}`);
  }

  const isOther = (owner: Head['primary'], token: string): boolean => owner.token !== token && led.isLive(owner);

  function entryOf(index: number): CheckpointEntry | undefined {
    const found = world.get(keys.checkpoint(index));
    return found && (JSON.parse(found.value) as CheckpointEntry);
  }

  return {
    wrote(written) {
      now += 1;
      const { process, key, value } = written;
      if (process.role !== 'pserver') return;
      if (key === keys.ps(indexOf(process))) claimed(written);
      else if (key === keys.recovery) raised(process, 'recovery number');
      else if (key === keys.cut) raised(process, 'timeline');
      else if (key.startsWith(keys.headsPrefix)) changedHead(written);
      else if (key.startsWith(keys.pserversPrefix)) tells(process, parsePserverRecord(key, value));
      else if (key.startsWith(keys.partingPrefix)) {
        parted(key.slice(keys.partingPrefix.length), indexOf(process), parseParting(key, value).files);
      }
    },
    ended,
    answered(answered) {
      const { server, request, outcome } = answered;
      if (server.role !== 'pserver' || isPaddletError(outcome)) return;
      const isUpdate =
        (outcome.type === 'push' && outcome.outcome === 'applied') ||
        (outcome.type === 'pushLane' && outcome.outcome === 'taken') ||
        (request.type === 'closeTasks' && closesMore(server, request.tasks));
      if (!isUpdate) return;
      // Nothing tells it that its machine slept, and that its index is gone. No task ends by what it acknowledges under
      // a number from before: the repair has the push.
      const isUnderOld = server.hadStoppedClock && 'recovery' in outcome && outcome.recovery < recoveryNow();
      now += 1;
      updated.set(server, timelineNow());
      for (const unit of led.meant(answered) ?? []) {
        saved.delete(unit);
        if (!isUnderOld) acknowledged.set(unit, now);
      }
    },
  };
}

const NO_TIMELINE = -1;

const timelineIn = ({ timeline }: Generation): number => Number(timeline);

/** The first shard of a unit has its number. */
const isIn = ({ shards }: Generation, unit: number): boolean => coveredShards(shards!)!.has(unit);

const names = (entry: CheckpointEntry | undefined, uuid: string): boolean =>
  entry !== undefined && generationsOf(entry).some((one) => one.uuid === uuid);
