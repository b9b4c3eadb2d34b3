/**
 * Which live trainers compute which lanes of a job in sync mode (DESIGN §6). What it deals is a hint: a lane that two compute
 * counts once, so nothing has to be saved, and a death, a join or a slow trainer changes who works but never the model.
 *
 * Lanes are shared as evenly and with as few moves as can be (`lane-shares.ts`). A lane that is missing for long while others
 * of its round are in gets a second trainer beside its own. And it counts how often a lane of one and the same round failed
 * or took its trainer with it: such a lane would kill one trainer after the other.
 *
 * A pure machine: `step(event, now)` answers with effects.
 */
import { assert, unreachable } from '../../base/assert.ts';
import { type LaneOwners, shareLanes } from './lane-shares.ts';
import { createSlowness } from './lane-slowness.ts';
import { createRoundPace } from './pace.ts';

export interface LaneDealerOptions {
  readonly lanes: number;
  readonly minTrainers: number;
  readonly maxTrainers: number;
  /** No lane is late before this. */
  readonly floorMs: number;
  /** Of the first assignment; 1 unless given. A master that follows another begins anew: trainers ask it as if they knew none. */
  readonly firstNumber?: number;
}

export type LaneEvent =
  /** All live trainers; new ones in the order in which they joined. */
  | { readonly type: 'roster'; readonly trainers: readonly string[] }
  | { readonly type: 'joined' | 'gone'; readonly trainer: string }
  /** It is about to go, and says so: what it has not brought is no failure. */
  | { readonly type: 'left'; readonly trainer: string }
  /**
   * Where the rounds stand: the lowest version of all pservers and the lanes missing in those that have it. None missing
   * means that nobody waits for lanes.
   */
  | {
      readonly type: 'rounds';
      readonly timeline: number;
      readonly version: number;
      readonly missing: readonly number[];
    }
  /** A trainer could not compute the lane. */
  | { readonly type: 'failed'; readonly trainer: string; readonly round: number; readonly lane: number }
  | { readonly type: 'tick' };

export type LaneEffect =
  /** Another assignment than before: who waits for it is answered. */
  | { readonly type: 'assigned'; readonly number: number }
  /** Find out where the rounds stand now, and report it. */
  | { readonly type: 'look' }
  | {
      readonly type: 'late';
      readonly round: number;
      readonly lane: number;
      readonly slow: string;
      readonly trainer: string;
    }
  /** One more failure of a lane in this round; `failures` in all. `died`: its trainer is gone. */
  | {
      readonly type: 'failure';
      readonly round: number;
      readonly lane: number;
      readonly trainer: string;
      readonly failures: number;
      readonly died: boolean;
    };

export interface LaneAssignment {
  /** Rises with each change. */
  readonly number: number;
  /** The trainers of each lane; the first is its own, more of them help. None while too few trainers live. */
  readonly owners: readonly (readonly string[])[];
}

export interface LaneDealer {
  /** `now` is on any clock that does not go back. */
  step(event: LaneEvent, now: number): LaneEffect[];
  nextDeadline(): number | undefined;
  assignment(): LaneAssignment;
  /** How many are lacking until lanes are dealt. */
  missingTrainers(): number;
  /** How often the lane failed or lost its trainer in that round, whatever the timeline. */
  failures(round: number, lane: number): number;
  /** Lanes that another trainer was asked to compute too, so far. */
  helped(): number;
}

/** Trainers that a lane may have beside its own. */
const MOST_HELPERS = 2;

interface Helper {
  readonly trainer: string;
  /** It helps until so many rounds have passed in all. */
  readonly until: number;
}

interface Round {
  readonly timeline: number;
  readonly version: number;
  sinceMs: number;
  missing: ReadonlySet<number>;
  /** When to look whether lanes are late. */
  lookMs: number;
  readonly lateMs: number | undefined;
  /** Lanes that got help in this round, and trainers that it was counted against. */
  readonly helped: Set<number>;
  readonly penalized: Set<string>;
  /** Lanes that lost their trainers since the last look; it died of the lane if it is missing then. */
  readonly orphaned: Map<number, string>;
}

export function createLaneDealer(options: LaneDealerOptions): LaneDealer {
  const { lanes, minTrainers, maxTrainers, floorMs } = options;
  assert(lanes >= 1 && maxTrainers >= 1, 'there is a lane, and a trainer may work');
  const pace = createRoundPace(floorMs);
  const slowness = createSlowness();
  /** In the order in which they joined. */
  const live = new Set<string>();
  /** Still in the roster, though they have left. */
  const leaving = new Set<string>();
  /** Kept while too few trainers live, so that those who have lanes get them again. */
  let own: LaneOwners = Array.from({ length: lanes }, () => undefined);
  const helpers = new Map<number, readonly Helper[]>();
  const failures = new Map<string, number>();
  let round: Round | undefined;
  let helpGiven = 0;
  let assignment: LaneAssignment = { number: options.firstNumber ?? 1, owners: own.map(() => []) };
  /** Filled during one step. */
  let effects: LaneEffect[] = [];
  let isTouched = false;

  const isDealing = (): boolean => live.size > 0 && live.size >= minTrainers;
  const working = (): string[] => [...live].slice(0, Math.min(maxTrainers, lanes));
  const helpersOf = (lane: number): readonly Helper[] => helpers.get(lane) ?? [];

  function share(): void {
    isTouched = true;
    if (isDealing()) own = shareLanes(own, working(), slowness.handicapOf);
  }

  function helpUntil(lane: number, keep: (helper: Helper) => boolean): void {
    const kept = helpersOf(lane).filter(keep);
    isTouched ||= kept.length < helpersOf(lane).length;
    if (kept.length === 0) helpers.delete(lane);
    else helpers.set(lane, kept);
  }

  function joined(trainer: string): void {
    if (!leaving.has(trainer)) live.add(trainer);
  }

  function died(trainer: string): void {
    leaving.delete(trainer);
    if (!live.has(trainer)) return;
    own.forEach((owner, lane) => {
      if (owner !== trainer || round?.missing.has(lane) !== true) return;
      round.orphaned.set(lane, trainer);
      if (!effects.some(({ type }) => type === 'look')) effects.push({ type: 'look' });
    });
    remove(trainer);
  }

  function remove(trainer: string): void {
    live.delete(trainer);
    slowness.left(trainer);
    for (const lane of [...helpers.keys()]) helpUntil(lane, (helper) => helper.trainer !== trainer);
  }

  function roster(trainers: readonly string[]): void {
    const now = new Set(trainers);
    for (const trainer of [...live, ...leaving]) if (!now.has(trainer)) died(trainer);
    for (const trainer of trainers) joined(trainer);
  }

  function rounds(event: Extract<LaneEvent, { type: 'rounds' }>, now: number): void {
    const { timeline, version } = event;
    // Seen before what is known already.
    if (round !== undefined && isOlder(event, round)) return;
    if (round?.timeline !== timeline || round.version !== version) beginRound(event, now);
    else if (event.missing.some((lane) => !round!.missing.has(lane))) {
      // A pserver lost the lanes it had: they cannot be late yet.
      round.sinceMs = now;
      round.lookMs = now + (round.lateMs ?? 0);
    }
    round!.missing = new Set(event.missing);
    for (const [lane, trainer] of round!.orphaned) if (round!.missing.has(lane)) failed(version, lane, trainer, true);
    round!.orphaned.clear();
    helpLate(round!, now);
  }

  function beginRound({ timeline, version, missing }: Extract<LaneEvent, { type: 'rounds' }>, now: number): void {
    if (round !== undefined && round.timeline === timeline) {
      const passed = version - round.version;
      for (let i = 0; i < Math.min(passed, lanes); i++) pace.took((now - round.sinceMs) / passed);
      // Not before: a lane that is moved is begun anew.
      if (slowness.passed(passed) || round.penalized.size > 0) share();
      for (const lane of [...helpers.keys()]) helpUntil(lane, ({ until }) => until > slowness.rounds());
    }
    // A round that is over was computed, so its lanes kill nobody.
    for (const name of [...failures.keys()]) if (Number.parseInt(name, 10) < version) failures.delete(name);
    const lateMs = pace.lateMs();
    round = {
      timeline,
      version,
      sinceMs: now,
      missing: new Set(missing),
      lookMs: now + (lateMs ?? 0),
      lateMs,
      helped: new Set(),
      penalized: new Set(),
      orphaned: new Map(),
    };
  }

  function failed(version: number, lane: number, trainer: string, died: boolean): void {
    const name = `${version}/${lane}`;
    const count = (failures.get(name) ?? 0) + 1;
    failures.set(name, count);
    effects.push({ type: 'failure', round: version, lane, trainer, failures: count, died });
  }

  /** While no lane is there, it is not for a slow trainer that the round does not end. */
  function helpLate(current: Round, now: number): void {
    const { lateMs, missing } = current;
    if (lateMs === undefined || !isDealing() || now - current.sinceMs < lateMs) return;
    current.lookMs = now + lateMs;
    if (missing.size === lanes) return;
    for (const lane of [...missing].sort((a, b) => a - b)) help(current, lane);
  }

  function help(current: Round, lane: number): void {
    const slow = own[lane]!;
    const already = helpersOf(lane);
    if (current.helped.has(lane) || already.length >= MOST_HELPERS) return;
    const trainer = leastLoaded(current, [slow, ...already.map((helper) => helper.trainer)]);
    if (trainer === undefined) return;
    current.helped.add(lane);
    // What a trainer is late with in one round is one sign of slowness, however many lanes it has.
    const helpRounds = current.penalized.has(slow) ? slowness.helpRoundsOf(slow) : slowness.strike(slow);
    current.penalized.add(slow);
    helpers.set(lane, [...already, { trainer, until: slowness.rounds() + helpRounds }]);
    helpGiven += 1;
    isTouched = true;
    effects.push({ type: 'late', round: current.version, lane, slow, trainer });
  }

  /** Of those that stand by or are done with the round, the one with the least to do; of equal ones, who stands by. */
  function leastLoaded({ missing }: Round, but: readonly string[]): string | undefined {
    const load = new Map<string, number>([...live].reverse().map((trainer) => [trainer, 0]));
    const busy = new Set<string>(but);
    own.forEach((owner, lane) => {
      if (missing.has(lane)) busy.add(owner!);
      for (const trainer of [owner!, ...helpersOf(lane).map((helper) => helper.trainer)]) {
        load.set(trainer, (load.get(trainer) ?? 0) + 1);
      }
    });
    let best: string | undefined;
    for (const [trainer, count] of load) {
      if (!live.has(trainer) || busy.has(trainer)) continue;
      if (best === undefined || count < load.get(best)!) best = trainer;
    }
    return best;
  }

  function handle(event: LaneEvent, now: number): void {
    switch (event.type) {
      case 'roster':
        roster(event.trainers);
        share();
        return;
      case 'joined':
        joined(event.trainer);
        share();
        return;
      case 'left':
        if (live.has(event.trainer)) leaving.add(event.trainer);
        remove(event.trainer);
        share();
        return;
      case 'gone':
        died(event.trainer);
        share();
        return;
      case 'rounds':
        rounds(event, now);
        return;
      case 'failed':
        if (round === undefined || event.round < round.version) return;
        failed(event.round, event.lane, event.trainer, false);
        // Another may be able to, as when only one lacks a file.
        if (event.round === round.version && own[event.lane] === event.trainer && isDealing()) help(round, event.lane);
        return;
      case 'tick':
        if (round === undefined || !isDue(round) || now < round.lookMs) return;
        round.lookMs = now + round.lateMs!;
        effects.push({ type: 'look' });
        return;
      default:
        unreachable(event);
    }
  }

  const isDue = ({ lateMs, missing }: Round): boolean => lateMs !== undefined && missing.size > 0 && isDealing();

  function assign(): void {
    if (!isTouched) return;
    isTouched = false;
    const owners = own.map((owner, lane) =>
      isDealing() ? [...new Set([owner!, ...helpersOf(lane).map(({ trainer }) => trainer)])] : [],
    );
    const isSame = owners.every((trainers, lane) => isEqual(trainers, assignment.owners[lane]!));
    if (isSame) return;
    assignment = { number: assignment.number + 1, owners };
    effects.push({ type: 'assigned', number: assignment.number });
  }

  return {
    step(event, now) {
      effects = [];
      handle(event, now);
      assign();
      return effects;
    },
    nextDeadline: () => (round === undefined || !isDue(round) ? undefined : round.lookMs),
    assignment: () => assignment,
    missingTrainers: () => Math.max(0, minTrainers - live.size),
    failures: (version, lane) => failures.get(`${version}/${lane}`) ?? 0,
    helped: () => helpGiven,
  };
}

const isOlder = (a: { timeline: number; version: number }, b: { timeline: number; version: number }): boolean =>
  a.timeline < b.timeline || (a.timeline === b.timeline && a.version < b.version);

const isEqual = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((value, i) => value === b[i]);
