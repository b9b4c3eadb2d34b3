/**
 * Optimizers over a span that no cache holds, and over rows of a table, beside the same loops in C in the same run.
 * Run: `npx node scripts/bench/optimizers.ts`, or `npm run bench`.
 */
import { fileURLToPath } from 'node:url';
import { KernelHeap } from '../../src/tensor/kernel-heap.ts';
import { createOptimizer } from '../../src/tensor/kernel-optimizer.ts';
import type { OptimizerSpec } from '../../src/tensor/spec.ts';
import { type Figure, median, printFigures } from './figure.ts';
import { startNative } from './native.ts';

const FLOATS = 25_000_000;
const ROUNDS = 15;

const OPTIMIZERS: readonly { readonly spec: OptimizerSpec; readonly aim?: number }[] = [
  { spec: { type: 'sgd', learningRate: 0.01, l2: 0 }, aim: 0.85 },
  { spec: { type: 'momentum', learningRate: 0.01, momentum: 0.9, l2: 0 } },
  { spec: { type: 'adagrad', learningRate: 0.01, initialAccumulator: 0.1, epsilon: 1e-8, l2: 0 }, aim: 0.65 },
  { spec: { type: 'adam', learningRate: 0.01, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, l2: 0 }, aim: 0.85 },
  { spec: { type: 'ftrl', alpha: 0.1, beta: 1, lambda1: 0.1, lambda2: 0.1 }, aim: 0.6 },
];

export async function measureOptimizers(): Promise<Figure[]> {
  const native = startNative({ floats: FLOATS, rows: 1, batch: 1 });
  const heap = new KernelHeap();
  const step = heap.allocate(16 + 12 * FLOATS);
  const values = step + 16;
  const gradients = heap.allocate(4 * FLOATS);
  new Float32Array(heap.bytes.buffer, gradients, FLOATS).fill(0.25);
  const figures: Figure[] = [];
  for (const { spec, aim } of OPTIMIZERS) {
    const { address } = createOptimizer(heap, spec);
    heap.bytes.fill(0, step, step + 16 + 12 * FLOATS);
    await native?.run('zero');
    const ours: number[] = [];
    const theirs: number[] = [];
    for (let round = -2; round < ROUNDS; round++) {
      const startMs = performance.now();
      heap.kernels.update(address, values, gradients, FLOATS, step);
      const tookMs = performance.now() - startMs;
      const nativeMs = await native?.run(spec.type);
      if (round < 0) continue;
      ours.push(tookMs);
      if (nativeMs !== undefined) theirs.push(nativeMs);
    }
    const billions = (ms: number): number => FLOATS / ms / 1e6;
    const figure = { what: `${spec.type}, 25 M floats`, value: billions(median(ours)), unit: 'G floats/s' };
    const best = billions(Math.min(...ours));
    if (theirs.length === 0) {
      figures.push({ ...figure, bestValue: best });
      continue;
    }
    figures.push({
      ...figure,
      limit: { what: 'native C', value: billions(median(theirs)) },
      ratio: median(ours.map((ms, i) => theirs[i]! / ms)),
      best: best / billions(Math.min(...theirs)),
      ...(aim === undefined ? {} : { aim: { of: 'ratio', bound: aim, best: 'high' } }),
    });
  }
  native?.close();
  return figures;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) printFigures(await measureOptimizers());
