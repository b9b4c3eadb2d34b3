/** Which ids of a shard go for an update. */
import { expect, it } from 'vitest';
import { LeastRecent } from '../../../src/tensor/admission/least-recent.ts';
import { KernelHeap } from '../../../src/tensor/kernel-heap.ts';
import { createCounter } from '../../../src/tensor/kernel-optimizer.ts';
import { SparseTable, workspaceBytes } from '../../../src/tensor/sparse-table.ts';
import * as fc from '../../properties.ts';

const anySeen = fc.oneof(
  { weight: 3, arbitrary: fc.nat({ max: 9 }) },
  { weight: 1, arbitrary: fc.nat({ max: 5000 }) },
  { weight: 1, arbitrary: fc.nat({ max: 2 ** 32 - 2 }) },
);
interface Entry {
  readonly id: bigint;
  readonly seen: number;
}
const anyTable = fc.record({
  entries: fc.uniqueArray(fc.record({ id: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), seen: anySeen }), {
    selector: ({ id }) => id,
    maxLength: 50,
  }),
  bytes: fc.constantFrom(16, 20, 72),
});

const heap = new KernelHeap();
const byteLength = workspaceBytes(0, 1);
const workspace = { address: heap.allocate(byteLength), byteLength };
const leastRecent = new LeastRecent(heap);
const tables = ['a', 'b'].map((name) => {
  const spec = { name, width: 0, initializer: { type: 'zeros' } } as const;
  const optimizer = createCounter(heap);
  return new SparseTable(heap, spec, { ...{ optimizer, workspace, seed: 1, shards: 1, hasSeen: true } });
});

function filled(table: SparseTable, entries: readonly Entry[]): SparseTable {
  table.dropShard(0);
  table.addShard(0);
  const sorted = [...entries].sort((a, b) => (a.id < b.id ? -1 : 1));
  table.import(0, {
    ids: BigUint64Array.from(sorted, ({ id }) => id),
    values: new Float32Array(0),
    slots: {},
    steps: new Uint32Array(sorted.length).fill(1),
    seen: Uint32Array.from(sorted, ({ seen }) => seen),
  });
  return table;
}

it('the lowest `seen` go first, then the lowest unsigned ids, until the bytes are enough', () => {
  fc.assert(
    fc.property(
      fc.array(anyTable, { minLength: 1, maxLength: 2 }),
      anySeen,
      fc.nat({ max: 99 }),
      (contents, seen, percent) => {
        const now = seen + 1;
        const all = contents
          .flatMap(({ entries, bytes }, table) => entries.map((one) => ({ ...one, bytes, table })))
          .sort((a, b) => a.seen - b.seen || (a.id < b.id ? -1 : 1));
        const mayGo = all.filter((one) => one.seen < now);
        const wanted = Math.floor((mayGo.reduce((sum, { bytes }) => sum + bytes, 0) * percent) / 100);
        const gone = new Set<object>();
        let freed = 0;
        for (const one of mayGo) {
          if (freed >= wanted) break;
          gone.add(one);
          freed += one.bytes;
        }
        const aged = contents.map(({ entries, bytes }, at) => ({ table: filled(tables[at]!, entries), bytes }));
        leastRecent.remove(0, aged, now, wanted);
        const left = all.filter((one) => !gone.has(one)).sort((a, b) => (a.id < b.id ? -1 : 1));
        aged.forEach(({ table }, at) => {
          const expected = left.filter((one) => one.table === at);
          const { ids, seen: found } = table.export(0);
          expect([...ids]).toEqual(expected.map(({ id }) => id));
          expect([...found!]).toEqual(expected.map((one) => one.seen));
          // The index still finds them all, and only them.
          expect(
            table.existing(
              BigUint64Array.from(
                all.filter((one) => one.table === at),
                ({ id }) => id,
              ),
              [0],
            ),
          ).toHaveLength(expected.length);
        });
      },
    ),
  );
});
