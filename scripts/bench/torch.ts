/**
 * Deep models by PyTorch on one thread, beside which models.ts measures those of paddlet.
 * Run: `npx node scripts/bench/torch.ts` prints what PyTorch alone reaches.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Figure, median, printFigures } from './figure.ts';
import { type Native, startPeer } from './native.ts';
import { findPython } from './python.ts';

const ROUNDS = 9;
const STEPS = 24;
const MODELS = ['mlp', 'deepfm', 'deepfm-distinct'];

/** PyTorch with the reference BLAS is slow, and no peer. */
const CHECK = `import torch
assert torch.backends.mkl.is_available() or "openblas" in open("/proc/self/maps").read()`;

/**
 * glibc otherwise gives tensors back to the system after each step, and clearing the pages again takes longer than the
 * step of a small model. Large pages make the time of a step the same in each process.
 */
const MALLOC = [
  'glibc.malloc.trim_threshold=1073741824',
  'glibc.malloc.mmap_threshold=33554432',
  'glibc.malloc.hugetlb=1',
];

const ENVIRONMENT = { OMP_NUM_THREADS: '1', OPENBLAS_NUM_THREADS: '1', GLIBC_TUNABLES: MALLOC.join(':') };

/** Takes lines such as `mlp 128 20`: 20 steps with batches of 128. Where PyTorch is missing, it says so. */
export async function startTorch(): Promise<Native | undefined> {
  const python = await findPython(CHECK);
  if (python !== undefined) {
    return startPeer(python, [join(import.meta.dirname, 'torch/models.py')], { ...process.env, ...ENVIRONMENT });
  }
  const missing = 'without PyTorch: it is missing, or has neither OpenBLAS nor MKL; README.md says how to install it';
  process.stdout.write(`${missing}\n`);
  return undefined;
}

async function measureTorch(): Promise<Figure[]> {
  const torch = await startTorch();
  const figures: Figure[] = [];
  if (torch === undefined) return figures;
  for (const model of MODELS) {
    for (const records of [128, 512]) {
      const tookMs: number[] = [];
      for (let round = -3; round < ROUNDS; round++) {
        const ms = await torch.run(`${model} ${records} ${STEPS}`);
        if (round >= 0) tookMs.push(ms);
      }
      const thousands = (ms: number): number => (records * STEPS) / ms;
      const speeds = { value: thousands(median(tookMs)), bestValue: thousands(Math.min(...tookMs)) };
      figures.push({ what: `${model}, batch ${records}`, unit: 'k records/s', ...speeds });
    }
  }
  torch.close();
  return figures;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) printFigures(await measureTorch());
