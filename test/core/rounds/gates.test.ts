/**
 * The gates of a pserver's units, kept in groups, against one gate for each unit: through every state that three units
 * can reach in two rounds, and along random ways of more.
 */

import { describe, expect, it } from 'vitest';
import { createRoundGate, type RoundGate } from '../../../src/core/rounds/gate.ts';
import { createRoundGates, type RoundGates, type UnitPosition } from '../../../src/core/rounds/gates.ts';
import * as fc from '../../properties.ts';

const TIMELINE = 2;

/** What is kept for a group: the units that brought it, to see that it goes where its units go. */
type Brought = readonly number[];

type Act =
  | { readonly do: 'add'; readonly unit: number; readonly at: UnitPosition }
  | { readonly do: 'remove'; readonly unit: number }
  | { readonly do: 'push'; readonly round: number; readonly lane: number };

class Both {
  readonly #lanes: number;
  readonly gates: RoundGates<Brought>;
  /** One gate a unit. */
  readonly plain = new Map<number, RoundGate>();

  constructor(lanes: number) {
    this.#lanes = lanes;
    this.gates = createRoundGates({ timeline: TIMELINE, lanes, mergeKept: (first, second) => [...first, ...second] });
  }

  act(act: Act): void {
    if (act.do === 'push') this.#push(act.round, act.lane);
    else if (act.do === 'remove') this.#remove(act.unit);
    else if (!this.plain.has(act.unit)) {
      this.plain.set(act.unit, createRoundGate({ timeline: TIMELINE, lanes: this.#lanes, ...act.at }));
      this.gates.add(act.unit, act.at, [act.unit]);
    }
  }

  #remove(unit: number): void {
    if (!this.plain.delete(unit)) return;
    const units = this.gates.groupOf(unit).units.filter((other) => other !== unit);
    same(this.gates.remove(unit)?.units ?? [], units);
  }

  #push(round: number, lane: number): void {
    const position = { timeline: TIMELINE, round, lane };
    const units = [...this.plain].map(([unit, gate]) => ({ unit, gate, verdict: gate.judgeLane(position) }));
    const taking = units.filter(({ verdict }) => verdict === 'take');
    const isAhead = units.some(({ verdict }) => verdict === 'ahead') || (this.plain.size === 0 && round > 0);
    const judged = this.gates.judgeLane(position);
    same(judged.verdict, isAhead ? 'ahead' : taking.length > 0 ? 'take' : 'duplicate');
    if (judged.verdict !== 'take') return;
    same(unitsOf(judged.groups), sorted(taking.map(({ unit }) => unit)));
    for (const { gate } of [...taking, ...judged.groups]) if (gate.accepted(lane)) gate.advance();
    this.gates.merge();
  }

  /** All that can be asked, as the groups say it and as each unit does. */
  compare(): void {
    const { gates, plain } = this;
    const all = [...plain.values()];
    const versions = all.map((gate) => gate.version());
    const lowest = all.length === 0 ? 0 : Math.min(...versions);
    const missing = all.filter((gate) => gate.version() === lowest).flatMap((gate) => gate.missing());
    same(
      [gates.version(), gates.highest(), gates.oldest(), gates.missing()],
      [
        ...[lowest, Math.max(0, ...versions), Math.max(0, ...all.map((gate) => gate.oldest()))],
        sorted([...new Set(missing)]),
      ],
    );
    for (let version = 0; version <= gates.highest() + 1; version++) this.#comparePull(version);
    this.#compareGroups();
  }

  #comparePull(version: number): void {
    const wanted = { timeline: TIMELINE, version };
    const verdicts = [...this.plain].map(([unit, gate]) => ({ unit, verdict: gate.judgePull(wanted) }));
    const whose = (verdict: string): number[] =>
      verdicts.filter((one) => one.verdict === verdict).map(({ unit }) => unit);
    const judged = this.gates.judgePull(wanted);
    same(judged.verdict, whose('gone').length > 0 ? 'gone' : whose('wait').length > 0 ? 'wait' : 'read');
    if (judged.verdict === 'read') same(unitsOf(judged.previous), sorted(whose('previous')));
  }

  /** Each unit is in one group, in its own state; equal groups without lanes are one. */
  #compareGroups(): void {
    const { gates, plain } = this;
    const groups = gates.groups();
    same(unitsOf(groups), sorted([...plain.keys()]));
    for (const { units, gate, kept } of groups) {
      same(
        units.filter((unit) => !kept.includes(unit)),
        [],
      );
      for (const unit of units) same(stateOf(gate), stateOf(plain.get(unit)!));
    }
    const atStart = groups.map(({ gate }) => stateOf(gate)).filter(({ missing }) => missing.length === this.#lanes);
    same(new Set(atStart.map((state) => JSON.stringify(state))).size, atStart.length);
  }

  /** Equal for equal states, and equal groups. */
  key(): string {
    return JSON.stringify(this.gates.groups().map(({ units, gate }) => ({ units, ...stateOf(gate) })));
  }
}

/** `expect` is too slow for every question of every state. */
function same(found: unknown, expected: unknown): void {
  if (JSON.stringify(found) !== JSON.stringify(expected)) expect(found).toEqual(expected);
}

const sorted = (some: readonly number[]): number[] => [...some].sort((a, b) => a - b);
const unitsOf = (groups: readonly { readonly units: readonly number[] }[]): number[] =>
  sorted(groups.flatMap(({ units }) => units));
const stateOf = (gate: RoundGate) => ({ version: gate.version(), oldest: gate.oldest(), missing: gate.missing() });

/** There are fewer. */
const MOST_STATES = 1_500;

/** Also positions that the protocol does not lead to: gates judge whatever comes. */
const POSITIONS: readonly UnitPosition[] = [
  { version: 0, keepsPrevious: false },
  { version: 1, keepsPrevious: true },
  { version: 1, keepsPrevious: false },
];

function actsOf(units: number, rounds: number, lanes: number): Act[] {
  const some = Array.from({ length: units }, (_, unit) => unit);
  const pushes = Array.from({ length: rounds * lanes }, (_, at) => ({
    round: Math.floor(at / lanes),
    lane: at % lanes,
  }));
  return [
    ...some.flatMap((unit) => POSITIONS.map((at): Act => ({ do: 'add', unit, at }))),
    ...some.map((unit): Act => ({ do: 'remove', unit })),
    ...pushes.map((push): Act => ({ do: 'push', ...push })),
  ];
}

/** Compared where the way ends. */
function along(lanes: number, way: readonly Act[]): Both {
  const both = new Both(lanes);
  for (const act of way) both.act(act);
  both.compare();
  return both;
}

describe('gates in groups are those of each unit by itself', () => {
  it('in every state of three units, two lanes and two rounds', () => {
    const acts = actsOf(3, 2, 2);
    const known = new Set<string>();
    let open: (readonly Act[])[] = [[]];
    while (open.length > 0) {
      const next: (readonly Act[])[] = [];
      for (const way of open) {
        for (const act of acts) {
          const further = [...way, act];
          const key = along(2, further).key();
          if (known.has(key)) continue;
          known.add(key);
          next.push(further);
          if (known.size > MOST_STATES) throw new Error(`${key}: the rounds do not end`);
        }
      }
      open = next;
    }
    expect(known.size).toBeGreaterThan(MOST_STATES / 3);
  });

  it('on any way of many units, lanes and rounds', () => {
    const act = fc.constantFrom(...actsOf(6, 4, 3));
    fc.assert(
      fc.property(fc.array(act, { maxLength: 80, size: 'max' }), (way) => {
        const both = new Both(3);
        for (const one of way) {
          both.act(one);
          both.compare();
        }
      }),
      { numRuns: 60 },
    );
  });
});

const start = (...units: number[]): RoundGates<Brought> => {
  const { gates } = along(
    2,
    units.map((unit): Act => ({ do: 'add', unit, at: { version: 4, keepsPrevious: false } })),
  );
  return gates;
};
const push = (gates: RoundGates<Brought>, round: number, lane: number): string => {
  const judged = gates.judgeLane({ timeline: TIMELINE, round, lane });
  if (judged.verdict !== 'take') return judged.verdict;
  for (const { gate } of judged.groups) if (gate.accepted(lane)) gate.advance();
  gates.merge();
  return judged.groups.map(({ units }) => units.join('+')).join(' ');
};

describe('a unit that comes from another pserver', () => {
  it('lacks the lanes that the others have, and is one with them after its round', () => {
    const gates = start(0, 1);
    expect(gates.groups()).toHaveLength(1);
    push(gates, 4, 0);
    gates.add(2, { version: 4, keepsPrevious: false }, [2]);
    expect([push(gates, 4, 1), gates.version(), gates.highest()]).toEqual(['0+1 2', 4, 5]);
    expect(gates.missing()).toEqual([0]);
    // The others wait for it: round 5 has not begun there.
    expect(push(gates, 5, 0)).toBe('ahead');
    expect(gates.judgePull({ timeline: TIMELINE, version: 4 })).toMatchObject({ previous: [{ units: [0, 1] }] });
    expect(gates.judgePull({ timeline: TIMELINE, version: 5 })).toEqual({ verdict: 'wait' });
    expect(push(gates, 4, 1)).toBe('duplicate');
    expect(push(gates, 4, 0)).toBe('2');
    expect(gates.groups()).toMatchObject([{ units: [0, 1, 2], kept: [0, 1, 2] }]);
    expect(push(gates, 5, 0)).toBe('0+1+2');
  });

  it('is one with the others at once when all are at the start of the same round', () => {
    const gates = start(0);
    gates.add(1, { version: 4, keepsPrevious: false }, [1]);
    expect(gates.groups()).toMatchObject([{ units: [0, 1] }]);
    gates.add(2, { version: 4, keepsPrevious: true }, [2]);
    expect(gates.groups()).toMatchObject([{ units: [0, 1] }, { units: [2] }]);
    expect(gates.remove(2)).toBeUndefined();
    expect(gates.remove(0)).toMatchObject({ units: [1] });
  });
});

it('without units there is nothing to wait for', () => {
  const gates = start();
  expect([gates.version(), gates.highest(), gates.oldest(), gates.missing()]).toEqual([0, 0, 0, []]);
  expect(gates.judgePull({ timeline: TIMELINE, version: 0 })).toEqual({ verdict: 'read', previous: [] });
  for (const timeline of [TIMELINE - 1, TIMELINE + 1]) {
    expect(gates.judgePull({ timeline, version: 0 })).toEqual({ verdict: 'otherTimeline' });
    expect(gates.judgeLane({ timeline, round: 0, lane: 0 })).toEqual({ verdict: 'otherTimeline' });
  }
});

describe('units that pass a round by themselves', () => {
  const gates = createRoundGates<Brought>({
    ...{ timeline: TIMELINE, lanes: 2, mergeKept: (first, second) => [...first, ...second] },
  });
  for (const unit of [0, 1, 2]) gates.add(unit, { version: 0, keepsPrevious: false }, [unit]);
  const [whole] = gates.groups();
  for (const lane of [0, 1]) whole!.gate.accepted(lane);

  it('are a group of their own, one version further, until the others are there', () => {
    expect(gates.advance(whole!, [1], () => [7])).toMatchObject({ units: [1], kept: [7] });
    gates.merge();
    expect(unitsOf(gates.groups())).toEqual([0, 1, 2]);
    expect([gates.version(), gates.highest(), gates.missing()]).toEqual([0, 1, []]);
    expect(gates.judgeLane({ timeline: TIMELINE, round: 1, lane: 0 }).verdict).toBe('ahead');
    expect(gates.judgePull({ timeline: TIMELINE, version: 0 })).toMatchObject({
      ...{ verdict: 'read', previous: [{ units: [1] }] },
    });
    gates.advance(gates.groupOf(0), [0, 2], () => []);
    gates.merge();
    expect(gates.groups()).toMatchObject([{ units: [0, 1, 2] }]);
    expect([gates.version(), gates.oldest()]).toEqual([1, 0]);
  });
});
