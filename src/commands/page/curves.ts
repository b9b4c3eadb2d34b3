/** The curves of a job as columns of numbers. Pure. */
import type { PageCurve } from '../../page/page-data.ts';
import type { HistoryLine } from '../base/history-lines.ts';

const METRICS = ['logloss', 'accuracy', 'rmse', 'auc', 'groupedAuc', 'hitRate', 'ndcg', 'calibration'] as const;
/** More digits than a curve can show. */
const DIGITS = 6;

/** The curves of training and of each evaluation; `lines` are in the order of time. */
export function curvesOf(lines: readonly HistoryLine[]): PageCurve[] {
  const byName = new Map<string, Exclude<HistoryLine, { kind: 'pass' }>[]>();
  for (const line of lines) {
    if (line.kind === 'pass') continue;
    const name = line.kind === 'train' ? 'train' : line.name;
    byName.set(name, [...(byName.get(name) ?? []), line]);
  }
  return [...byName].map(([name, points]) => {
    const sorted = points.sort((a, b) => a.trained - b.trained);
    const known = METRICS.filter((metric) => sorted.some((point) => point[metric] !== undefined));
    const columns = known.map((metric) => [metric, sorted.map((point) => rounded(point[metric]))] as const);
    return { name, trained: sorted.map(({ trained }) => trained), metrics: Object.fromEntries(columns) };
  });
}

/** JSON has no infinite numbers. */
const rounded = (value: number | undefined): number | null =>
  value === undefined || !Number.isFinite(value) ? null : Number(value.toPrecision(DIGITS));
