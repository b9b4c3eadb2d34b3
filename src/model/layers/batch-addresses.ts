/** Where a batch and its values are in kernel memory, checked once so that layers can rely on it. */
import { assert } from '../../base/assert.ts';
import { elementCount } from '../../tensor/blocks.ts';
import type { KernelExports } from '../../tensor/kernels/exports.ts';
import type { Batch, PulledValues } from '../model.ts';
import type { Graph } from './graph.ts';
import type { DataAddresses } from './layer.ts';

export interface BatchAddresses {
  readonly labels: number;
  /** 0 when each is 1. */
  readonly weights: number;
  /** Values of all dense parameters. */
  readonly dense: readonly number[];
  /** What a layer with this table, or with none, reads from that record on. */
  dataFrom(record: number, table: number | undefined): DataAddresses;
}

type BatchArray = Float32Array | Uint32Array | Uint16Array | Uint8Array;

/** Labels first, then what there is of numbers, weights, values and features. */
export function batchArrays(batch: Batch, values: PulledValues, graph: Graph): BatchArray[] {
  const { parameters } = graph;
  const { labels, weights, sparse, dense } = batch;
  checkBatch(batch, graph);
  assert(values.dense.length === parameters.dense.length, 'a pulled array a dense parameter');
  values.dense.forEach((array, at) => {
    assert(array.length === elementCount(parameters.dense[at]!), 'a parameter has its shape');
  });
  assert(values.sparse.length === parameters.sparse.length, 'a pulled array a table');
  const [numbers] = dense;
  return [
    labels,
    ...(numbers === undefined ? [] : [numbers.values]),
    ...(weights === undefined ? [] : [weights]),
    ...values.dense,
    ...values.sparse,
    ...sparse.flatMap(({ offsets, rows, values: xs, fields }) => [
      ...[offsets, rows],
      ...(xs === undefined ? [] : [xs]),
      ...(fields === undefined ? [] : [fields]),
    ]),
  ];
}

function checkBatch({ records, weights, sparse, dense }: Batch, { numbers, columns }: Graph): void {
  const width = numbers?.width ?? 0;
  assert(dense.length <= 1 && (dense[0]?.width ?? 0) === width, 'the numbers that the model reads');
  assert((dense[0]?.values.length ?? 0) === records * width, 'inputs are records × width');
  assert(sparse.length === columns.length, 'the inputs that tables look up');
  assert(weights === undefined || weights.length === records, 'a weight a record');
  for (const [input, { offsets, rows, values, fields }] of sparse.entries()) {
    assert(offsets.length === records + 1, 'offsets a record');
    assert(values === undefined || values.length === rows.length, 'a value a feature');
    assert(fields === undefined || fields.length === rows.length, 'a field a feature');
    assert(fields !== undefined || columns[input] === undefined, 'features of columns have fields');
  }
}

/** `addresses`: of the arrays of `batchArrays`. */
export function batchAddresses(
  { records, weights, sparse, dense }: Batch,
  values: PulledValues,
  { lookups, parameters }: Graph,
  kernels: KernelExports,
  addresses: readonly number[],
): BatchAddresses {
  let taken = 0;
  const next = (): number => addresses[taken++]!;
  const nextOf = (array: unknown): number => (array === undefined ? 0 : next());
  const labels = next();
  const [numbers] = dense;
  const numbersAt = nextOf(numbers);
  const weightsAt = nextOf(weights);
  const parametersAt = values.dense.map(next);
  const tables = values.sparse.map(next);
  const features = sparse.map(({ offsets: _, rows, values: xs, fields, count }) => {
    const [offsets, rowsAt] = [next(), next()];
    assert(
      kernels.isBatch(records, offsets, rowsAt, rows.length, count) !== 0,
      'offsets ascend to the number of features, and each row is that of a distinct id',
    );
    return { offsets, rows: rowsAt, values: nextOf(xs), fields: nextOf(fields), count };
  });
  lookups.forEach((input, table) => {
    const { width } = parameters.sparse[table]!;
    assert(values.sparse[table]!.length === features[input]!.count * width, 'a row a distinct id');
  });
  const areBytes = numbers?.values instanceof Uint8Array;
  const numberBytes = numbers === undefined ? 0 : numbers.width * (areBytes ? 1 : 4);
  return {
    labels,
    weights: weightsAt,
    dense: parametersAt,
    dataFrom(record, table) {
      const own = table === undefined ? undefined : features[lookups[table]!]!;
      return {
        numbers: numbersAt + record * numberBytes,
        areBytes,
        features: own && { ...own, offsets: own.offsets + 4 * record, table: tables[table!]! },
      };
    },
  };
}
