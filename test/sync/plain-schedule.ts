/** Learning-rate schedules, written from docs/training-aids.md. */
import type { Job } from '../../src/job/schema.ts';
import type { OptimizerSpec } from '../../src/tensor/optimizer.ts';

type Schedule = Job['training']['schedule'];

/** 1 − x²/(2·3) · (1 − x²/(4·5) · (… (1 − x²/(20·21)))), times x. */
function sine(x: number): number {
  const from = (k: number): number => (k > 20 ? 1 : 1 - ((x * x) / (k * (k + 1))) * from(k + 2));
  return x * from(2);
}

/** The powers base, base², base⁴, … that the exponent has a bit of, multiplied in this order. */
function power(base: number, exponent: number): number {
  let product = 1;
  let factor = base;
  for (const bit of [...exponent.toString(2)].reverse()) {
    if (bit === '1') product *= factor;
    factor *= factor;
  }
  return product;
}

export function plainShare(schedule: Schedule, progress: number): number {
  if (schedule === undefined) return 1;
  const { warmup } = schedule;
  let share = 1;
  if (schedule.type === 'step') share = power(schedule.factor, Math.floor(progress / schedule.everyPasses));
  if (schedule.type === 'cosine') {
    const height = 1 + sine(Math.PI * (0.5 - progress / schedule.passes));
    share = schedule.final + (progress < schedule.passes ? ((1 - schedule.final) * height) / 2 : 0);
  }
  if (warmup !== undefined && progress < warmup.passes) {
    share *= warmup.from + (1 - warmup.from) * (progress / warmup.passes);
  }
  return Math.min(1, Math.max(2 ** -100, share));
}

export const withShare = (optimizer: OptimizerSpec, share: number): OptimizerSpec =>
  'learningRate' in optimizer ? { ...optimizer, learningRate: optimizer.learningRate * share } : optimizer;
