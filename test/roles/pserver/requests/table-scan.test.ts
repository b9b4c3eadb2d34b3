/** The pages of a table are the same, whatever is kept between them. */

import { expect, it } from 'vitest';
import { TableScan } from '../../../../src/roles/pserver/requests/table-scan.ts';
import * as fc from '../../../properties.ts';

const SHARDS = 5;
/** Some that only differ in their upper half, and the largest. */
const anyId = fc.oneof(
  fc.bigInt({ min: 0n, max: 60n }),
  fc.bigInt({ min: 0n, max: 15n }).map((high) => (high << 60n) + 1n),
  fc.bigInt({ min: 2n ** 64n - 8n, max: 2n ** 64n - 1n }),
);
const anyTable = fc
  .uniqueArray(fc.tuple(anyId, fc.nat(SHARDS - 1)), { maxLength: 120, selector: ([id]) => id })
  .map((rows) => new Map(rows));
const anyPages = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 8 });
const anyKept = fc.constantFrom(1, 10, 40, 1_000);

const sorted = (ids: Iterable<bigint>): bigint[] => [...BigUint64Array.from(ids).sort()];
const NOTHING = async (): Promise<void> => {};

/** Ids by shard, as rows are created. */
class Rows {
  readonly shardOf: Map<bigint, number>;
  /** Sorts by shard. */
  readonly sorts = new Map<number, number>();

  constructor(rows: ReadonlyMap<bigint, number>) {
    this.shardOf = new Map(rows);
  }

  sortedIds(_: number, [shard, ...others]: readonly number[] = []): BigUint64Array {
    expect(others).toEqual([]);
    this.sorts.set(shard!, (this.sorts.get(shard!) ?? 0) + 1);
    return BigUint64Array.from(sorted([...this.shardOf].flatMap(([id, of]) => (of === shard ? [id] : []))));
  }
}

const scanOf = (parameters: Rows, keptIds: number, after?: bigint): TableScan =>
  new TableScan({ parameters, table: 0, shards: Array.from({ length: SHARDS }, (_, shard) => shard), after, keptIds });

it('they are those of a table that is sorted as a whole', () =>
  fc.assert(
    fc.asyncProperty(
      anyTable,
      anyPages,
      anyKept,
      fc.option(anyId, { nil: undefined }),
      async (rows, pages, kept, from) => {
        const all = sorted(rows.keys()).filter((id) => from === undefined || id > from);
        const parameters = new Rows(rows);
        const scan = scanOf(parameters, kept, from);
        for (let at = 0, turn = 0; ; turn++) {
          const most = pages[turn % pages.length]!;
          const { ids, isLast } = await scan.page(most, NOTHING);
          expect([...ids]).toEqual(all.slice(at, at + most));
          at += ids.length;
          expect([isLast, scan.position]).toEqual([at === all.length, at === 0 ? from : all[at - 1]]);
          if (isLast) break;
        }
        const sizeOf = (shard: number): number => [...rows.values()].filter((of) => of === shard).length;
        const most = (shard: number): number => (sizeOf(shard) * SHARDS <= kept ? 1 : 4);
        for (const [shard, sorts] of parameters.sorts) expect(sorts).toBeLessThanOrEqual(most(shard));
      },
    ),
  ));

it('rows that are created in the meantime come once or not at all, and all others once', () =>
  fc.assert(
    fc.asyncProperty(anyTable, anyTable, anyPages, anyKept, async (rows, created, pages, kept) => {
      const parameters = new Rows(rows);
      const scan = scanOf(parameters, kept);
      const read: bigint[] = [];
      const coming = [...created].filter(([id]) => !rows.has(id));
      const create = async (): Promise<void> => {
        const some = coming.splice(0, 5);
        for (const [id, shard] of some) parameters.shardOf.set(id, shard);
      };
      for (let turn = 0, isLast = false; !isLast; turn++) {
        await create();
        const page = await scan.page(pages[turn % pages.length]!, create);
        read.push(...page.ids);
        ({ isLast } = page);
      }
      expect(read).toEqual(sorted(new Set(read)));
      const known = new Set(read);
      for (const id of rows.keys()) expect(known).toContain(id);
      for (const id of read) expect(parameters.shardOf.has(id)).toBe(true);
    }),
  ));
