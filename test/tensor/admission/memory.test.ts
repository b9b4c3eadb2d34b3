/** Tables at their bound take no more memory than is documented, however long ids keep arriving. */
import { expect, it } from 'vitest';
import { mix64 } from '../../../src/base/mix64.ts';
import { type Admission, memoryFactor } from '../../../src/tensor/admission/admission.ts';
import { applyAll, makeParameters, NORMAL, rowsPart } from '../fixture.ts';

const SHARDS = 4;
const SHARD_ROWS = 800;
const IDS = 600;
const PUSHES = 300;
const ADAGRAD = { type: 'adagrad', learningRate: 0.1, initialAccumulator: 0.1, epsilon: 1e-7, l2: 0 } as const;

it.each<{ readonly width: number; readonly admission?: Admission }>([
  { width: 1 },
  { width: 4 },
  { width: 16 },
  { width: 1, admission: { type: 'count', min: 2 } },
  { width: 16, admission: { type: 'count', min: 2 } },
  { width: 4, admission: { type: 'probability', p: 0.4 } },
])('%o', ({ width, admission }) => {
  const rowBytes = 8 + 4 * width * 2 + 4;
  const shardBytes = SHARD_ROWS * rowBytes;
  const table = { name: 'rows', width, initializer: NORMAL, hasSeen: true, shardBytes };
  const spec = { dense: [], sparse: [{ ...table, ...(admission && { admission }) }] };
  const parameters = makeParameters({ spec, shards: SHARDS, optimizer: ADAGRAD });
  const empty = parameters.stats().bytes;
  expect(parameters.rowBytes(0)).toBe(rowBytes);
  const gradients = new Float32Array(IDS * width).fill(0.5);
  let most = 0;
  for (let push = 0; push < PUSHES; push++) {
    // Half of the ids come again in the next pushes, the others never.
    const ids = Array.from({ length: IDS }, (_, at) =>
      mix64(BigInt(at % 2 === 0 ? 10_000 + 40 * push + at : 10 ** 6 + IDS * push + at)),
    );
    const name = { pass: 0, task: 0, push };
    parameters.push([rowsPart(0, ids, gradients)], [], applyAll(SHARDS), {
      seen: new Uint32Array(SHARDS).fill(push + 1),
      name,
    });
    most = Math.max(most, parameters.stats().bytes - empty);
    for (let shard = 0; shard < SHARDS; shard++) {
      const candidates = admission?.type === 'count' ? 16 * parameters.rowsOf(shard, 1) : 0;
      expect(parameters.rowsOf(shard, 0) * rowBytes + candidates).toBeLessThanOrEqual(shardBytes);
    }
  }
  // A push reserves memory for its new rows before it evicts others. Most of them are spread over the shards evenly.
  const bytes = SHARDS * shardBytes + 2 * IDS * rowBytes;
  expect(most / bytes).toBeLessThanOrEqual(memoryFactor(rowBytes, admission?.type === 'count'));
  // The table was at its bound.
  expect(most).toBeGreaterThan(SHARDS * shardBytes);
});
