/**
 * Which live trainers compute which lanes of a job in sync mode (docs/modes.md). What it hands out is a hint: a
 * lane that two compute counts once, so nothing has to be saved, and a death, a join or a slow trainer changes who
 * works but never the model.
 *
 * Lanes are shared as evenly and with as few moves as can be (lane-shares.ts). A lane that is missing for long while
 * others of its round have arrived gets a second trainer beside its own. And it counts how often a lane of one and the
 * same round failed or took its trainer with it: such a lane would kill one trainer after the other.
 *
 * A pure machine: `step(event, now)` answers with effects (lane-events.ts).
 */
import { assert, unreachable } from '../../base/assert.ts';
import type { LaneAssignment, LaneDealer, LaneDealerOptions, LaneEffect, LaneEvent } from './lane-events.ts';
import { createLaneHelpers, type Helper, leastLoaded } from './lane-helpers.ts';
import { type LaneOwners, shareLanes } from './lane-shares.ts';
import { createSlowness } from './lane-slowness.ts';
import { createRoundPace, type RoundPace } from './pace.ts';

/** Trainers that a lane may have beside its own. */
const MOST_HELPERS = 2;
/** A lane is late at this age while too little is known of the rounds. */
const FIRST_LATE_MS = 10_000;
/** Multiple of the age at which a lane is late, after which its helpers are replaced. */
const VERY_LATE = 10;

type RoundsEvent = Extract<LaneEvent, { type: 'rounds' }>;

interface Round {
  readonly timeline: number;
  readonly version: number;
  sinceMs: number;
  missing: ReadonlySet<number>;
  /** When to look whether lanes are late. */
  lookMs: number;
  readonly lateMs: number;
  /** Lanes that got help in this round, and when last; and trainers that it was counted against. */
  readonly helped: Map<number, number>;
  /** Helpers that a lane was still missing of. */
  readonly silent: Set<string>;
  readonly penalized: Set<string>;
  /** Lanes that lost their trainers since the last look; it died of the lane if it is missing then. */
  readonly orphaned: Map<number, string>;
}

export const createLaneDealer = (options: LaneDealerOptions): LaneDealer => new Dealer(options);

class Dealer implements LaneDealer {
  readonly #options: LaneDealerOptions;
  readonly #pace: RoundPace;
  readonly #slowness = createSlowness();
  readonly #helpers = createLaneHelpers();
  /** Live trainers in the order in which they joined. */
  readonly #live = new Set<string>();
  /** Still in the roster, though they have left. */
  readonly #leaving = new Set<string>();
  /** Keyed by round and lane. */
  readonly #failures = new Map<string, number>();
  /** The own trainer of each lane. Kept while too few trainers live, so that those who have lanes get them again. */
  #own: LaneOwners;
  #round: Round | undefined;
  #helpGiven = 0;
  #assignment: LaneAssignment;
  /** Filled during one step. */
  #effects: LaneEffect[] = [];
  #isTouched = false;

  constructor(options: LaneDealerOptions) {
    const { lanes, maxTrainers, floorMs, firstNumber = 1 } = options;
    assert(lanes >= 1 && maxTrainers >= 1, 'there is a lane, and a trainer may work');
    this.#options = options;
    this.#pace = createRoundPace(floorMs);
    this.#own = Array.from({ length: lanes }, () => undefined);
    this.#assignment = { number: firstNumber, owners: this.#own.map(() => []) };
  }

  step(event: LaneEvent, now: number): LaneEffect[] {
    this.#effects = [];
    this.#handle(event, now);
    this.#assign();
    return this.#effects;
  }

  nextDeadline(): number | undefined {
    return this.#round === undefined || !this.#isDue(this.#round) ? undefined : this.#round.lookMs;
  }

  assignment(): LaneAssignment {
    return this.#assignment;
  }

  missingTrainers(): number {
    return Math.max(0, this.#options.minTrainers - this.#live.size);
  }

  failures(round: number, lane: number): number {
    return this.#failures.get(`${round}/${lane}`) ?? 0;
  }

  hasLane(trainer: string, round: number, lane: number): boolean {
    const current = this.#round?.version;
    if (current === undefined || round < current || round > current + 1) return false;
    return this.#assignment.owners[lane]?.includes(trainer) === true;
  }

  helped(): number {
    return this.#helpGiven;
  }

  #handle(event: LaneEvent, now: number): void {
    switch (event.type) {
      case 'roster':
        this.#roster(event.trainers);
        this.#share();
        return;
      case 'joined':
        this.#joined(event.trainer);
        this.#share();
        return;
      case 'asks':
        if (!this.#leaving.delete(event.trainer)) return;
        this.#live.add(event.trainer);
        this.#share();
        return;
      case 'left':
        if (this.#live.has(event.trainer)) this.#leaving.add(event.trainer);
        this.#remove(event.trainer);
        this.#share();
        return;
      case 'gone':
        this.#died(event.trainer);
        this.#share();
        return;
      case 'rounds':
        this.#rounds(event, now);
        return;
      case 'failed':
        this.#reportedFailure(event);
        return;
      case 'tick':
        this.#tick(now);
        return;
      default:
        unreachable(event);
    }
  }

  // ---- trainers and their shares

  #isDealing(): boolean {
    return this.#live.size > 0 && this.#live.size >= this.#options.minTrainers;
  }

  #share(): void {
    this.#isTouched = true;
    if (!this.#isDealing()) return;
    const { maxTrainers, lanes } = this.#options;
    const working = [...this.#live].slice(0, Math.min(maxTrainers, lanes));
    this.#own = shareLanes(this.#own, working, this.#slowness.handicapOf);
  }

  #roster(trainers: readonly string[]): void {
    const now = new Set(trainers);
    for (const trainer of [...this.#live, ...this.#leaving]) if (!now.has(trainer)) this.#died(trainer);
    for (const trainer of trainers) this.#joined(trainer);
  }

  #joined(trainer: string): void {
    if (!this.#leaving.has(trainer)) this.#live.add(trainer);
  }

  #died(trainer: string): void {
    this.#leaving.delete(trainer);
    if (!this.#live.has(trainer)) return;
    this.#own.forEach((owner, lane) => {
      if (owner !== trainer || this.#round?.missing.has(lane) !== true) return;
      this.#round.orphaned.set(lane, trainer);
      if (!this.#effects.some(({ type }) => type === 'look')) this.#effects.push({ type: 'look' });
    });
    this.#remove(trainer);
  }

  #remove(trainer: string): void {
    this.#live.delete(trainer);
    this.#slowness.left(trainer);
    this.#keepHelpers((helper) => helper.trainer !== trainer);
  }

  #keepHelpers(holds: (helper: Helper) => boolean): void {
    if (this.#helpers.keep(holds)) this.#isTouched = true;
  }

  // ---- rounds

  #rounds(event: RoundsEvent, now: number): void {
    const { timeline, version } = event;
    const before = this.#round;
    // Seen before what is known already.
    if (before !== undefined && isOlder(event, before)) return;
    let round = before;
    if (round?.timeline !== timeline || round.version !== version) {
      round = this.#beginRound(event, now);
    } else if (event.missing.some((lane) => !round!.missing.has(lane))) {
      // A pserver lost the lanes it had: they cannot be late yet.
      round.sinceMs = now;
      round.lookMs = now + round.lateMs;
    }
    round.missing = new Set(event.missing);
    for (const [lane, trainer] of round.orphaned) {
      if (round.missing.has(lane)) this.#countFailure(version, lane, trainer, true);
    }
    round.orphaned.clear();
    this.#helpLate(round, now);
  }

  #beginRound({ timeline, version, missing }: RoundsEvent, now: number): Round {
    if (this.#round !== undefined && this.#round.timeline === timeline) {
      this.#roundsPassed(this.#round, version - this.#round.version, now);
    }
    // A round that is over was computed, so its lanes kill no trainer.
    for (const name of [...this.#failures.keys()]) {
      if (Number.parseInt(name, 10) < version) this.#failures.delete(name);
    }
    const lateMs = this.#pace.lateMs() ?? FIRST_LATE_MS;
    this.#round = {
      timeline,
      version,
      sinceMs: now,
      missing: new Set(missing),
      lookMs: now + lateMs,
      lateMs,
      helped: new Map(),
      silent: new Set(),
      penalized: new Set(),
      orphaned: new Map(),
    };
    return this.#round;
  }

  #roundsPassed(round: Round, passed: number, now: number): void {
    for (let i = 0; i < Math.min(passed, this.#options.lanes); i++) this.#pace.finished((now - round.sinceMs) / passed);
    // Not before the round is over: a lane that is moved starts again.
    if (this.#slowness.passed(passed) || round.penalized.size > 0) this.#share();
    this.#keepHelpers(({ until }) => until > this.#slowness.rounds());
  }

  #tick(now: number): void {
    const round = this.#round;
    if (round === undefined || !this.#isDue(round) || now < round.lookMs) return;
    round.lookMs = now + round.lateMs;
    this.#effects.push({ type: 'look' });
  }

  #isDue({ missing }: Round): boolean {
    return missing.size > 0 && this.#isDealing();
  }

  // ---- failures and help

  #reportedFailure({ round, lane, trainer }: Extract<LaneEvent, { type: 'failed' }>): void {
    const current = this.#round;
    if (current === undefined || !this.hasLane(trainer, round, lane)) return;
    this.#countFailure(round, lane, trainer, false);
    // Another may be able to, as when only one lacks a file.
    if (round === current.version && this.#own[lane] === trainer && this.#isDealing()) {
      this.#help(current, lane, current.sinceMs);
    }
  }

  #countFailure(version: number, lane: number, trainer: string, died: boolean): void {
    const failures = this.failures(version, lane) + 1;
    this.#failures.set(`${version}/${lane}`, failures);
    this.#effects.push({ type: 'failure', round: version, lane, trainer, failures, died });
  }

  /** While all lanes are missing, a slow trainer is not what the round waits for, unless it is very late. */
  #helpLate(round: Round, now: number): void {
    const { lateMs, missing } = round;
    const ageMs = now - round.sinceMs;
    if (!this.#isDealing() || ageMs < lateMs) return;
    round.lookMs = now + lateMs;
    if (missing.size === this.#options.lanes && ageMs < VERY_LATE * lateMs) return;
    for (const lane of [...missing].sort((a, b) => a - b)) this.#help(round, lane, now);
  }

  #help(round: Round, lane: number, now: number): void {
    const slow = this.#own[lane]!;
    const helpedMs = round.helped.get(lane);
    if (helpedMs !== undefined && now - helpedMs < VERY_LATE * round.lateMs) return;
    // Those that help it are silent as well: others take their places.
    if (helpedMs !== undefined) this.#replaceHelpers(round, lane);
    const already = this.#helpers.of(lane);
    if (already.length >= MOST_HELPERS) return;
    const but = [slow, ...already.map((helper) => helper.trainer)];
    const trainer = this.#freeTrainer(round, [...but, ...round.silent]) ?? this.#freeTrainer(round, but);
    if (trainer === undefined) return;
    round.helped.set(lane, now);
    // What a trainer is late with in one round is one sign of slowness, however many lanes it has.
    const isCounted = round.penalized.has(slow);
    const helpRounds = isCounted ? this.#slowness.helpRoundsOf(slow) : this.#slowness.strike(slow);
    round.penalized.add(slow);
    this.#helpers.add(lane, { trainer, until: this.#slowness.rounds() + helpRounds });
    this.#helpGiven += 1;
    this.#isTouched = true;
    this.#effects.push({ type: 'late', round: round.version, lane, slow, trainer });
  }

  #replaceHelpers(round: Round, lane: number): void {
    const silent = new Set(this.#helpersOf(lane));
    for (const trainer of silent) round.silent.add(trainer);
    this.#keepHelpers((helper) => !silent.has(helper.trainer));
  }

  /** A trainer that stands by or is done with the round. */
  #freeTrainer({ missing }: Round, but: readonly string[]): string | undefined {
    const busy = new Set<string>([...but, ...this.#own.filter((_, lane) => missing.has(lane)).map((owner) => owner!)]);
    const assigned = this.#own.flatMap((owner, lane) => [owner!, ...this.#helpersOf(lane)]);
    return leastLoaded(this.#live, busy, assigned);
  }

  #helpersOf(lane: number): string[] {
    return this.#helpers.of(lane).map(({ trainer }) => trainer);
  }

  #assign(): void {
    if (!this.#isTouched) return;
    this.#isTouched = false;
    const isDealing = this.#isDealing();
    const owners = this.#own.map((owner, lane) => (isDealing ? [...new Set([owner!, ...this.#helpersOf(lane)])] : []));
    if (owners.every((trainers, lane) => isEqual(trainers, this.#assignment.owners[lane]!))) return;
    this.#assignment = { number: this.#assignment.number + 1, owners };
    this.#effects.push({ type: 'assigned', number: this.#assignment.number });
  }
}

const isOlder = (a: { timeline: number; version: number }, b: { timeline: number; version: number }): boolean =>
  a.timeline < b.timeline || (a.timeline === b.timeline && a.version < b.version);

const isEqual = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((value, i) => value === b[i]);
