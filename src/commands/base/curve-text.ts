/** A small curve of the training loss, on one line. */

interface Point {
  readonly kind: string;
  readonly logloss?: number | undefined;
  readonly rmse?: number | undefined;
}

const BLOCKS = '▁▂▃▄▅▆▇█';
const LABEL_WIDTH = 11;
/** Room for the name of the metric and its first and last value. */
const BESIDE = LABEL_WIDTH + 'logloss  0.00000 → 0.00000'.length;
const WIDEST = 64;

/** Points of training in their order. Undefined with fewer than two. */
export function curveText(points: readonly Point[], columns: number): string | undefined {
  const train = points.filter(({ kind }) => kind === 'train');
  const name = train.some(({ logloss }) => logloss !== undefined) ? 'logloss' : 'rmse';
  const values = train.flatMap((point) => point[name] ?? []);
  if (values.length < 2) return undefined;
  const width = Math.max(8, Math.min(WIDEST, columns - BESIDE));
  const ends = `${values[0]!.toFixed(5)} → ${values.at(-1)!.toFixed(5)}`;
  return `${'curve'.padEnd(LABEL_WIDTH)}${name} ${sparkline(values, width)} ${ends}`;
}

/** The mean of each of `width` parts, on a scale from the lowest to the highest mean. */
export function sparkline(values: readonly number[], width: number): string {
  const parts = Math.min(width, values.length);
  const means = Array.from({ length: parts }, (_, part) => {
    const some = values.slice(
      Math.floor((part * values.length) / parts),
      Math.floor(((part + 1) * values.length) / parts),
    );
    return some.reduce((sum, value) => sum + value, 0) / some.length;
  });
  const lowest = Math.min(...means);
  const range = Math.max(...means) - lowest;
  const steps = BLOCKS.length - 1;
  return means.map((mean) => BLOCKS[range === 0 ? 0 : Math.round((steps * (mean - lowest)) / range)]).join('');
}
