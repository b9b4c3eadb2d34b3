/** Pages of a table: each is bounded by its frame, and together they are its rows in the order of ids. */
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../../../src/base/limits.ts';
import type { ReplyHeader, RequestHeader } from '../../../../src/protocol/messages/all-messages.ts';
import type { Outgoing } from '../../../../src/protocol/messages/channel.ts';
import { Scanner, type ScannerOptions } from '../../../../src/roles/pserver/requests/scan.ts';
import type { Parameters } from '../../../../src/tensor/parameters.ts';
import { createParameters } from '../../../../src/tensor/wasm-parameters.ts';
import { applyAll, makeParameters, rowsPart, table } from '../../../tensor/fixture.ts';
import { settled } from '../../master/tasks/service-rig.ts';

type ScanRows = Extract<RequestHeader, { type: 'scanRows' }>;

const STAMP = { revision: '7', shards: 4 };

const scanRows = (more: Partial<ScanRows> = {}): ScanRows => ({
  ...{ type: 'scanRows', job: '', batchPlanId: '', placement: STAMP },
  ...{ table: 0, maxRows: LIMITS.scannedRows, state: true },
  ...more,
});

const NO_TURN = (): Promise<void> => Promise.reject(new Error('a small table is read at one go'));

function scannerOf(parameters: Parameters, shards: readonly number[], more: Partial<ScannerOptions> = {}): Scanner {
  return new Scanner({ shards: { parameters, numbers: shards, stamp: STAMP }, turn: NO_TURN, ...more });
}

/** The ids of a page, and whether nothing follows. */
function pageOf({ header, segments = [] }: Outgoing<ReplyHeader>): { ids: bigint[]; done: boolean } {
  if (header.type !== 'scanRows') throw new Error(header.type);
  const ids = [...new BigUint64Array(new Uint8Array(segments[0]!).buffer)];
  expect(header.rows).toBe(ids.length);
  return { ids, done: header.done };
}

describe('a page', () => {
  const IDS = BigUint64Array.from({ length: 5_000 }, (_, i) => BigInt(i));

  /** Rows of so many bytes; notes how many are read at a time. */
  function wide(rowBytes: number): { parameters: Parameters; read: number[] } {
    const read: number[] = [];
    const parameters = {
      sortedIds: () => IDS,
      rowBytes: () => rowBytes,
      readRows: (_: number, ids: BigUint64Array) => {
        read.push(ids.length);
        return { ids, values: new Float32Array(), slots: {}, steps: undefined };
      },
    } as unknown as Parameters;
    return { parameters, read };
  }

  it('has no more rows than a frame can hold, and all of them come page by page', async () => {
    const rowBytes = 8 + 3 * 4 * LIMITS.rowWidth + 4;
    const { parameters, read } = wide(rowBytes);
    const scanner = scannerOf(parameters, [0]);
    let after: string | undefined;
    for (let isDone = false; !isDone; ) {
      const { ids, done } = pageOf(await scanner.rows(scanRows(after === undefined ? {} : { after })));
      isDone = done;
      after = String(ids.at(-1));
    }
    expect(read.reduce((sum, rows) => sum + rows, 0)).toBe(IDS.length);
    expect(Math.max(...read) * rowBytes).toBeLessThan(LIMITS.frameBytes);
    expect(Math.max(...read)).toBeGreaterThan(1);
  });

  it('has as many rows as are asked for where they fit', async () => {
    const { parameters, read } = wide(16);
    const { header } = await scannerOf(parameters, [0]).rows(scanRows({ maxRows: 17 }));
    expect(header).toMatchObject({ rows: 17, done: false });
    expect(read).toEqual([17]);
  });

  const ADAM = { type: 'adam', learningRate: 0.1, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, l2: 0 } as const;
  const FTRL = { type: 'ftrl', alpha: 0.1, beta: 1, lambda1: 0, lambda2: 0 } as const;

  it.each([ADAM, FTRL])('has as many bytes a row as are reckoned with, under $type', async (optimizer) => {
    const parameters = createParameters({
      spec: { dense: [], sparse: [{ name: 'v', width: 3, initializer: { type: 'zeros' }, optimizer }] },
      seed: 1,
      shards: 1,
    });
    parameters.addShard(0);
    parameters.push([rowsPart(0, [1n, 2n], new Float32Array(6))], [], Uint8Array.of(1));
    const { segments = [] } = await scannerOf(parameters, [0]).rows(scanRows());
    expect(segments.reduce((sum, segment) => sum + segment.byteLength, 0)).toBe(2 * parameters.rowBytes(0));
  });
});

describe('while a table is read', () => {
  const SHARDS = 4;
  const PAGE = 10;
  const IDS = Array.from({ length: 200 }, (_, at) => BigInt(7 * at));

  interface World {
    parameters: Parameters;
    numbers: number[];
    stamp: typeof STAMP;
  }

  const memoryOf = (ids: readonly bigint[]): Parameters => {
    const parameters = makeParameters({ spec: table(1), shards: SHARDS });
    parameters.push([rowsPart(0, ids, new Float32Array(ids.length))], [], applyAll(SHARDS));
    return parameters;
  };

  /** A table of which only a part is kept, so that it is sorted several times. */
  function reading(turn: () => Promise<void> = NO_TURN) {
    const world: World = { parameters: memoryOf(IDS), numbers: [0, 1, 2, 3], stamp: STAMP };
    const counts = { sorts: 0 };
    const { sortedIds } = world.parameters;
    world.parameters.sortedIds = (...of) => {
      counts.sorts += 1;
      return sortedIds.apply(world.parameters, of);
    };
    const scanner = new Scanner({ shards: world, turn, keptIds: 1 });
    const page = async (after?: bigint, more: Partial<ScanRows> = {}) => {
      const from = after === undefined ? {} : { after: String(after) };
      return pageOf(await scanner.rows(scanRows({ ...from, maxRows: PAGE, placement: world.stamp, ...more })));
    };
    return { world, counts, page };
  }

  it('another scan of it goes on where it is, and no shard is sorted for each page', async () => {
    const { counts, page } = reading();
    const read: bigint[][] = [[], []];
    for (let turn = 0; turn < IDS.length / PAGE; turn++) {
      for (const ids of turn === 0 ? read.slice(0, 1) : read) ids.push(...(await page(ids.at(-1))).ids);
    }
    expect(read[0]).toEqual(IDS);
    expect(read[1]).toEqual(IDS.slice(0, -PAGE));
    // Four times each, by each of the scans.
    expect(counts.sorts).toBeLessThanOrEqual(2 * 4 * SHARDS);
  });

  it('scans that were given up are forgotten, the oldest first', async () => {
    const { counts, page } = reading();
    const { ids } = await page();
    for (let at = 0; at < 3; at++) await page();
    await page(ids.at(-1), { maxRows: 1 });
    const { sorts } = counts;
    expect(sorts).toBe(4 * SHARDS);
    for (let at = 0; at < 4; at++) await page();
    await page(ids.at(-1)! + 7n);
    expect(counts.sorts).toBe(sorts + 5 * SHARDS);
  });

  it('what was kept of other units, or of another state of them, is forgotten', async () => {
    const { world, page } = reading();
    await page();
    world.parameters = memoryOf(IDS.filter((id) => id % 2n === 0n));
    const last = IDS[PAGE - 1]!;
    expect((await page(last)).ids.every((id) => id % 2n === 0n)).toBe(true);
    await page();
    for (const shard of [0, 1]) world.parameters.dropShard(shard);
    [world.numbers, world.stamp] = [[2, 3], { revision: '8', shards: 2 }];
    const left = [...world.parameters.sortedIds(0)];
    expect((await page(last)).ids).toEqual(left.filter((id) => id > last).slice(0, PAGE));
  });

  it('pages are read one after the other', async () => {
    let isSorting = 0;
    let most = 0;
    const { parameters, turns } = large(async () => {
      most = Math.max(most, ++isSorting);
      await settled();
      isSorting -= 1;
    });
    const scanner = scannerOf(parameters, SHARDS_OF_LARGE, { turn: turns });
    await Promise.all([1, 2, 3].map(() => scanner.rows(scanRows({ maxRows: 5 }))));
    expect(most).toBe(1);
  });

  it.each([
    ['StalePlacement', () => ({ stamp: { revision: '8', shards: 4 } })],
    ['NotReady', () => ({ parameters: large().parameters })],
  ])(
    'a page is refused with %s when that changes while ids are sorted, and the next one is read',
    async (code, now) => {
      const world: World = { parameters: large().parameters, numbers: SHARDS_OF_LARGE, stamp: STAMP };
      let change = (): unknown => Object.assign(world, now());
      const turn = async (): Promise<void> => {
        change();
        change = () => undefined;
      };
      const scanner = new Scanner({ shards: world, turn });
      await expect(scanner.rows(scanRows({ maxRows: 5 }))).rejects.toMatchObject({ code });
      const next = await scanner.rows(scanRows({ maxRows: 5, placement: world.stamp }));
      expect(pageOf(next).ids).toEqual([0n, 1n, 2n, 3n, 4n]);
    },
  );

  const SHARDS_OF_LARGE = Array.from({ length: 12 }, (_, shard) => shard);
  const ROWS_OF_SHARD = 30_000;

  /** Shard s has the ids s, s + 12, and so on. Notes how many ids are sorted before each turn. */
  function large(then: () => Promise<void> = settled) {
    const sorted = [0];
    const parameters = {
      sortedIds: (_: number, shards: readonly number[]) => {
        expect(shards).toHaveLength(1);
        sorted[sorted.length - 1]! += ROWS_OF_SHARD;
        const of = BigInt(SHARDS_OF_LARGE.length);
        return BigUint64Array.from({ length: ROWS_OF_SHARD }, (_none, at) => BigInt(at) * of + BigInt(shards[0]!));
      },
      rowBytes: () => 16,
      readRows: (_: number, ids: BigUint64Array) => ({ ids, values: new Float32Array(), slots: {}, steps: undefined }),
    } as unknown as Parameters;
    const turns = async (): Promise<void> => {
      sorted.push(0);
      await then();
    };
    return { parameters, turns, sorted };
  }

  it('the event loop turns after two shards, or three', async () => {
    const { parameters, turns, sorted } = large();
    let others = 0;
    let isRead = false;
    const count = (): void => {
      others += 1;
      if (!isRead) setImmediate(count);
    };
    setImmediate(count);
    const page = await scannerOf(parameters, SHARDS_OF_LARGE, { turn: turns }).rows(scanRows({ maxRows: 5 }));
    isRead = true;
    expect(pageOf(page)).toEqual({ ids: [0n, 1n, 2n, 3n, 4n], done: false });
    expect(sorted).toEqual(Array.from({ length: 4 }, () => 3 * ROWS_OF_SHARD));
    expect(others).toBeGreaterThanOrEqual(sorted.length - 1);
  });
});

it('rows that are removed between two pages are left out, and a page without rows is none', async () => {
  const seen = { dense: [], sparse: [{ ...table(1).sparse[0]!, hasSeen: true }] };
  const parameters = makeParameters({ spec: seen, shards: 1 });
  const ids = Array.from({ length: 40 }, (_, id) => BigInt(id));
  parameters.push([rowsPart(0, ids, new Float32Array(40))], [], applyAll(1), { seen: Uint32Array.of(1) });
  const scanner = scannerOf(parameters, [0]);
  const page = async (after?: string) => pageOf(await scanner.rows(scanRows({ maxRows: 10, ...(after && { after }) })));
  expect((await page()).ids).toEqual(ids.slice(0, 10));
  parameters.removeIds(0, 0, BigUint64Array.from(ids.slice(8, 35)));
  expect(await page('9')).toEqual({ ids: ids.slice(35), done: true });
});
