/** Whatever a source sends, the copy at the target takes or refuses it: no process ends, and the memory is freed. */

import { describe, expect, it } from 'vitest';
import { isPaddletError } from '../../../../src/base/errors.ts';
import { encodeLedger } from '../../../../src/core/shard/ledger-format.ts';
import { Held } from '../../../../src/roles/pserver/held/held.ts';
import { type CopyPiece, decodePiece, type PieceHeader } from '../../../../src/roles/pserver/transfer/copy-pieces.ts';
import { IncomingUnit } from '../../../../src/roles/pserver/transfer/incoming-unit.ts';
import { decodeUpdate, encodeUpdate } from '../../../../src/roles/pserver/update/codec.ts';
import type { Update } from '../../../../src/roles/pserver/update/update.ts';
import { denseBlockFloats } from '../../../../src/tensor/blocks.ts';
import { type OptimizerSpec, trainedSpec } from '../../../../src/tensor/optimizer.ts';
import type { Parameters } from '../../../../src/tensor/parameters.ts';
import type { ParameterSpec } from '../../../../src/tensor/spec.ts';
import * as fc from '../../../properties.ts';
import { bytesOf, makeParameters, NORMAL, SGD } from '../../../tensor/fixture.ts';

const SPEC: ParameterSpec = {
  dense: [{ name: 'w', shape: [2 * denseBlockFloats + 8], initializer: NORMAL }],
  sparse: [
    { name: 'rows', width: 2, initializer: NORMAL },
    { name: 'narrow', width: 1, initializer: NORMAL },
  ],
};
const ADAM: OptimizerSpec = { type: 'adam', learningRate: 0.1, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, l2: 0 };
const FTRL: OptimizerSpec = { type: 'ftrl', alpha: 0.1, beta: 1, lambda1: 0.01, lambda2: 0.01 };
const JOB = { shards: 4, tasks: 3, passes: 2 };
/** Of the unit. */
const SHARDS = [1, 3];

const few = fc.nat(3);
const count = fc.oneof(few, fc.maxSafeNat());
const float = fc.oneof(
  fc.float({ noNaN: true, min: -1, max: 1 }),
  fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY),
);
const floats = fc
  .oneof(
    fc.array(float, { maxLength: 8 }),
    fc.constantFrom(denseBlockFloats, 8).map((length) => Array(length).fill(0.5)),
  )
  .map((all) => bytesOf(Float32Array.from(all)));
const ids = fc.array(fc.oneof(few.map(BigInt), fc.bigInt(0n, 2n ** 64n - 1n)), { maxLength: 4 });
const idBytes = ids.map((all) => bytesOf(BigUint64Array.from(all)));
const words = fc.array(few, { maxLength: 4 }).map((all) => bytesOf(Uint32Array.from(all)));
const raw = fc.uint8Array({ maxLength: 9 });
const segment = fc.oneof(floats, idBytes, words, raw);

const ledger = fc
  .record({
    tasks: fc.constantFrom(JOB.tasks, JOB.tasks, 4),
    watermark: fc.nat(1),
    closed: fc.constantFrom('00', '07', '01', '', 'zz'),
    open: fc.array(fc.tuple(few, fc.integer({ min: 1, max: 3 }), count), { maxLength: 2 }),
  })
  .map(({ tasks, watermark, closed, open }) => {
    const passes = [{ pass: watermark, closed, closedGood: 0, discarded: 0, open }];
    const collapsed = Array.from({ length: watermark }, () => ({ good: 1, discarded: 0 }));
    return encodeLedger({ version: 1, tasks, watermark, collapsed, passes });
  });
const header = fc.oneof<fc.Arbitrary<PieceHeader>[]>(
  fc.record({ part: fc.constant('rows' as const), table: few }),
  fc.record({ part: fc.constant('block' as const), parameter: few, block: few }),
  fc.record({ part: fc.constant('oldRows' as const), table: few }),
  fc.record({ part: fc.constant('oldBlocks' as const), parameter: few }),
);
const piece: fc.Arbitrary<CopyPiece> = fc.oneof(
  fc.record({ header, segments: fc.array(segment, { maxLength: 5 }) }),
  fc.record({
    header: fc.record({ part: fc.constant('ledger' as const), seq: count }),
    segments: fc.oneof({ weight: 4, arbitrary: fc.tuple(ledger) }, fc.tuple(segment)),
  }),
);

const position = fc.record({
  ...{ pass: fc.nat(JOB.passes - 1), task: fc.nat(JOB.tasks - 1), push: few, last: fc.boolean(), good: count },
});
const parts = {
  dense: fc.array(
    fc.record({ parameter: few, blocks: fc.array(few).map((all) => Uint32Array.from(all)), gradients: floats }),
    { maxLength: 2 },
  ),
  sparse: fc.array(fc.record({ table: few, ids: idBytes, gradients: floats }), { maxLength: 2 }),
};
const update: fc.Arbitrary<Update> = fc.oneof(
  fc.record({
    type: fc.constant('push' as const),
    push: position,
    shards: fc.oneof(fc.constant(SHARDS), fc.array(fc.nat(5), { maxLength: 3 })),
    rateScale: fc.constantFrom(1, 0.5),
    ...parts,
  }),
  fc.record({
    type: fc.constant('close' as const),
    tasks: fc.array(fc.record({ pass: fc.nat(1), task: fc.nat(2), records: count }), { maxLength: 3 }),
  }),
  fc.record({
    type: fc.constant('round' as const),
    ...{ timeline: few, round: few, batches: fc.constant([]) },
    ...parts,
  }),
);

const incomingIn = (parameters: Parameters, optimizer: OptimizerSpec): IncomingUnit =>
  new IncomingUnit({
    held: new Held({ ...JOB, spec: trainedSpec(SPEC, { optimizer }) }, { parameters }),
    shards: SHARDS,
  });

/** What is put in at each step: pieces of the next shard, then perhaps updates of those that are complete. */
const step = fc.record({
  pieces: fc.array(piece, { maxLength: 2 }),
  ledger,
  updates: fc.array(update, { maxLength: 3 }),
});

describe.each([SGD, ADAM, FTRL])('a copy under $type', (optimizer) => {
  it('takes or refuses whatever comes', () => {
    const outcomes = { taken: 0, refused: 0 };
    const tried = (run: () => void): boolean => {
      try {
        run();
        outcomes.taken += 1;
        return true;
      } catch (error) {
        if (!isPaddletError(error)) throw error;
        outcomes.refused += 1;
        return false;
      }
    };
    fc.assert(
      fc.property(fc.tuple(step, step), (steps) => {
        const parameters = makeParameters({ spec: SPEC, optimizer, shards: JOB.shards, present: [] });
        const unit = incomingIn(parameters, optimizer);
        SHARDS.forEach((shard, at) => {
          let isFirst = true;
          const put = ({ header: of, segments }: CopyPiece, isLast: boolean): boolean => {
            const was = isFirst;
            isFirst = false;
            return tried(() => unit.put(shard, decodePiece(of, segments), was, isLast));
          };
          const { pieces, ledger: encoded, updates } = steps[at]!;
          for (const one of pieces) put(one, false);
          const isComplete = put({ header: { part: 'ledger', seq: 1 }, segments: [encoded] }, true);
          if (!isComplete) return;
          for (const one of updates) {
            const { header: of, segments } = encodeUpdate(one);
            tried(() => unit.apply(SHARDS.slice(0, at + 1), decodeUpdate({ ...JOB, spec: SPEC }, of, segments)));
          }
        });
        unit.discard();
        expect(parameters.shards()).toEqual([]);
      }),
      { numRuns: 300 },
    );
    expect(Math.min(outcomes.taken, outcomes.refused)).toBeGreaterThan(50);
  });
});

it('scales a rate only where the optimizer has one', () => {
  const scaled = (optimizer: OptimizerSpec) => () => {
    const parameters = makeParameters({ spec: SPEC, optimizer, shards: JOB.shards, present: [] });
    const unit = incomingIn(parameters, optimizer);
    const segments = [encodeLedger({ version: 1, tasks: JOB.tasks, watermark: 0, collapsed: [], passes: [] })];
    for (const shard of SHARDS) unit.put(shard, { header: { part: 'ledger', seq: 0 }, segments }, true, true);
    const push = { pass: 0, task: 0, push: 0, last: false, good: 1 };
    unit.apply(SHARDS, { type: 'push', push, shards: SHARDS, rateScale: 0.5, dense: [], sparse: [] });
  };
  expect(scaled(SGD)).not.toThrow();
  expect(scaled(FTRL)).toThrow(expect.objectContaining({ code: 'BadMessage' }));
});
