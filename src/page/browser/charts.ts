/** Which chart shows what: one for each metric, with a line for each curve that has it. Pure. */
import type { PageCurve } from '../page-data.ts';
import { countText, metricText } from './format.ts';

export interface ChartLine {
  readonly name: string;
  /** As long as the chart's `trained`; null where the curve has no point. */
  readonly values: readonly (number | null)[];
  readonly latest: number | undefined;
}

export interface Chart {
  readonly metric: string;
  readonly title: string;
  /** Records trained, ascending, of all its lines. */
  readonly trained: readonly number[];
  readonly lines: readonly ChartLine[];
}

const TITLES: Readonly<Record<string, string>> = {
  logloss: 'Log loss',
  loss: 'Loss',
  auc: 'AUC',
  groupedAuc: 'Grouped AUC',
  hitRate: 'Hit rate',
  ndcg: 'NDCG',
  accuracy: 'Accuracy',
  rmse: 'RMSE',
  calibration: 'Calibration',
};
/** Those first, in this order, before others by name. */
const ORDER = Object.keys(TITLES);

export const metricTitle = (metric: string): string => TITLES[metric] ?? metric;

export function chartsOf(curves: readonly PageCurve[]): Chart[] {
  const metrics = [...new Set(curves.flatMap((curve) => Object.keys(curve.metrics)))];
  const rank = (metric: string): number => (ORDER.indexOf(metric) + ORDER.length + 1) % (ORDER.length + 1);
  metrics.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  return metrics.map((metric) => chartOf(metric, curves)).filter(({ lines }) => lines.length > 0);
}

function chartOf(metric: string, curves: readonly PageCurve[]): Chart {
  const having = curves.flatMap(({ name, trained, metrics }) => {
    const values = metrics[metric];
    const points = new Map<number, number>();
    for (const [at, value] of (values ?? []).entries()) {
      const x = trained[at];
      if (value !== null && x !== undefined) points.set(x, value);
    }
    return points.size === 0 ? [] : [{ name, points }];
  });
  const trained = [...new Set(having.flatMap(({ points }) => [...points.keys()]))].sort((a, b) => a - b);
  const lines = having.map(({ name, points }) => ({
    name,
    values: trained.map((x) => points.get(x) ?? null),
    latest: [...points.values()].at(-1),
  }));
  return { metric, title: metricTitle(metric), trained, lines };
}

/** What the chart shows, in words. */
export function chartText({ title, trained, lines }: Chart): string {
  const told = lines.map(({ name, values }) => {
    const known = values.filter((value) => value !== null);
    const [first, last] = [known[0]!, known.at(-1)!];
    return known.length === 1
      ? `${name} is ${metricText(last)}`
      : `${name} from ${metricText(first)} to ${metricText(last)}`;
  });
  return `${title} after ${countText(trained.at(-1) ?? 0)} records: ${told.join('; ')}.`;
}
