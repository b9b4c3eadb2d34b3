/** A measured figure beside its limit and its aim, and the table of them. */

export interface Figure {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** The same done without paddlet, measured in turns with it in this run. */
  readonly limit?: { readonly what: string; readonly value: number };
  /** `ratio` is of the limit, `value` is absolute; `best` says which way is better. */
  readonly aim?: { readonly of: 'ratio' | 'value'; readonly bound: number; readonly best: 'high' | 'low' };
  /** value / limit: the median over the rounds, which is not the ratio of the medians. */
  readonly ratio?: number;
  /** The best round beside the limit's best round: what is left when nothing else runs. */
  readonly best?: number;
  readonly bestValue?: number;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The value that `fraction` of `values` do not exceed. */
export function percentile(values: readonly number[], fraction: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(fraction * sorted.length) - 1)]!;
}

export function isReached({ value, ratio, aim }: Figure): boolean | undefined {
  if (aim === undefined) return undefined;
  const measured = aim.of === 'ratio' ? ratio : value;
  if (measured === undefined) return undefined;
  return aim.best === 'high' ? measured >= aim.bound : measured <= aim.bound;
}

const digits = (value: number): string => (value >= 1000 ? Math.round(value).toString() : value.toPrecision(3));

export function printFigures(figures: readonly Figure[]): void {
  const rows = figures.map((figure) => {
    const { what, value, unit, limit, ratio, best, bestValue, aim } = figure;
    const reached = isReached(figure);
    return {
      what,
      figure: `${digits(value)} ${unit}`,
      limit: limit === undefined ? '' : `${digits(limit.value)} ${limit.what}`,
      ratio: ratio === undefined ? '' : ratio.toFixed(2),
      best: best !== undefined ? best.toFixed(2) : bestValue !== undefined ? digits(bestValue) : '',
      aim: aim === undefined ? '' : `${aim.best === 'high' ? '≥' : '≤'} ${aim.bound}${aim.of === 'ratio' ? ' ×' : ''}`,
      reached: reached === undefined ? '' : reached ? 'yes' : 'NO',
    };
  });
  // biome-ignore lint/suspicious/noConsole: the result of a script
  console.table(rows);
}
