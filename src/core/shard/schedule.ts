/**
 * Learning-rate schedules: the share of its learning rate that an optimizer has, by how far training has come
 * (docs/training-aids.md). Progress is counted in passes, of what shards have applied or of the rounds of sync mode,
 * and never by the clock. Nothing but `+ - * /` is used, so every machine has the same bits.
 */
export type Schedule = { readonly warmup?: Warmup | undefined } & (
  | { readonly type: 'constant' }
  | { readonly type: 'step'; readonly everyPasses: number; readonly factor: number }
  | { readonly type: 'cosine'; readonly passes: number; readonly final: number }
);

interface Warmup {
  readonly passes: number;
  readonly from: number;
}

/** A share is never zero: a scale that reaches the kernels is in (0, 1]. */
export const LEAST_SHARE = 2 ** -100;

/** In [LEAST_SHARE, 1]. Without a schedule 1. */
export function rateShareAt(schedule: Schedule | undefined, passesDone: number): number {
  if (schedule === undefined) return 1;
  const share = warmupShare(schedule.warmup, passesDone) * typeShare(schedule, passesDone);
  return Math.min(1, Math.max(LEAST_SHARE, share));
}

function typeShare(schedule: Schedule, passesDone: number): number {
  switch (schedule.type) {
    case 'constant':
      return 1;
    case 'step':
      return power(schedule.factor, Math.floor(passesDone / schedule.everyPasses));
    case 'cosine': {
      const { passes, final } = schedule;
      if (passesDone >= passes) return final;
      return final + ((1 - final) * (1 + halfTurnCosine(passesDone / passes))) / 2;
    }
  }
}

const warmupShare = (warmup: Warmup | undefined, passesDone: number): number =>
  warmup === undefined ? 1 : warmup.from + (1 - warmup.from) * Math.min(1, passesDone / warmup.passes);

/** By squaring, from the lowest bit of the exponent up; beyond 2⁵³ the exponent has no such bit. */
function power(base: number, exponent: number): number {
  let result = 1;
  let square = base;
  for (let left = Math.min(exponent, Number.MAX_SAFE_INTEGER); left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result *= square;
    square *= square;
  }
  return result;
}

/** The remainder is less than 2e-18. */
const SINE_DEGREE = 21;

/** cos(π · part) for part in [0, 1], as the Taylor polynomial of sin(π · (1/2 − part)). */
function halfTurnCosine(part: number): number {
  const x = Math.PI * (0.5 - part);
  let sum = 1;
  for (let degree = SINE_DEGREE; degree > 1; degree -= 2) sum = 1 - ((x * x) / (degree * (degree - 1))) * sum;
  return x * sum;
}
