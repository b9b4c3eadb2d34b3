/** A model whose tables look up different columns: each table has ids of its own, in pulls, steps and pushes. */
import { expect, test } from 'vitest';
import { createSlicer } from '../../../../src/cluster/client/slicer.ts';
import { noMetrics } from '../../../../src/model/metrics.ts';
import { type Batch, idsOf, type Model, type PulledValues, type SparseInput } from '../../../../src/model/model.ts';
import { accumulateGradients } from '../../../../src/roles/trainer/compute/accumulate-gradients.ts';
import { stepInUnion, uniteIds } from '../../../../src/roles/trainer/compute/id-union.ts';
import { ArrayMemory } from '../../../../src/tensor/array-memory.ts';
import { createIdRouter, type IdList } from '../../../../src/tensor/id-router.ts';
import { placedAt, placementOf, SHARDS } from '../../../cluster/client/placed.ts';
import * as fc from '../../../properties.ts';

/** `user` and `both` look up the first input, `item` the second one. */
const TABLES = [
  { name: 'user', width: 2, input: 0 },
  { name: 'item', width: 3, input: 1 },
  { name: 'both', width: 1, input: 0 },
];

/** The gradient of a row is its value times the sum of its features' values: exact in f32, for small whole numbers. */
const MODEL: Model = {
  type: 'two inputs',
  input: 'sparse',
  task: 'regression',
  parameters: {
    dense: [],
    sparse: TABLES.map(({ name, width }) => ({ name, width, initializer: { type: 'zeros' } })),
  },
  lookups: TABLES.map(({ input }) => input),
  step({ records, sparse }, values) {
    const gradients = TABLES.map(({ width, input }, table) => {
      const { rows, values: of, count } = sparse[input]!;
      const gradient = new Float32Array(count * width);
      rows.forEach((row, feature) => {
        for (let c = row * width; c < (row + 1) * width; c++) {
          gradient[c]! += values.sparse[table]![c]! * of![feature]!;
        }
      });
      return gradient;
    });
    return { dense: [], sparse: gradients, metrics: { ...noMetrics, records } };
  },
  evaluate: ({ records }) => ({ metrics: { ...noMetrics, records }, scores: new Float32Array(records) }),
};

const MEMORY = new ArrayMemory();
const IN_MEMORY: Model = { ...MODEL, memory: MEMORY };

const router = createIdRouter({ shards: SHARDS });

/** Of one record: an id and a value for each feature. */
type Features = readonly (readonly [id: number, value: number])[];

function inputOf(records: readonly Features[]): SparseInput {
  const features = records.flat();
  const all = BigUint64Array.from(features, ([id]) => BigInt(id));
  const { ids, distinct, places } = router.dedupe(new Uint8Array(all.buffer), all.length);
  let end = 0;
  const offsets = Uint32Array.from([0, ...records.map((one) => (end += one.length))]);
  return {
    offsets,
    rows: places,
    values: Float32Array.from(features, ([, value]) => value),
    ids,
    count: distinct,
  };
}

/** Two pservers, each with values that say table and id. */
const PLACEMENT = placementOf(placedAt(0, [0, 1, 2, 3]), placedAt(1, [4, 5, 6, 7]));
const storedAt = (table: number, id: bigint, c: number): number => table + 1 + Number(id) + c;

function stored(ids: readonly IdList[]): PulledValues {
  const sparse = TABLES.map(({ width }, table) => {
    const rows = idsIn(ids[table]!).flatMap((id) => Array.from({ length: width }, (_, c) => storedAt(table, id, c)));
    return Float32Array.from(rows);
  });
  return { dense: [], sparse };
}

const idsOfBytes = (bytes: Uint8Array): bigint[] => [...new BigUint64Array(bytes.slice().buffer)];
const idsIn = ({ ids, count }: IdList): bigint[] => idsOfBytes(ids.subarray(0, 8 * count));
const sorted = (ids: readonly bigint[]): bigint[] => ids.toSorted((a, b) => (a < b ? -1 : 1));

const features = fc.array(fc.tuple(fc.nat(12), fc.integer({ min: -3, max: 3 })), { maxLength: 4 });
const batches = fc.array(
  fc.array(fc.tuple(features, features), { minLength: 1, maxLength: 5 }).map(
    (records): Batch => ({
      records: records.length,
      labels: new Float32Array(records.length),
      sparse: [inputOf(records.map(([user]) => user)), inputOf(records.map(([, item]) => item))],
      dense: [],
    }),
  ),
  { minLength: 1, maxLength: 4 },
);

/** What the pservers get of gradients: by table and id. */
function pushed(ids: readonly IdList[], sparse: readonly Float32Array[]): Map<string, number[]> {
  const rows = new Map<string, number[]>();
  TABLES.forEach(({ name, width }, table) => {
    idsIn(ids[table]!).forEach((id, row) => {
      rows.set(`${name} ${id}`, [...sparse[table]!.subarray(row * width, (row + 1) * width)]);
    });
  });
  return rows;
}

test('a step in a union of batches is the step of each batch alone, and the sum of all is their mean', () => {
  fc.assert(
    fc.property(batches, (all) => {
      const union = uniteIds(router, MODEL, all);
      expect(union.ids[0]).toBe(union.ids[2]);
      const values = stored(union.ids);
      const total = all.reduce((sum, { records }) => sum + records, 0);
      const expected = new Map<string, number[]>();
      const contributions = all.map((batch, number) => {
        const step = stepInUnion(IN_MEMORY, batch, values, union, number, { pass: 0, task: 0, batch: number });
        const ids = idsOf(MODEL, batch);
        expect(step.sparse).toEqual(MODEL.step(batch, stored(ids)).sparse);
        for (const [row, gradient] of pushed(ids, step.sparse)) {
          const sum = expected.get(row) ?? gradient.map(() => 0);
          expected.set(
            row,
            sum.map((one, c) => one + (batch.records / total) * gradient[c]!),
          );
        }
        return { batch, step, versions: new Map(), routed: undefined };
      });
      expect(MEMORY.heap.kernels.allocatedBytes()).toBe(0);
      const { ids, sparse } = accumulateGradients(router, MODEL, contributions);
      const actual = pushed(ids, sparse);
      expect([...actual.keys()].sort()).toEqual([...expected.keys()].sort());
      for (const [row, gradient] of actual) {
        gradient.forEach((value, c) => {
          expect(value).toBeCloseTo(expected.get(row)![c]!, 3);
        });
      }
    }),
  );
});

test('what goes to each pserver comes back from it, table by table', () => {
  fc.assert(
    fc.property(batches, (all) => {
      const slicer = createSlicer({ spec: MODEL.parameters, shards: SHARDS, router });
      const { ids } = uniteIds(router, MODEL, all);
      const values = stored(ids);
      const pulled = slicer.allocate(ids);
      const sent: bigint[][] = TABLES.map(() => []);
      for (const slice of slicer.route(PLACEMENT, ids).slices) {
        const segments = slice.pushSegments(values);
        for (const [at, { table }] of slice.fields.sparse.entries())
          sent[table]!.push(...idsOfBytes(segments[2 * at]!));
        const floats = segments.filter((_, at) => at % 2 === 1);
        slice.scatter({ segmentCount: floats.length, segment: (at) => floats[at]! }, pulled);
        slice.release();
      }
      expect(pulled.sparse.map((rows) => [...rows])).toEqual(values.sparse.map((rows) => [...rows]));
      expect(sent.map(sorted)).toEqual(ids.map((list) => sorted(idsIn(list))));
    }),
  );
});
