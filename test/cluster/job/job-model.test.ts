/** What a model of columns reads, on its way from the model to the readers of files. */
import { expect, it } from 'vitest';
import { forwardReadingOf, modelOf, readingOf } from '../../../src/cluster/job/job-model.ts';
import type { JobRecord } from '../../../src/cluster/job/job-record.ts';
import { noMetrics } from '../../../src/model/metrics.ts';
import type { ColumnInputs, Model } from '../../../src/model/model.ts';
import { elementCount } from '../../../src/tensor/blocks.ts';
import { aJob, recordOf } from './stored-job.ts';

const COLUMNS = { y: 'label', a: 'category', x: 'number', z: 'number' };

const modelWith = (reads: ColumnInputs): Model => ({
  ...{ type: 'made up', input: 'columns', task: 'binary', lookups: [0], reads },
  parameters: { dense: [], sparse: [{ name: 'w', width: 1, initializer: { type: 'zeros' } }] },
  step: () => ({ dense: [], sparse: [], metrics: noMetrics }),
  evaluate: () => ({ metrics: noMetrics, scores: new Float32Array(0) }),
});

/** Training records lack some of `x`. */
function recordWith(data: object): JobRecord {
  const of = (name: string, missing: number) => ({ name, missing, present: 3, mean: 0, deviation: 1, min: 0, max: 1 });
  const columns = { statistics: [of('x', 1), of('z', 0)], fields: 4 };
  return recordOf(aJob({ data }), { train: { columns } });
}

const CSV = { train: 'a.csv', format: 'csv', columns: COLUMNS };

it('readers get what the model reads, with the width of its dense input', () => {
  const reads = { sparse: [['a'], ['x', 'a']], numbers: ['x'] };
  const record = recordWith(CSV);
  const model = modelOf(record, { makeModel: () => modelWith(reads) });
  const wanted = { inputWidth: 2, columns: { input: 'columns', reads } };
  expect(readingOf(record, model)).toMatchObject(wanted);
  expect(forwardReadingOf(record, model, 'tsv')).toMatchObject(wanted);
});

it('text that stands for columns has the texts of the job that mean no value', () => {
  const record = recordWith({ ...CSV, format: 'columns', missing: ['', '?'] });
  const model = modelOf(record, { makeModel: () => modelWith({ sparse: [['a']], numbers: ['x'] }) });
  const { columns } = forwardReadingOf(record, model, 'csv');
  expect(columns?.dialect).toMatchObject({ delimiter: ',', missing: ['', '?'] });
});

it('what a model draws at random depends on the seed of the job', () => {
  const data = { train: 'images-idx3-ubyte', format: 'idx' };
  const gradientsWith = (seed: number): number[][] => {
    const job = aJob({ data, model: { type: 'mlp', hidden: [32], dropout: 0.5 }, training: { seed } });
    const model = modelOf(recordOf(job));
    // All the same, so that nothing but what is left out makes a difference.
    const dense = model.parameters.dense.map((one) => new Float32Array(elementCount(one)).fill(0.1));
    const batch = {
      ...{ records: 2, labels: Float32Array.of(0, 1), sparse: [] },
      dense: [{ width: 4, values: new Float32Array(8).fill(1) }],
    };
    const step = model.step(batch, { dense, sparse: [] }, { pass: 0, task: 0, batch: 0 });
    return step.dense.map((values) => [...values]);
  };
  expect(gradientsWith(1)).toEqual(gradientsWith(1));
  expect(gradientsWith(2)).not.toEqual(gradientsWith(1));
});

it('a model that reads a column that the job does not have is refused, with those that there are', () => {
  const makeModel = (): Model => modelWith({ sparse: [['a', 'b']], numbers: [] });
  const hint = 'expected columns of data.columns, each once: a, x, z';
  expect(() => modelOf(recordWith(CSV), { makeModel })).toThrow(
    expect.objectContaining({
      code: 'DataInvalid',
      message: 'reads.sparse[0][1]: the job does not have a column b',
      hint,
    }),
  );
  expect(() => modelOf(recordWith({}), { makeModel })).toThrow(expect.objectContaining({ code: 'DataInvalid' }));
});
