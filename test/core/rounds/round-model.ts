/**
 * All that can happen to the rounds of sync mode, with two pservers, two lanes and three rounds (docs/modes.md):
 * which states can be reached, and from which of them the end can be. The pservers decide by the real gate.
 *
 * A worker computes one lane; it may die at any time and be replaced by one that knows nothing. What was sent may
 * arrive at any time, any number of times, or never, even when its sender is dead. A pserver may restart with what it
 * had applied, or lose everything: then all go back to the cut, each when it notices. Where units move, each pserver of
 * the model is a unit of shards, and `leaders` has the pserver that leads it.
 */
import { createRoundGate, type RoundGate } from '../../../src/core/rounds/gate.ts';

export const PSERVERS = 2;
export const LANES = 2;
export const ROUNDS = 3;
const ALL_PSERVERS = 2 ** PSERVERS - 1;
const ALL_LANES = 2 ** LANES - 1;
const CUT_ROUND = 1;

export interface ModelOptions {
  /** The lane of each worker. */
  readonly workers: readonly number[];
  /**
   * Pservers that have to confirm a version before a lane computed from it is pushed: by the rule all of them,
   * without it those that have what the lane needs.
   */
  readonly confirming: number;
  /** How many restarts of pservers there may be. */
  readonly restarts: number;
  /** How often a unit may move to another pserver. Default: never. */
  readonly moves?: number;
  /** What a worker remembers to have confirmed a version. By the rule units, which is the default. */
  readonly confirmedBy?: 'unit' | 'pserver';
  /** A unit that moves does not bring the version before. */
  readonly movesWithoutPrevious?: boolean;
  /** Workers may start over where they would have to wait: a way out that none should need. */
  readonly mayBeginAnew?: boolean;
}

/** By the rule, and for a lane that needs values of the first pserver only. */
export const BY_THE_RULE = ALL_PSERVERS;
export const WHAT_IT_NEEDS = 1;

export interface PserverState {
  readonly timeline: number;
  readonly version: number;
  /** Sets of lanes: here, and applied so far (bit `LANES × round + lane`). */
  readonly here: number;
  readonly folded: number;
  readonly keepsPrevious: boolean;
  /** Set of pushes that were sent to it and may still matter (bit `nameOf`). */
  readonly sent: number;
  /** It restarted in this timeline, and did not bring back the version before the last. */
  readonly restarted: boolean;
}

interface Push {
  readonly timeline: number;
  readonly round: number;
  readonly lane: number;
}

interface WorkerState {
  readonly timeline: number;
  /** It has what it computed for this round, if `computed`; else it is asking for this version. */
  readonly version: number;
  readonly computed: boolean;
  /**
   * Set of units, or of pservers, that confirmed the version that it asks for: this one, or the next when this one is
   * computed.
   */
  readonly confirmed: number;
}

export interface ModelState {
  readonly timeline: number;
  readonly cut: number;
  readonly restarts: number;
  readonly moves: number;
  readonly leaders: readonly number[];
  readonly pservers: readonly PserverState[];
  /** Undefined: it has yet to find out where the rounds stand. */
  readonly workers: readonly (WorkerState | undefined)[];
}

export interface Step {
  readonly to: ModelState;
  /** No process may rely on it. */
  readonly isFault: boolean;
}

const START: PserverState = {
  timeline: 0,
  version: 0,
  here: 0,
  folded: 0,
  keepsPrevious: false,
  sent: 0,
  restarted: false,
};

export const firstState = ({ workers }: ModelOptions): ModelState => ({
  timeline: 0,
  cut: 0,
  restarts: 0,
  moves: 0,
  leaders: Array.from({ length: PSERVERS }, (_, p) => p),
  pservers: Array.from({ length: PSERVERS }, () => START),
  workers: workers.map(() => undefined),
});

export const isEnd = ({ timeline, pservers }: ModelState): boolean =>
  pservers.every((one) => one.timeline === timeline && one.version === ROUNDS);

/** A gate that went the way there. */
function gateOf({ timeline, version, here, keepsPrevious }: PserverState): RoundGate {
  const gate = createRoundGate({ timeline, version: keepsPrevious ? version - 1 : version, lanes: LANES });
  if (keepsPrevious) {
    for (let lane = 0; lane < LANES; lane++) gate.accepted(lane);
    gate.advance();
  }
  for (let lane = 0; lane < LANES; lane++) if ((here & (1 << lane)) !== 0) gate.accepted(lane);
  return gate;
}

const gates = new Map<number, RoundGate>();

/** To ask only. */
function judgeOf(pserver: PserverState): RoundGate {
  const { timeline, version, here, keepsPrevious } = pserver;
  const key = (((timeline * 8 + version) * 4 + here) << 1) | Number(keepsPrevious);
  let gate = gates.get(key);
  if (gate === undefined) {
    gate = gateOf(pserver);
    gates.set(key, gate);
  }
  return gate;
}

const nameOf = ({ timeline, round, lane }: Push): number => (timeline * ROUNDS + round) * LANES + lane;

/** What is past can never be taken again: whether it is still under way makes no difference. */
function forgetPast(pserver: PserverState): PserverState {
  const past = 2 ** nameOf({ timeline: pserver.timeline, round: pserver.version, lane: 0 }) - 1;
  return (pserver.sent & past) === 0 ? pserver : { ...pserver, sent: pserver.sent & ~past };
}

function pushesIn(sent: number): Push[] {
  const pushes: Push[] = [];
  for (let left = sent, name = 0; left > 0; left >>>= 1, name++) {
    const place = Math.floor(name / LANES);
    if (left % 2 === 1)
      pushes.push({ timeline: Math.floor(place / ROUNDS), round: place % ROUNDS, lane: name % LANES });
  }
  return pushes;
}

const foldedAt = (version: number): number => 2 ** (LANES * version) - 1;

/** Breaks when the gate lets in what must not be. */
function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(`the model is broken: ${what}`);
}

function deliver(pserver: PserverState, push: Push): PserverState {
  if (judgeOf(pserver).judgeLane(push) !== 'take') return pserver;
  const gate = gateOf(pserver);
  check(push.timeline === pserver.timeline && push.round === pserver.version, 'a lane of another round is taken');
  const isComplete = gate.accepted(push.lane);
  const here = pserver.here | (1 << push.lane);
  if (!isComplete) return { ...pserver, here, keepsPrevious: false };
  check(here === ALL_LANES, 'a round is complete without all its lanes');
  const lanes = ALL_LANES << (LANES * push.round);
  check((pserver.folded & lanes) === 0, 'a lane is applied twice');
  gate.advance();
  const keepsPrevious = gate.oldest() < gate.version();
  return forgetPast({ ...pserver, version: gate.version(), here: 0, folded: pserver.folded | lanes, keepsPrevious });
}

/** What the worker knows after an answer that is of these; undefined when it has to start over. */
function pull(worker: WorkerState, of: readonly PserverState[], bit: number, confirming: number) {
  const version = worker.computed ? worker.version + 1 : worker.version;
  const verdicts = of.map((one) => judgeOf(one).judgePull({ timeline: worker.timeline, version }));
  if (verdicts.includes('gone') || verdicts.includes('otherTimeline')) return undefined;
  if (verdicts.includes('wait')) return worker;
  of.forEach(({ folded }, i) => {
    const behind = verdicts[i] === 'previous' ? 1 : 0;
    check(folded === foldedAt(version + behind), 'a version is not what the rounds before it made');
  });
  const confirmed = worker.confirmed | bit;
  if ((confirmed & confirming) !== confirming) return { ...worker, confirmed };
  return { timeline: worker.timeline, version, computed: version < ROUNDS, confirmed: 0 };
}

/** All that the worker may know next. */
function pulls(state: ModelState, worker: WorkerState, options: ModelOptions): (WorkerState | undefined)[] {
  const { pservers, leaders } = state;
  if (options.confirmedBy !== 'pserver') {
    return pservers.map((one, p) => pull(worker, [one], 1 << p, options.confirming));
  }
  const confirming = leaders.reduce((all, leader) => all | (1 << leader), 0);
  const led = (leader: number): PserverState[] => pservers.filter((_, p) => leaders[p] === leader);
  const answered = [...new Set(leaders)].map((leader) => pull(worker, led(leader), 1 << leader, confirming));
  // It remembers enough without another answer, by the pservers that lead the units now.
  if (!worker.computed || (worker.confirmed & confirming) !== confirming) return answered;
  const { timeline, version } = worker;
  return [...answered, { timeline, version: version + 1, computed: false, confirmed: 0 }];
}

/** The unit moves to the other pserver, without its lanes; what was sent to the one before is refused. */
function moved(state: ModelState, p: number, { movesWithoutPrevious }: ModelOptions): ModelState {
  const unit = state.pservers[p]!;
  const keepsPrevious = movesWithoutPrevious !== true && unit.keepsPrevious;
  return {
    ...state,
    moves: state.moves + 1,
    leaders: put(state.leaders, p, (state.leaders[p]! + 1) % PSERVERS),
    pservers: put(state.pservers, p, { ...unit, here: 0, keepsPrevious, sent: 0 }),
  };
}

function put<T>(all: readonly T[], at: number, one: T): T[] {
  const copy = [...all];
  copy[at] = one;
  return copy;
}

const backAt = (cut: number, timeline: number, { sent }: PserverState): PserverState =>
  forgetPast({ ...START, timeline, version: cut, folded: foldedAt(cut), sent });

export const lowestVersion = ({ pservers }: ModelState): number => Math.min(...pservers.map(({ version }) => version));

/** Some pserver wants a lane that cannot be computed any more, unless somebody has it still. */
export const isLost = (state: ModelState): boolean =>
  state.pservers.some(
    (one) => judgeOf(one).judgePull({ timeline: one.timeline, version: lowestVersion(state) }) === 'gone',
  );

export const isOneTimeline = ({ pservers, timeline }: ModelState): boolean =>
  pservers.every((one) => one.timeline === timeline);

export function stepsFrom(state: ModelState, options: ModelOptions): Step[] {
  const steps: Step[] = [];
  const add = (to: ModelState, isFault = false): void => void steps.push({ to, isFault });
  state.workers.forEach((worker, w) => {
    const become = (next: WorkerState | undefined): ModelState => ({ ...state, workers: put(state.workers, w, next) });
    if (worker === undefined) {
      if (!isOneTimeline(state)) return;
      const { timeline } = state;
      add(become({ timeline, version: lowestVersion(state), computed: false, confirmed: 0 }));
      return;
    }
    add(become(undefined), options.mayBeginAnew !== true);
    for (const next of pulls(state, worker, options)) if (next !== worker) add(become(next));
    state.pservers.forEach((pserver, p) => {
      if (!worker.computed) return;
      const push: Push = { timeline: worker.timeline, round: worker.version, lane: options.workers[w]! };
      const sent = pserver.sent | (2 ** nameOf(push));
      if (sent === pserver.sent) return;
      add({ ...state, pservers: put(state.pservers, p, forgetPast({ ...pserver, sent })) });
    });
  });
  state.pservers.forEach((pserver, p) => {
    const become = (next: PserverState): readonly PserverState[] => put(state.pservers, p, next);
    for (const push of pushesIn(pserver.sent)) {
      const next = deliver(pserver, push);
      if (next !== pserver) add({ ...state, pservers: become(next) });
      // It does not arrive any more.
      const sent = pserver.sent & ~(2 ** nameOf(push));
      add({ ...state, pservers: become({ ...pserver, sent }) }, true);
    }
    if (pserver.timeline < state.timeline) {
      add({ ...state, pservers: become(backAt(state.cut, state.timeline, pserver)) });
    }
    if (state.moves < (options.moves ?? 0)) add(moved(state, p, options), true);
    if (state.restarts >= options.restarts) return;
    const restarts = state.restarts + 1;
    const restarted = { ...pserver, here: 0, keepsPrevious: false, restarted: true };
    add({ ...state, restarts, pservers: become(restarted) }, true);
    const timeline = state.timeline + 1;
    const lost = { ...state, restarts, timeline, pservers: become(backAt(state.cut, timeline, pserver)) };
    add(lost, true);
  });
  // Each pserver saved the cut when it was there.
  if (state.cut === 0 && isOneTimeline(state) && lowestVersion(state) >= CUT_ROUND) {
    add({ ...state, cut: CUT_ROUND });
  }
  const mayBeStuck = isOneTimeline(state) && state.pservers.some(({ restarted }) => restarted) && isLost(state);
  if (mayBeStuck) add({ ...state, timeline: state.timeline + 1 });
  return steps;
}

/** Equal for equal states only. */
export function keyOf({ timeline, cut, restarts, moves, leaders, pservers, workers }: ModelState): string {
  const codes = [(timeline * 2 + cut) * 8 + restarts, moves * 4 + leaders[0]! * 2 + leaders[1]!];
  for (const one of pservers) {
    codes.push(
      (((one.timeline * 8 + one.version) * 4 + one.here) * 2 + Number(one.keepsPrevious)) * 2 + Number(one.restarted),
    );
    codes.push(one.folded);
    codes.push(one.sent % 2 ** 15, Math.floor(one.sent / 2 ** 15));
  }
  for (const one of workers) {
    codes.push(
      one === undefined ? 0 : 1 + ((one.timeline * 8 + one.version) * 2 + Number(one.computed)) * 4 + one.confirmed,
    );
  }
  return String.fromCharCode(...codes);
}

export interface Explored {
  readonly states: number;
  /** States from which nothing that may be relied on leads to the end. */
  readonly stuck: readonly ModelState[];
}

/** Breadth first; `look` sees each state once. */
export function explore(options: ModelOptions, look: (state: ModelState) => void): Explored {
  const numbers = new Map<string, number>();
  const states: ModelState[] = [];
  /** From where steps that may be relied on lead here. */
  const from: number[][] = [];
  const numberOf = (state: ModelState): number => {
    const key = keyOf(state);
    const known = numbers.get(key);
    if (known !== undefined) return known;
    numbers.set(key, states.length);
    look(state);
    from.push([]);
    return states.push(state) - 1;
  };
  numberOf(firstState(options));
  for (let at = 0; at < states.length; at++) {
    for (const { to, isFault } of stepsFrom(states[at]!, options)) {
      const number = numberOf(to);
      if (!isFault && number !== at) from[number]!.push(at);
    }
  }
  const ends = new Uint8Array(states.length);
  const open = [...states.keys()].filter((at) => isEnd(states[at]!));
  for (const at of open) ends[at] = 1;
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const before of from[at]!) {
      if (ends[before] === 1) continue;
      ends[before] = 1;
      open.push(before);
    }
  }
  return { states: states.length, stuck: states.filter((_, at) => ends[at] === 0) };
}
