/** A page of a scan is bounded by the frame that it is sent in, before memory is found for it. */
import { expect, it } from 'vitest';
import { LIMITS } from '../../../src/base/limits.ts';
import type { RequestHeader } from '../../../src/protocol/messages/all-messages.ts';
import { createScanner } from '../../../src/roles/pserver/scan.ts';
import type { Parameters } from '../../../src/tensor/parameters.ts';
import { createParameters } from '../../../src/tensor/wasm-parameters.ts';

type ScanRows = Extract<RequestHeader, { type: 'scanRows' }>;

const scanRows = (more: Partial<ScanRows> = {}): ScanRows => ({
  type: 'scanRows',
  job: '',
  batchPlanId: '',
  placement: { revision: '0', shards: 1 },
  table: 0,
  maxRows: LIMITS.scannedRows,
  state: true,
  ...more,
});

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

it('reads no more rows than a frame can hold, and all of them page by page', () => {
  const rowBytes = 8 + 3 * 4 * LIMITS.rowWidth + 4;
  const { parameters, read } = wide(rowBytes);
  const scanner = createScanner({ parameters, numbers: [0] });
  let after: string | undefined;
  for (let done = false; !done; ) {
    const { header } = scanner.rows(scanRows(after === undefined ? {} : { after }));
    if (header.type !== 'scanRows') throw new Error(header.type);
    done = header.done;
    after = String(read.reduce((sum, rows) => sum + rows, 0) - 1);
  }
  expect(read.reduce((sum, rows) => sum + rows, 0)).toBe(IDS.length);
  expect(Math.max(...read) * rowBytes).toBeLessThan(LIMITS.frameBytes);
  expect(Math.max(...read)).toBeGreaterThan(1);
});

it('reads as many rows as are asked for where they fit', () => {
  const { parameters, read } = wide(16);
  expect(createScanner({ parameters, numbers: [0] }).rows(scanRows({ maxRows: 17 })).header).toMatchObject({
    rows: 17,
    done: false,
  });
  expect(read).toEqual([17]);
});

const ADAM = { type: 'adam', learningRate: 0.1, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, l2: 0 } as const;
const FTRL = { type: 'ftrl', alpha: 0.1, beta: 1, lambda1: 0, lambda2: 0 } as const;

it.each([ADAM, FTRL])('knows the bytes of a row under $type', (optimizer) => {
  const parameters = createParameters({
    spec: { dense: [], sparse: [{ name: 'v', width: 3, initializer: { type: 'zeros' }, optimizer }] },
    seed: 1,
    shards: 1,
  });
  parameters.addShard(0);
  const ids = BigUint64Array.of(1n, 2n);
  const gradients = new Uint8Array(2 * 3 * 4);
  parameters.push([{ table: 0, ids: new Uint8Array(ids.buffer), gradients }], [], Uint8Array.of(1));
  const { segments = [] } = createScanner({ parameters, numbers: [0] }).rows(scanRows());
  expect(segments.reduce((sum, segment) => sum + segment.byteLength, 0)).toBe(2 * parameters.rowBytes(0));
});
