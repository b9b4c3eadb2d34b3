/** The curves of a job: which points there are, and that no takeover changes or loses one. */
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../src/base/limits.ts';
import {
  type History,
  historyText,
  NO_HISTORY,
  parseHistory,
  type TrainPoint,
  windowsOf,
  withEvaluation,
  withPass,
  withRounds,
  withTables,
  withTrained,
} from '../../src/core/history.ts';
import {
  addMetrics,
  addRound,
  noSums,
  PASSES_SAMPLED,
  type PassMetrics,
  ROUNDS_SAMPLED,
} from '../../src/core/pass-metrics.ts';
import type { MetricSums } from '../../src/model/model.ts';
import * as fc from '../properties.ts';

const sums = (records: number): MetricSums => {
  return { records, weight: records, loss: records / 8, correct: records >> 1, squaredError: records / 4 };
};

/** Tasks of so many records, one after the other; `visit` sees the history after each. */
function train(tasks: readonly number[], visit: (history: History, all: MetricSums) => void = () => {}): History {
  let all = noSums;
  let history = NO_HISTORY;
  for (const [at, records] of tasks.entries()) {
    all = addMetrics(all, sums(records));
    history = withTrained(history, { ...all, pass: 0, timeMs: at });
    visit(history, all);
  }
  return history;
}

const stored = (history: History): History => parseHistory('/history', historyText(history));

describe('points of training', () => {
  it('the windows add up to all that was trained until the newest point, and it is never far away', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 1500 }), (tasks) => {
        const largest = Math.max(...tasks);
        const history = train(tasks, ({ train }, all) => {
          expect(train.length).toBeLessThanOrEqual(LIMITS.historyPoints);
          const newest: MetricSums = train.at(-1) ?? noSums;
          // A stretch is less than twice what so many points divide all records into.
          expect(all.records - newest.records).toBeLessThan((2 * all.records) / LIMITS.historyPoints + largest + 1);
        });
        expect(windowsOf(history.train).reduce(addMetrics, noSums)).toMatchObject({
          records: history.train.at(-1)!.records,
          loss: history.train.at(-1)!.loss,
          correct: history.train.at(-1)!.correct,
        });
        expect(Math.min(...windowsOf(history.train).map(({ records }) => records))).toBeGreaterThan(0);
      }),
    );
  });

  it('are few, however many tasks there are: the stretch doubles when there would be too many', () => {
    let written = 0;
    let before: History = NO_HISTORY;
    const tasks = Array.from({ length: 20_000 }, () => 10);
    const { train: points } = train(tasks, (history) => {
      if (history !== before) written++;
      before = history;
    });
    // All at first, then half as many for each doubling.
    expect(written).toBeLessThan(LIMITS.historyPoints * (1 + Math.log2(20_000 / LIMITS.historyPoints)));
    expect(points.length).toBeGreaterThan(LIMITS.historyPoints / 3);
    const windows = windowsOf(points).map(({ records }) => records);
    expect(Math.max(...windows)).toBeLessThanOrEqual(2 * Math.min(...windows));
  });

  it('that were shown are the first ones after a takeover, or were left out to make room', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 1500 }),
        fc.integer({ min: 0, max: 1500 }),
        (tasks, at) => {
          let shown: readonly TrainPoint[] = [];
          train(tasks.slice(0, at), ({ train }) => {
            shown = stored({ ...NO_HISTORY, train }).train;
          });
          const { train: points } = train(tasks);
          const kept = points.slice(0, points.findLastIndex((one) => one.records <= (shown.at(-1)?.records ?? 0)) + 1);
          for (const point of kept) expect(shown).toContainEqual(point);
          if (points.length > shown.length)
            expect(kept.length).toBeGreaterThanOrEqual(Math.floor(shown.length / 2) - 1);
        },
      ),
      { numRuns: 30 },
    );
  });
});

/** What a pserver has at each version. */
function pserverOf(rounds: number, roundsOfPass: number): PassMetrics[][] {
  const all: PassMetrics[][] = [[]];
  for (let round = 0; round < rounds; round++) {
    const position = { pass: Math.floor(round / roundsOfPass) };
    const batches = [0.1, 0.7].map((loss) => ({ position, metrics: { ...sums(3), loss: loss / (1 + round) } }));
    all.push(addRound(all[round]!, round + 1, batches));
  }
  return all;
}

describe('points of rounds', () => {
  const withoutTimes = ({ train, passes }: History) =>
    [...train, ...passes].map(({ timeMs: _, ...point }: TrainPoint) => point);

  it('are a function of the job, whenever which master asks, and however often all are set back', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 600 }),
        fc.integer({ min: 1, max: 20 }),
        fc.array(fc.record({ to: fc.nat(600), isOther: fc.boolean() }), { maxLength: 30 }),
        (rounds, roundsOfPass, looks) => {
          const pserver = pserverOf(rounds, roundsOfPass);
          const look = (history: History, version: number, timeMs: number): History => {
            return withRounds(history, pserver[version]!, { timeMs, passAt: (at) => Math.floor(at / roundsOfPass) });
          };
          let history = NO_HISTORY;
          for (const [at, { to, isOther }] of looks.entries()) {
            const next = look(history, Math.min(to, rounds), at);
            // What was shown stays, with its time, unless it is left out to make room.
            for (const point of next.train)
              if (point.round! <= (history.train.at(-1)?.round ?? 0)) expect(history.train).toContainEqual(point);
            history = isOther ? stored(next) : next;
          }
          const ended = look(history, rounds, 99);
          const plain = look(NO_HISTORY, rounds, 0);
          expect(withoutTimes(ended)).toEqual(withoutTimes(plain));
          expect(plain.train.length).toBeLessThanOrEqual(ROUNDS_SAMPLED);
          expect(plain.train.length).toBeGreaterThanOrEqual(Math.min(rounds, ROUNDS_SAMPLED / 2));
        },
      ),
    );
  });
});

describe('the value in the store', () => {
  it('is read back as it was written', () => {
    const trained = withTrained(NO_HISTORY, { ...sums(7), pass: 2, timeMs: 5 });
    const evaluated = withEvaluation(trained, {
      name: 'test',
      timeMs: 6,
      passes: 3,
      trained: 7,
      metrics: { auc: 0.7 },
    });
    const history = withPass(evaluated, { ...sums(7), pass: 2, timeMs: 6 });
    expect(stored(history)).toEqual(history);
    const rounds = { ...NO_HISTORY, train: [{ ...sums(7), pass: 2, timeMs: 5, round: 3 }] };
    expect(stored(rounds)).toEqual(rounds);
  });

  it('has a bounded size, with the longest numbers and of every kind as many as there can be', () => {
    const long = {
      weight: -Math.PI * 1e-300,
      loss: -Math.E * 1e300,
      correct: -Math.PI * 1e300,
      squaredError: 1 / 3e300,
    };
    const timeMs = Number.MAX_SAFE_INTEGER;
    let history = NO_HISTORY;
    for (let at = 1; at <= 20_000; at++) {
      const records = at * 2 ** 38;
      history = withTrained(history, { ...long, records, pass: 999_999, timeMs });
      if (at < 2_000) history = withPass(history, { ...long, records, pass: at, timeMs });
      const ofOrder = ['auc', 'aucBound', 'groupedAuc', 'hitRate', 'ndcg', 'topK'];
      const names = ['records', 'logloss', ...ofOrder, 'accuracy', 'rmse', 'calibration'];
      const metrics = Object.fromEntries(names.map((name) => [name, long.loss]));
      if (at < 2_000) {
        history = withEvaluation(history, { name: 'x'.repeat(32), timeMs, passes: at, trained: timeMs, metrics });
      }
      if (at < 1_000) {
        const ids = { rows: timeMs, candidates: timeMs };
        const figures = { bytes: timeMs, updated: timeMs, admitted: timeMs, notAdmitted: timeMs, refused: timeMs };
        const one = { name: 'x'.repeat(256), ...ids, ...figures, evicted: { bound: ids, unseen: ids } };
        history = withTables(history, { timeMs, passes: at, tables: [one, one] });
      }
      if (at % 100 === 0) expect(Buffer.byteLength(historyText(history))).toBeLessThanOrEqual(LIMITS.historyBytes);
    }
    expect(history.passes.at(-1)!.pass).toBe(1_999);
    expect(history.passes.length).toBeLessThanOrEqual(PASSES_SAMPLED + 1);
    expect(history.evaluations.at(-1)!.passes).toBe(1_999);
    expect(history.tables!.at(-1)!.passes).toBe(999);
    expect(history.tables!.length).toBeGreaterThan(16);
    expect(history.evaluations.length).toBeLessThanOrEqual(LIMITS.evaluationPoints);
  });

  it('has the figures of tables, one point for a pass', () => {
    const ids = { rows: 3, candidates: 1 };
    const figures = { bytes: 100, updated: 9, admitted: 4, notAdmitted: 2, refused: 1 };
    const table = { name: 'v', ...ids, ...figures, evicted: { bound: ids, unseen: { rows: 7, candidates: 8 } } };
    const later = { ...table, rows: 5 };
    const points = [
      { timeMs: 7, passes: 1, tables: [table] },
      { timeMs: 9, passes: 2, tables: [table] },
      { timeMs: 8, passes: 1, tables: [later] },
    ];
    const history = points.reduce(withTables, NO_HISTORY);
    expect(history.tables).toEqual([points[2], points[1]]);
    expect(parseHistory('/history', historyText(history))).toEqual(history);
    // A point that is too long is left out.
    const many = Array.from({ length: 2_000 }, () => table);
    expect(withTables(history, { timeMs: 9, passes: 3, tables: many }).tables).toEqual([]);
  });

  it('of another version is refused', () => {
    const text = historyText(NO_HISTORY).replace('"version":1', '"version":2');
    expect(() => parseHistory('/history', text)).toThrow(/^\/history: version: /);
  });
});
