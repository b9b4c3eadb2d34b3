/**
 * The curves of a job: how loss and metrics developed. A point has the sums of all training so far, so the sums between
 * two points are their difference: dropping a point loses nothing, and a master that takes over adds nothing twice.
 * Which points are kept depends on how far training has come alone (spacing.ts).
 */
import * as z from 'zod';
import { LIMITS } from '../base/limits.ts';
import type { MetricSums } from '../model/model.ts';
import { endedPasses, noSums, PASSES_SAMPLED, type PassMetrics, ROUNDS_SAMPLED, samplesIn } from './pass-metrics.ts';
import { isFirst, spacingOf, thinned } from './spacing.ts';
import {
  parseTablePoints,
  storedTablePoints,
  type TablesPoint,
  tablePointsSchema,
  withTablePoint,
} from './table-history.ts';
import { parseStoreValue } from './tasks/state.ts';

interface TimedSums extends MetricSums {
  /** Milliseconds since 1970; nothing depends on it. */
  readonly timeMs: number;
  /** Number of the pass, counted from 0. */
  readonly pass: number;
}

/** The sums of all passes up to there. */
export interface TrainPoint extends TimedSums {
  /** Sync mode: complete rounds. */
  readonly round?: number | undefined;
}

/** The sums of one pass. */
export type PassPoint = TimedSums;

export interface EvaluationPoint {
  /** Name of the evaluated data; `test` means the test files. */
  readonly name: string;
  readonly timeMs: number;
  /** Passes that had ended. */
  readonly passes: number;
  /** Records trained until then. */
  readonly trained: number;
  readonly metrics: Readonly<Record<string, number | undefined>>;
}

export interface History {
  readonly train: readonly TrainPoint[];
  readonly passes: readonly PassPoint[];
  readonly evaluations: readonly EvaluationPoint[];
  /** Absent in jobs without tables that have admission, eviction or a bound. */
  readonly tables?: readonly TablesPoint[];
}

export const NO_HISTORY: History = { train: [], passes: [], evaluations: [] };

export interface RoundsAt {
  readonly timeMs: number;
  /** Passes that have ended at a version of the parameters. */
  readonly passAt: (version: number) => number;
}

/** Where a point is among the others of its kind. */
const positionOf = ({ round, records }: TrainPoint): number => round ?? records;
const passesAt = ({ pass }: PassPoint): number => pass + 1;

/** With the sums of all training so far, if a point is due there; else the same history. Async mode. */
export function withTrained(history: History, point: TrainPoint): History {
  const newest = history.train.at(-1)?.records ?? 0;
  if (!isFirst(newest, point.records, LIMITS.historyPoints)) return history;
  return { ...history, train: thinned([...history.train, point], positionOf, point.records, LIMITS.historyPoints) };
}

/** With the sums of a pass that has ended; the same history if it has them. */
export function withPass(history: History, point: PassPoint): History {
  if (point.pass <= (history.passes.at(-1)?.pass ?? -1)) return history;
  const every = spacingOf(passesAt(point), PASSES_SAMPLED);
  const kept = history.passes.filter((one) => passesAt(one) % every === 0);
  return { ...history, passes: [...kept, point] };
}

/**
 * With an evaluation, in place of an earlier one of the same. When there are too many, every second stays, and the
 * newest.
 */
export function withEvaluation(history: History, point: EvaluationPoint): History {
  const isSame = ({ name, passes, trained }: EvaluationPoint): boolean =>
    name === point.name && passes === point.passes && trained === point.trained;
  const all = [...history.evaluations.filter((one) => !isSame(one)), point];
  const isFull = all.length > LIMITS.evaluationPoints;
  return { ...history, evaluations: isFull ? all.filter((_, at) => (all.length - 1 - at) % 2 === 0) : all };
}

/** With the figures of tables at the end of a pass. */
export function withTables(history: History, point: TablesPoint): History {
  return { ...history, tables: withTablePoint(history.tables ?? [], point) };
}

/**
 * With what the pservers of a job in sync mode have that the history lacks: the same bits, whenever it is asked.
 * `metrics` say how far they are: it may be behind what was seen before.
 */
export function withRounds(history: History, metrics: readonly PassMetrics[], at: RoundsAt): History {
  const { timeMs, passAt } = at;
  const reached = metrics.at(-1)?.version ?? 0;
  const known = history.train.at(-1)?.round ?? 0;
  const fresh = samplesIn(metrics).filter(({ version }) => version > known);
  const points = fresh.map(({ version, ...sums }) => ({ ...sums, timeMs, round: version }));
  const train = thinned([...history.train, ...points], positionOf, Math.max(known, reached), ROUNDS_SAMPLED);
  const isSame = points.length === 0 && train.length === history.train.length;
  const trained = isSame ? history : { ...history, train };
  return endedPasses(metrics, passAt(reached)).reduce((all, sums) => withPass(all, { ...sums, timeMs }), trained);
}

/** Sums between each point and the one before it. */
export function windowsOf(points: readonly TrainPoint[]): MetricSums[] {
  return points.map((point, at) => {
    const before: MetricSums = points[at - 1] ?? noSums;
    // A master that takes over has added up in another order: its last digits may be lower.
    const since = (field: keyof MetricSums): number => Math.max(0, point[field] - before[field]);
    return {
      records: since('records'),
      weight: since('weight'),
      loss: since('loss'),
      correct: since('correct'),
      squaredError: since('squaredError'),
    };
  });
}

const VERSION = 1;
const count = z.int().min(0);
const sumsRow = [count, count, count, z.number(), z.number(), z.number(), z.number()] as const;
const evaluationSchema = z.strictObject({
  name: z.string().max(LIMITS.evaluationCharacters),
  timeMs: count,
  passes: count,
  trained: count,
  metrics: z.record(z.string().max(LIMITS.evaluationCharacters), z.number()),
});
const historySchema = z.strictObject({
  version: z.literal(VERSION),
  train: z.array(z.union([z.tuple([...sumsRow]), z.tuple([...sumsRow, count])])).max(LIMITS.historyPoints),
  passes: z.array(z.tuple([...sumsRow])).max(LIMITS.historyPoints),
  evaluations: z.array(evaluationSchema).max(LIMITS.evaluationPoints),
  tables: tablePointsSchema.optional(),
});

type Row = [number, number, number, number, number, number, number];

const rowOf = ({ timeMs, pass, records, weight, loss, correct, squaredError }: TimedSums): Row => [
  timeMs,
  pass,
  records,
  weight,
  loss,
  correct,
  squaredError,
];

function sumsIn([timeMs, pass, records, weight, loss, correct, squaredError]: Row): TimedSums {
  return { timeMs, pass, records, weight, loss, correct, squaredError };
}

/** As it is in the store: a point of training is a list of numbers. */
export function historyText({ train, passes, evaluations, tables }: History): string {
  return JSON.stringify({
    version: VERSION,
    train: train.map((point) => (point.round === undefined ? rowOf(point) : [...rowOf(point), point.round])),
    passes: passes.map(rowOf),
    evaluations,
    ...(tables === undefined ? {} : { tables: storedTablePoints(tables) }),
  });
}

export function parseHistory(key: string, value: string): History {
  const { train, passes, evaluations, tables } = parseStoreValue(historySchema, key, value);
  return {
    train: train.map(([...row]) => {
      const [round] = row.splice(7);
      return { ...sumsIn(row as Row), ...(round === undefined ? {} : { round }) };
    }),
    passes: passes.map(sumsIn),
    evaluations,
    ...(tables === undefined ? {} : { tables: parseTablePoints(tables) }),
  };
}
