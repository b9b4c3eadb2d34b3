/** Points of the history about tables with admission, eviction or a bound: one point when a pass ends. */
import * as z from 'zod';
import { LIMITS } from '../base/limits.ts';

const count = z.int().min(0);
const ids = z.strictObject({ rows: count, candidates: count });

export interface TableFigures extends z.infer<typeof ids> {
  readonly name: string;
  readonly bytes: number;
  readonly updated: number;
  readonly admitted: number;
  readonly notAdmitted: number;
  readonly refused: number;
  readonly evicted: { readonly bound: z.infer<typeof ids>; readonly unseen: z.infer<typeof ids> };
}

export interface TablesPoint {
  readonly timeMs: number;
  /** Passes that had ended. */
  readonly passes: number;
  readonly tables: readonly TableFigures[];
}

/**
 * Name of the table, and numbers: rows, candidates, bytes, updated, admitted, not admitted, refused; then evicted rows
 * and candidates by cause.
 */
const figuresRow = z.tuple([
  z.string(),
  z.tuple([count, count, count, count, count, count, count, count, count, count, count]),
]);
const pointRow = z.tuple([count, count, z.array(figuresRow)]);
export const tablePointsSchema = z.array(pointRow);
type StoredPoints = z.infer<typeof tablePointsSchema>;

/** As points are in the store. */
export const storedTablePoints = (points: readonly TablesPoint[]): StoredPoints =>
  points.map(({ timeMs, passes, tables }) => [timeMs, passes, tables.map(rowOf)]);

function rowOf({ evicted: { bound, unseen }, ...one }: TableFigures): z.infer<typeof figuresRow> {
  const { name, rows, candidates, bytes, updated, admitted, notAdmitted, refused } = one;
  const gone = [bound.rows, bound.candidates, unseen.rows, unseen.candidates] as const;
  return [name, [rows, candidates, bytes, updated, admitted, notAdmitted, refused, ...gone]];
}

export const parseTablePoints = (stored: StoredPoints): TablesPoint[] =>
  stored.map(([timeMs, passes, tables]) => ({ timeMs, passes, tables: tables.map(figuresOf) }));

function figuresOf([name, numbers]: z.infer<typeof figuresRow>): TableFigures {
  const [rows, candidates, bytes, updated, admitted, notAdmitted, refused, ...gone] = numbers;
  const [boundRows, boundCandidates, unseenRows, unseenCandidates] = gone;
  const bound = { rows: boundRows, candidates: boundCandidates };
  const unseen = { rows: unseenRows, candidates: unseenCandidates };
  return { name, rows, candidates, bytes, updated, admitted, notAdmitted, refused, evicted: { bound, unseen } };
}

/**
 * Adds a point, in place of an earlier point of the same pass. If the points take too many bytes, every second point
 * stays, and the newest.
 */
export function withTablePoint(points: readonly TablesPoint[], point: TablesPoint): readonly TablesPoint[] {
  const all = [...points.filter(({ passes }) => passes !== point.passes), point];
  return fitting(all.sort((a, b) => a.passes - b.passes));
}

function fitting(points: readonly TablesPoint[]): readonly TablesPoint[] {
  const bytes = Buffer.byteLength(JSON.stringify(storedTablePoints(points)));
  if (bytes <= LIMITS.tableHistoryBytes || points.length === 0) return points;
  return points.length === 1 ? [] : fitting(points.filter((_, at) => (points.length - 1 - at) % 2 === 0));
}
