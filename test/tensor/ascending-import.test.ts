import { describe, expect, it } from 'vitest';
import type { Parameters, ShardRows } from '../../src/tensor/parameters.ts';
import { applyAll, everything, HIGHEST, makeParameters, pullRows, rowsPart, table } from './fixture.ts';
import { OPTIMIZERS } from './optimizers.ts';

const WIDTH = 3;
const adam = OPTIMIZERS.find(({ type }) => type === 'adam')!;
const make = (memoryLimitBytes?: number): Parameters =>
  makeParameters({
    spec: table(WIDTH),
    optimizer: adam,
    shards: 1,
    ...(memoryLimitBytes === undefined ? {} : { memoryLimitBytes }),
  });

/** Rows whose cells tell id and `salt`. */
function rowsFor(ids: readonly bigint[], salt = 0): ShardRows {
  const floats = (kind: number): Float32Array =>
    Float32Array.from(
      { length: ids.length * WIDTH },
      (_, at) => Number(ids[Math.floor(at / WIDTH)]! % 977n) + (at % WIDTH) / 8 + kind * 1024 + salt,
    );
  const steps = Uint32Array.from(ids, (id) => Number(id % 13n) + salt);
  return { ids: BigUint64Array.from(ids), values: floats(0), slots: { m: floats(1), v: floats(2) }, steps };
}

const range = (from: number, to: number): bigint[] => Array.from({ length: to - from }, (_, i) => BigInt(from + i));
const sorted = (ids: readonly bigint[]): bigint[] => [...new Set(ids)].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));

describe('rows of a file', () => {
  it('come in pieces that ascend, from 0 to the highest id, and are found', () => {
    const parameters = make();
    const ids = [...range(0, 9000), HIGHEST - 1n, HIGHEST];
    for (let at = 0; at < ids.length; at += 2500) parameters.importRows(0, 0, rowsFor(ids.slice(at, at + 2500)));
    expect(parameters.exportRows(0, 0)).toEqual(rowsFor(ids));
    expect([...pullRows(parameters, 0, [HIGHEST, 0n], WIDTH)]).toEqual([...rowsFor([HIGHEST, 0n]).values]);
    expect(parameters.stats().rows).toBe(ids.length);
  });

  it.each([
    ['a piece that begins below the one before', range(100, 200), range(50, 120)],
    ['the same piece again', range(0, 100), range(0, 100)],
    ['ids in no order', range(0, 10), [500n, 20n, 5n, 400n]],
    ['the last id again', range(0, 10), range(9, 20)],
  ])('replace those that are there: %s', (_, first, second) => {
    const parameters = make();
    parameters.importRows(0, 0, rowsFor(first));
    parameters.importRows(0, 0, rowsFor(second, 1));
    const all = sorted([...first, ...second]);
    const kept = all.filter((id) => !second.includes(id));
    const expected = new Map([...kept.map((id) => [id, 0] as const), ...second.map((id) => [id, 1] as const)]);
    const { ids, values, steps } = parameters.exportRows(0, 0);
    expect([...ids]).toEqual(all);
    const cells = all.map((id) => rowsFor([id], expected.get(id)!));
    expect([...values]).toEqual(cells.flatMap((cell) => [...cell.values]));
    expect([...steps!]).toEqual(cells.flatMap((cell) => [...cell.steps!]));
  });

  it('come after pushes that added rows above the last piece', () => {
    const parameters = make();
    parameters.importRows(0, 0, rowsFor(range(0, 100)));
    parameters.push([rowsPart(0, [150n], new Float32Array(WIDTH))], [], applyAll(1));
    parameters.importRows(0, 0, rowsFor(range(100, 200)));
    expect(parameters.exportRows(0, 0)).toEqual(rowsFor(range(0, 200)));
  });

  it('come after the shard was dropped and made again', () => {
    const parameters = make();
    parameters.importRows(0, 0, rowsFor(range(0, 100)));
    parameters.dropShard(0);
    parameters.addShard(0);
    parameters.importRows(0, 0, rowsFor(range(50, 150)));
    expect(parameters.exportRows(0, 0)).toEqual(rowsFor(range(50, 150)));
  });

  it('that find no room change nothing, also in a shard that has some', () => {
    const parameters = make(2 * 1024 * 1024);
    parameters.importRows(0, 0, rowsFor(range(0, 100)));
    const before = everything(parameters, 1);
    expect(() => parameters.importRows(0, 0, rowsFor(range(100, 60_000)))).toThrowError(
      expect.objectContaining({ code: 'OutOfMemory' }),
    );
    expect(everything(parameters, 1)).toEqual(before);
    parameters.importRows(0, 0, rowsFor(range(100, 200)));
    expect(parameters.exportRows(0, 0)).toEqual(rowsFor(range(0, 200)));
  });
});

describe('room made ahead', () => {
  it('is used by what comes, and asking for too much does no harm', () => {
    const parameters = make();
    parameters.prepare(8 * 1024 * 1024);
    const { reservedBytes } = parameters.stats();
    expect(reservedBytes).toBeGreaterThan(8 * 1024 * 1024);
    parameters.importRows(0, 0, rowsFor(range(0, 50_000)));
    parameters.prepare(2 ** 40);
    expect(parameters.stats().reservedBytes).toBe(reservedBytes);
  });
});
