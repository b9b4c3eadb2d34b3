/** Where training halts, which model is the best, and when a job ends early. */
import { describe, expect, it } from 'vitest';
import {
  continued,
  type EvaluationRule,
  type EvaluationState,
  evaluationStateSchema,
  goingOn,
  haltOf,
  isEnd,
  NO_EVALUATIONS,
  newestOf,
  type Reached,
  type TrainingLength,
  withSaved,
  withScores,
} from '../../src/core/evaluation-points.ts';
import * as fc from '../properties.ts';

const ROUNDS_A_PASS = 10;
const rule = (more: Partial<EvaluationRule> = {}): EvaluationRule => ({ metric: 'logloss', minDelta: 0, ...more });
const passesOnly = (passes: number): TrainingLength => ({ passes });
const withRounds = (passes: number): TrainingLength => ({
  passes,
  rounds: {
    firstOf: (pass) => pass * ROUNDS_A_PASS,
    passesAt: (round) => Math.floor(round / ROUNDS_A_PASS),
  },
});

/** As a master does: halts, saves, knows the scores at the next halt. Returns where it halted. */
function run(rule_: EvaluationRule, length: TrainingLength, scores: readonly number[]): [Reached[], EvaluationState] {
  const halts: Reached[] = [];
  let state = NO_EVALUATIONS;
  const score = (): void => {
    if (state.pending !== undefined)
      state = withScores(rule_, state, { [rule_.metric]: scores[halts.length - 1] ?? 9 });
  };
  for (;;) {
    const at = haltOf(rule_, state, length);
    // Whether they were known long before, or just now, it halts there.
    score();
    expect(haltOf(rule_, state, length)).toEqual(at);
    halts.push(at);
    state = withSaved(rule_, state, { ...at, trained: 0, name: `p${halts.length}` }, length);
    expect(evaluationStateSchema.parse(JSON.parse(JSON.stringify(state)))).toEqual(state);
    if (!isEnd(at, state, length)) continue;
    score();
    return [halts, state];
  }
}

const passesOf = (halts: readonly Reached[]): number[] => halts.map(({ passes }) => passes);

describe('points', () => {
  it.each([
    ['each pass', { everyPasses: 1 }, [1, 2, 3, 4, 5]],
    ['each pass, when nothing is said', {}, [1, 2, 3, 4, 5]],
    ['every second pass and the last', { everyPasses: 2 }, [2, 4, 5]],
    ['the last alone', { everyPasses: 9 }, [5]],
  ])('%s', (_, every, expected) => {
    expect(passesOf(run(rule(every), passesOnly(5), [])[0])).toEqual(expected);
    expect(passesOf(run(rule(every), withRounds(5), [])[0])).toEqual(expected);
  });

  it('in sync mode they are the rounds at which passes end', () => {
    const [halts] = run(rule({ everyPasses: 2 }), withRounds(3), []);
    expect(halts).toEqual([
      { passes: 2, rounds: 20 },
      { passes: 3, rounds: 30 },
    ]);
  });

  it('or every so many rounds, with the passes that are complete there', () => {
    const [halts] = run(rule({ everyRounds: 8 }), withRounds(2), []);
    expect(halts).toEqual([
      { passes: 0, rounds: 8 },
      { passes: 1, rounds: 16 },
      { passes: 2, rounds: 20 },
    ]);
  });
});

describe('early stopping', () => {
  const stopping = rule({ patience: 2 });

  it('ends the job at the point after the one whose model was no better for the last time', () => {
    const [halts, state] = run(stopping, passesOnly(20), [0.5, 0.4, 0.45, 0.41, 0.42]);
    expect(passesOf(halts)).toEqual([1, 2, 3, 4, 5]);
    expect(state).toMatchObject({ isStopping: true, best: { name: 'p2' }, last: { name: 'p5' } });
  });

  it('the last model may be the best; the job ends nevertheless', () => {
    const [halts, state] = run(stopping, passesOnly(20), [0.5, 0.51, 0.52, 0.1]);
    expect(halts).toHaveLength(4);
    expect(state).toMatchObject({ isStopping: true, best: { name: 'p4' } });
  });

  it('never without patience', () => {
    const [halts, state] = run(rule(), passesOnly(9), [0.1]);
    expect(halts).toHaveLength(9);
    expect(state).toMatchObject({ isStopping: false, best: { name: 'p1' }, worse: 8 });
  });

  it('in the middle of a pass it ends at the end of the pass', () => {
    const [halts, state] = run(rule({ patience: 1, everyRounds: 3 }), withRounds(5), [0.5, 0.6]);
    expect(halts.map(({ rounds }) => rounds)).toEqual([3, 6, 9, 10]);
    expect(isEnd(halts.at(-1)!, state, withRounds(5))).toBe(true);
  });

  it('what is saved at the end of a job that ends early is where it halts again', () => {
    const [halts, state] = run(stopping, withRounds(20), [0.5, 0.6, 0.7]);
    expect(haltOf(stopping, state, withRounds(20))).toEqual(halts.at(-1));
    const more = continued(state);
    expect(haltOf(stopping, more, withRounds(20))).toEqual(halts.at(-1));
    expect(isEnd(halts.at(-1)!, more, withRounds(20))).toBe(false);
    const next = goingOn(stopping, more, halts.at(-1)!, withRounds(20));
    expect(haltOf(stopping, next, withRounds(20)).passes).toBe(halts.at(-1)!.passes + 1);
  });
});

describe('the best model', () => {
  function after(rule_: EvaluationRule, ...scores: (number | undefined)[]): EvaluationState {
    let state = NO_EVALUATIONS;
    for (const [at, score] of scores.entries()) {
      const pending = { passes: at + 1, trained: 0, name: `p${at + 1}` };
      state = withScores(rule_, { ...state, pending }, score === undefined ? {} : { [rule_.metric]: score });
    }
    return state;
  }

  it.each(['logloss', 'rmse'] as const)('has the lowest %s', (metric) => {
    expect(after(rule({ metric }), 0.5, 0.3, 0.4).best?.name).toBe('p2');
  });

  it.each(['auc', 'groupedAuc', 'hitRate', 'ndcg', 'accuracy'] as const)('has the highest %s', (metric) => {
    expect(after(rule({ metric }), 0.5, 0.7, 0.6).best?.name).toBe('p2');
  });

  it('of equal ones it is the first; a better one differs by more than `minDelta`', () => {
    expect(after(rule(), 0.5, 0.5)).toMatchObject({ best: { name: 'p1' }, worse: 1 });
    expect(after(rule({ minDelta: 0.1 }), 0.5, 0.45, 0.3)).toMatchObject({ best: { name: 'p3' }, worse: 0 });
  });

  it('one without the metric is never the best', () => {
    expect(after(rule(), undefined)).toMatchObject({ worse: 1, last: { name: 'p1' } });
    expect(after(rule(), undefined).best).toBeUndefined();
    expect(after(rule(), 0.5, undefined, 0.4).best?.name).toBe('p3');
  });
});

it('halts ascend, the last is the end of a pass, and a master that takes over halts at the same ones', () => {
  const rules = fc.record({
    every: fc.integer({ min: 1, max: 7 }),
    byRounds: fc.boolean(),
    patience: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
    passes: fc.integer({ min: 1, max: 8 }),
    scores: fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 60 }),
  });
  fc.assert(
    fc.property(rules, ({ every, byRounds, patience, passes, scores }) => {
      const made = rule({ ...(byRounds ? { everyRounds: every } : { everyPasses: every }), patience });
      const length = withRounds(passes);
      const [halts, state] = run(made, length, scores);
      const rounds = halts.map((at) => at.rounds!);
      expect(rounds).toEqual([...new Set(rounds)].sort((a, b) => a - b));
      expect(rounds.at(-1)! % ROUNDS_A_PASS).toBe(0);
      expect(newestOf(state)).toMatchObject(halts.at(-1)!);
      if (patience === undefined) expect(halts.at(-1)!.passes).toBe(passes);
    }),
  );
});
