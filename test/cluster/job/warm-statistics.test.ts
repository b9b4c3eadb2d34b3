import { describe, expect, it } from 'vitest';
import type { JobRecord } from '../../../src/cluster/job/job-record.ts';
import { withStatisticsOf } from '../../../src/cluster/job/warm-statistics.ts';
import { aJob, recordOf } from './stored-job.ts';

type Statistics = NonNullable<JobRecord['train']['columns']>['statistics'];

const known = (name: string, mean: number, more: Partial<Statistics[number]> = {}): Statistics[number] => ({
  ...{ name, present: 5, missing: 1, mean, deviation: 2, min: mean - 3, max: mean + 3 },
  ...more,
});

function record(columns: Record<string, unknown>, statistics: Statistics): JobRecord {
  const job = aJob({ data: { train: 'a.csv', format: 'csv', columns: { y: 'label', ...columns } } });
  return recordOf(job, { train: { columns: { fields: 1 + statistics.length, statistics } } });
}

const number = (settings: object = {}) => ({ type: 'number', ...settings });

describe('a job with a warm start reads number columns', () => {
  it('as the other job, where both read them alike, whatever their order', () => {
    const other = record({ b: 'number', a: 'number' }, [known('b', 2), known('a', 1)]);
    const own = record({ a: 'number', new: 'number', b: number({ missing: 'zero' }) }, [
      ...[known('a', 10), known('new', 11), known('b', 12)],
    ]);
    const { record: read, taken } = withStatisticsOf(other, own);
    expect(taken).toEqual(['a', 'b']);
    expect(read.train.columns?.statistics).toEqual([known('a', 1), known('new', 11), known('b', 2)]);
    expect({ ...read, train: { ...read.train, columns: own.train.columns } }).toEqual(own);
  });

  it('of quantiles with the bounds that they had there', () => {
    const columns = { a: number({ quantiles: 3 }) };
    const there = known('a', 1, { bounds: [0, 2] });
    const { record: read } = withStatisticsOf(
      record(columns, [there]),
      record(columns, [known('a', 9, { bounds: [8] })]),
    );
    expect(read.train.columns?.statistics).toEqual([there]);
  });

  it.each([
    ['normalized otherwise', { a: number({ normalize: 'minmax' }) }, known('a', 1)],
    ['divided into other parts', { a: number({ quantiles: 4 }) }, known('a', 1, { bounds: [1] })],
    ['no number', { a: 'category' }, undefined],
    ['without any value', { a: 'number' }, known('a', 0, { present: 0 })],
  ])('with its own statistics, where they are %s there', (_, columns, of) => {
    const own = record({ a: 'number' }, [known('a', 10)]);
    expect(withStatisticsOf(record(columns, of === undefined ? [] : [of]), own)).toEqual({ record: own, taken: [] });
  });

  it('without statistics, if the data has no columns', () => {
    const own = recordOf(aJob());
    expect(withStatisticsOf(record({ a: 'number' }, [known('a', 1)]), own)).toEqual({ record: own, taken: [] });
  });
});
