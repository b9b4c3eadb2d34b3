/**
 * A job with a warm start reads number columns as the job did that its parameters come from: a weight goes with the
 * numbers that it was trained on, and a part of `quantiles` with its bounds.
 */
import type { NumberColumn } from '../../data/columns/column.ts';
import type { JobRecord } from './job-record.ts';

export interface WithStatistics {
  readonly record: JobRecord;
  /** Names of the columns whose statistics are the other job's. */
  readonly taken: readonly string[];
}

/**
 * The record with the statistics of `other`, column by column: of the same name, and read in the same way. A column
 * without any value there has nothing that was trained on it, and keeps its own.
 */
export function withStatisticsOf(other: JobRecord, record: JobRecord): WithStatistics {
  const { columns } = record.train;
  if (columns === undefined) return { record, taken: [] };
  const [here, there] = [numbersOf(record), numbersOf(other)];
  const known = new Map(other.train.columns?.statistics.map((of) => [of.name, of]));
  const taken: string[] = [];
  const statistics = columns.statistics.map((own) => {
    const found = known.get(own.name);
    if (found === undefined || found.present === 0) return own;
    if (!areReadAlike(here.get(own.name), there.get(own.name))) return own;
    taken.push(own.name);
    return found;
  });
  return { record: { ...record, train: { ...record.train, columns: { ...columns, statistics } } }, taken };
}

const numbersOf = ({ job }: JobRecord): ReadonlyMap<string, NumberColumn> =>
  new Map((job.data.columns ?? []).flatMap((column) => (column.type === 'number' ? [[column.name, column]] : [])));

const areReadAlike = (a: NumberColumn | undefined, b: NumberColumn | undefined): boolean =>
  a !== undefined && a.normalize === b?.normalize && a.quantiles === b.quantiles;
