/** What a unit keeps of rounds is the same after it has gone in pieces. */

import { describe, expect, it } from 'vitest';
import type { OldValues } from '../../../../src/roles/pserver/held/pre-image.ts';
import type { TimedRounds } from '../../../../src/roles/pserver/held/unit-rounds.ts';
import { pieceBytes } from '../../../../src/roles/pserver/transfer/copy-pieces.ts';
import { IncomingRounds, roundsPieces } from '../../../../src/roles/pserver/transfer/rounds-pieces.ts';
import { denseBlockFloats } from '../../../../src/tensor/blocks.ts';
import type { ParameterSpec } from '../../../../src/tensor/spec.ts';
import * as fc from '../../../properties.ts';
import { bytesOf, NORMAL } from '../../../tensor/fixture.ts';

const WIDTH = 3;
const BLOCKS = 5;
/** Floats of the last block. */
const REST = 100;
const SPEC: ParameterSpec = {
  dense: [{ name: 'w', shape: [(BLOCKS - 1) * denseBlockFloats + REST], initializer: NORMAL }],
  sparse: [
    { name: 'rows', width: WIDTH, initializer: NORMAL },
    { name: 'narrow', width: 1, initializer: NORMAL },
  ],
};
const METRICS = [{ pass: 0, records: 3, weight: 3, loss: 0.5, correct: 1, squaredError: 0.25 }];
const AT = { timeline: 2, version: 9, metrics: METRICS };

const floats = (count: number, from: number): Uint8Array =>
  bytesOf(Float32Array.from({ length: count }, (_, at) => from + at));
const oldRows = (table: number, ids: readonly bigint[]) => ({
  ...{ table, ids: bytesOf(BigUint64Array.from(ids)) },
  values: floats(ids.length * SPEC.sparse[table]!.width, Number(ids[0] ?? 0)),
});
const oldBlocks = (blocks: readonly number[]) => {
  const count = blocks.reduce((sum, block) => sum + (block === BLOCKS - 1 ? REST : denseBlockFloats), 0);
  return { parameter: 0, blocks: Uint32Array.from(blocks), values: floats(count, blocks[0] ?? 0) };
};
const NONE: OldValues = { dense: [], sparse: [] };

function carried(maxBytes: number, ...parts: readonly TimedRounds[]): TimedRounds | undefined {
  const incoming = new IncomingRounds(SPEC);
  for (const part of parts) for (const piece of roundsPieces(SPEC, part, maxBytes)) incoming.put(piece);
  return incoming.state();
}

describe('what a unit keeps of rounds', () => {
  it('is the same in pieces of any size', () => {
    const ids = fc.uniqueArray(fc.bigInt(0n, 2n ** 64n - 1n), { minLength: 1, maxLength: 20 });
    const blocks = fc.subarray([0, 1, 2, 3, 4], { minLength: 1 });
    fc.assert(
      fc.property(
        fc.option(ids),
        fc.option(ids),
        fc.option(blocks),
        fc.integer({ min: 1, max: 200_000 }),
        (a, b, c, max) => {
          const sparse = [a, b].flatMap((of, table) => (of === null ? [] : [oldRows(table, of)]));
          const rounds = { ...AT, previous: { dense: c === null ? [] : [oldBlocks(c)], sparse } };
          expect(carried(max, rounds)).toEqual(rounds);
          for (const piece of roundsPieces(SPEC, rounds, max)) {
            const count = piece.segments[0]?.byteLength ?? 0;
            const isOne = count === (piece.header.part === 'oldRows' ? 8 : 4);
            expect(isOne || pieceBytes(piece) <= max).toBe(true);
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  it('tells a version before that changed nothing from one that cannot be read', () => {
    expect(carried(100, { ...AT, previous: NONE })).toEqual({ ...AT, previous: NONE });
    expect(carried(100, { ...AT, previous: undefined })).toEqual({ ...AT, previous: undefined });
    expect(new IncomingRounds(SPEC).state()).toBeUndefined();
  });

  it('adds up over the shards of the unit', () => {
    const first = { ...AT, previous: { dense: [oldBlocks([0])], sparse: [oldRows(0, [1n])] } };
    const second = { ...AT, previous: { dense: [oldBlocks([4])], sparse: [oldRows(0, [5n, 6n])] } };
    const both = carried(1000, first, second)!;
    expect([...both.previous!.dense[0]!.blocks]).toEqual([0, 4]);
    expect(both.previous!.dense[0]!.values.byteLength).toBe(4 * (denseBlockFloats + REST));
    expect([...new BigUint64Array(both.previous!.sparse[0]!.ids.buffer)]).toEqual([1n, 5n, 6n]);
  });

  it('is replaced by a round that is applied after it', () => {
    const incoming = new IncomingRounds(SPEC);
    const before = { ...AT, previous: { dense: [oldBlocks([0])], sparse: [] } };
    for (const piece of roundsPieces(SPEC, before, 1000)) incoming.put(piece);
    const after = { ...AT, version: 10, previous: { dense: [], sparse: [oldRows(1, [2n])] } };
    incoming.applied(after);
    expect(incoming.state()).toEqual(after);
  });
});

const numbers = (...of: number[]): Uint8Array => bytesOf(Uint32Array.from(of));

it.each([
  ['UnknownParameter', { part: 'oldRows', table: 2 }, [new Uint8Array(8), new Uint8Array(4)]],
  ['UnknownParameter', { part: 'oldBlocks', parameter: 1 }, [numbers(0), new Uint8Array(4)]],
  ['BadMessage', { part: 'oldRows', table: 0 }, [new Uint8Array(7), new Uint8Array(12)]],
  ['BadMessage', { part: 'oldRows', table: 0 }, [new Uint8Array(8), new Uint8Array(8)]],
  ['BadMessage', { part: 'oldBlocks', parameter: 0 }, [new Uint8Array(3), new Uint8Array(0)]],
  ['BadMessage', { part: 'oldBlocks', parameter: 0 }, [numbers(BLOCKS), new Uint8Array(4)]],
  ['BadMessage', { part: 'oldBlocks', parameter: 0 }, [numbers(BLOCKS - 1), floats(REST + 1, 0)]],
  ['BadMessage', { part: 'ledger', seq: 1 }, [new Uint8Array(1)]],
] as const)('%s for a piece %j that does not fit', (code, header, segments) => {
  expect(() => new IncomingRounds(SPEC).put({ header, segments })).toThrow(expect.objectContaining({ code }));
});
