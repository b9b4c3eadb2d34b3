/**
 * Throughput of the tensor core on this machine: sparse tables, the trainer's id router, optimizers. Prints the best of
 * a few runs. `node scripts/bench/tensor.ts`
 */
import { blockCount, denseBlockFloats } from '../../src/tensor/blocks.ts';
import { gatherRows, scatterRows } from '../../src/tensor/gather-rows.ts';
import { createIdRouter } from '../../src/tensor/id-router.ts';
import { KernelHeap } from '../../src/tensor/kernel-heap.ts';
import { createOptimizer } from '../../src/tensor/kernel-optimizer.ts';
import { type OptimizerSpec, trainedSpec } from '../../src/tensor/optimizer.ts';
import { SHARD_ACTION } from '../../src/tensor/parameters.ts';
import type { Initializer } from '../../src/tensor/spec.ts';
import { createParameters } from '../../src/tensor/wasm-parameters.ts';

const SHARDS = 512;
const ROWS = 1_000_000;
const WIDTH = 16;
const FLOATS = 25_000_000;
const BATCH = 100_000;

const print = (text: string): void => void process.stdout.write(`${text}\n`);

function milliseconds(run: () => void, repeats = 1): number {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < repeats; i++) {
    const start = process.hrtime.bigint();
    run();
    best = Math.min(best, Number(process.hrtime.bigint() - start) / 1e6);
  }
  return best;
}

/** Distinct ids in no order: multiples of an odd number, modulo 2^64. */
function spreadIds(count: number): Uint8Array {
  const ids = BigUint64Array.from({ length: count }, (_, i) => BigInt.asUintN(64, BigInt(i) * 0x9e37_79b9_7f4a_7c15n));
  return new Uint8Array(ids.buffer);
}

const SGD: OptimizerSpec = { type: 'sgd', learningRate: 0.01, l2: 0 };

function benchTable(initializer: Initializer): void {
  const parameters = createParameters({
    spec: trainedSpec({ dense: [], sparse: [{ name: 'rows', width: WIDTH, initializer }] }, { optimizer: SGD }),
    seed: 1,
    shards: SHARDS,
  });
  for (let shard = 0; shard < SHARDS; shard++) parameters.addShard(shard);
  const actions = new Uint8Array(SHARDS).fill(SHARD_ACTION.apply);
  const ids = spreadIds(ROWS);
  const gradients = new Uint8Array(new Float32Array(BATCH * WIDTH).fill(0.5).buffer);
  const idsIn = parameters.stage(8 * BATCH);
  const floats = parameters.stage(gradients.length);
  floats.bytes().set(gradients);
  const sweep = (one: () => void): void => {
    for (let from = 0; from < ROWS; from += BATCH) {
      idsIn.bytes().set(ids.subarray(8 * from, 8 * (from + BATCH)));
      one();
    }
  };
  const push = (): void => parameters.push([{ table: 0, ids: idsIn.bytes(), gradients: floats.bytes() }], [], actions);
  const pull = (): void => parameters.pullSparse(0, idsIn.bytes(), floats.bytes());
  const absent = milliseconds(() => sweep(pull));
  const insert = milliseconds(() => sweep(push));
  const update = milliseconds(() => sweep(push), 5);
  const present = milliseconds(() => sweep(pull), 5);
  const rate = (ms: number): string => (ROWS / ms / 1000).toFixed(1);
  const { bytes } = parameters.stats();
  print(
    `table, ${initializer.type}: insert+SGD ${rate(insert)}, push+SGD ${rate(update)}, pull ${rate(present)}, ` +
      `pull of absent rows ${rate(absent)} M rows/s; ${(bytes / ROWS).toFixed(1)} bytes a row`,
  );
}

function benchRouter(): void {
  const router = createIdRouter({ shards: SHARDS });
  const placement = Int32Array.from({ length: SHARDS }, (_, shard) => shard % 4);
  const ids = spreadIds(BATCH);
  const rows = new Float32Array(BATCH * WIDTH).fill(1);
  const rate = (ms: number): string => (BATCH / ms / 1000).toFixed(1);
  const dedupe = milliseconds(() => void router.dedupe(ids, BATCH), 20);
  const route = milliseconds(() => void router.route('rows', ids, BATCH, placement), 20);
  const routes = router.route('rows', ids, BATCH, placement);
  let parts: Float32Array[] = [];
  const gather = milliseconds(() => {
    parts = routes.map(({ positions }) => gatherRows(rows, WIDTH, positions));
  }, 20);
  const scatter = milliseconds(() => {
    routes.forEach(({ positions }, i) => {
      scatterRows(rows, WIDTH, positions, parts[i]!);
    });
  }, 20);
  print(
    `router: dedupe ${rate(dedupe)}, route ${rate(route)} M ids/s; gather ${rate(gather)}, scatter ${rate(scatter)} M rows/s`,
  );
}

const OPTIMIZERS: readonly OptimizerSpec[] = [
  { type: 'sgd', learningRate: 0.01, l2: 0 },
  { type: 'momentum', learningRate: 0.01, momentum: 0.9, l2: 0 },
  { type: 'adagrad', learningRate: 0.01, initialAccumulator: 0.1, epsilon: 1e-8, l2: 0 },
  { type: 'adam', learningRate: 0.01, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, l2: 0 },
  { type: 'adamw', learningRate: 0.01, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01 },
  { type: 'ftrl', alpha: 0.1, beta: 1, lambda1: 0.1, lambda2: 0.1 },
];

function benchOptimizers(): void {
  const heap = new KernelHeap();
  const values = heap.allocate(16 + 12 * FLOATS);
  const gradients = heap.allocate(4 * FLOATS);
  new Float32Array(heap.bytes.buffer, gradients, FLOATS).fill(0.25);
  const results: string[] = [];
  for (const optimizer of OPTIMIZERS) {
    const { address } = createOptimizer(heap, optimizer);
    heap.bytes.fill(0, values, values + 16 + 12 * FLOATS);
    const ms = milliseconds(() => heap.kernels.update(address, values + 16, gradients, FLOATS, values), 5);
    results.push(`${optimizer.type} ${ms.toFixed(1)}`);
  }
  const scan = milliseconds(() => void heap.kernels.firstNotFinite(gradients, FLOATS), 5);
  print(
    `optimizers, ms per ${FLOATS / 1e6} M floats in one span: ${results.join(', ')}; scan for NaN ${scan.toFixed(1)}`,
  );
}

function benchDensePush(): void {
  const spec = { name: 'dense', shape: [FLOATS], initializer: { type: 'zeros' } } as const;
  const parameters = createParameters({
    spec: trainedSpec({ dense: [spec], sparse: [] }, { optimizer: SGD }),
    seed: 1,
    shards: SHARDS,
  });
  for (let shard = 0; shard < SHARDS; shard++) parameters.addShard(shard);
  const actions = new Uint8Array(SHARDS).fill(SHARD_ACTION.apply);
  const blocks = Uint32Array.from({ length: blockCount(spec) }, (_, block) => block);
  const floats = parameters.stage(4 * FLOATS);
  floats.bytes().fill(0);
  const part = () => ({ parameter: 0, blocks, gradients: floats.bytes() });
  const push = milliseconds(() => parameters.push([], [part()], actions), 5);
  const pull = milliseconds(() => parameters.pullDense(0, blocks, floats.bytes()), 5);
  print(
    `dense, ${FLOATS / 1e6} M floats in blocks of ${denseBlockFloats}: checked push+SGD ${push.toFixed(1)} ms, pull ${pull.toFixed(1)} ms`,
  );
}

benchTable({ type: 'zeros' });
benchTable({ type: 'uniform', low: -0.1, high: 0.1 });
benchTable({ type: 'normal', mean: 0, stddev: 0.1 });
benchRouter();
benchOptimizers();
benchDensePush();
