/** Histograms of requests as trainers show them on /metrics: merged, subtracted, read. */

export interface Histogram {
  /** Upper bound of a bucket in seconds → how many are in it. */
  readonly buckets: ReadonlyMap<number, number>;
}

/** By kind. */
export type Histograms = ReadonlyMap<string, Histogram>;

const SERIES = /^paddlet_trainer_request_seconds_bucket\{([^}]*)\} (\d+)$/gm;

/** Reads the histograms in the text that /metrics answers. */
export function parseHistograms(text: string): Histograms {
  const cumulative = new Map<string, [number, number][]>();
  for (const [, labels, count] of text.matchAll(SERIES)) {
    const kind = /kind="(\w+)"/.exec(labels!)?.[1];
    const bound = /le="([^"]+)"/.exec(labels!)?.[1];
    if (kind === undefined || bound === undefined) continue;
    const list = cumulative.get(kind) ?? [];
    list.push([bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound), Number(count)]);
    cumulative.set(kind, list);
  }
  return new Map([...cumulative].map(([kind, list]) => [kind, { buckets: apart(list) }]));
}

/** What each bucket adds to the one before. */
function apart(cumulative: [number, number][]): Map<number, number> {
  const sorted = cumulative.sort(([a], [b]) => a - b);
  return new Map(sorted.map(([bound, count], at) => [bound, count - (sorted[at - 1]?.[1] ?? 0)]));
}

export const merge = (all: Iterable<Histograms>): Histograms => combine(all, 1);

/** What came since. */
export const since = (now: Histograms, before: Histograms): Histograms => combine([now, before], -1);

/** The first with all others times `sign`. */
function combine(all: Iterable<Histograms>, sign: 1 | -1): Histograms {
  const sums = new Map<string, Map<number, number>>();
  let factor = 1;
  for (const histograms of all) {
    for (const [kind, { buckets }] of histograms) {
      const sum = sums.get(kind) ?? new Map<number, number>();
      for (const [bound, count] of buckets) sum.set(bound, (sum.get(bound) ?? 0) + factor * count);
      sums.set(kind, sum);
    }
    factor = sign;
  }
  return new Map([...sums].map(([kind, buckets]) => [kind, { buckets }]));
}

export const countOf = ({ buckets }: Histogram): number => [...buckets.values()].reduce((sum, one) => sum + one, 0);

/** The bound of the bucket that has the value which `fraction` of all do not exceed, in milliseconds. */
export function quantileMs(histogram: Histogram, fraction: number): number {
  const wanted = Math.ceil(fraction * countOf(histogram));
  let seen = 0;
  for (const [bound, count] of [...histogram.buckets].sort(([a], [b]) => a - b)) {
    seen += count;
    if (seen >= wanted) return 1000 * bound;
  }
  return Number.NaN;
}
