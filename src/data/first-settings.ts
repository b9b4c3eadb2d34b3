/**
 * The settings that a linear model or a factorization machine begins with, chosen by the time to a loss
 * (docs/decisions/0174-first-settings.md). AdaGrad: Duchi, Hazan and Singer, JMLR 12 (2011).
 */

export interface FirstSettings {
  readonly passes: number;
  readonly batchSize: number;
  readonly learningRate: number;
  readonly initialAccumulator: number;
}

export interface RecordsToLearn {
  /** Training records. */
  readonly records: number;
  /** Mean sum of the absolute values of a record's features: the number of features, if all values are 1. */
  readonly meanSum: number;
}

/** With fewer records, batches are small, so that a pass has enough of them. With many, one pass is enough. */
export const FEW = 5000;
export const MANY = 200_000;
/** With a larger batch, the model learns less in a pass, and the pass takes almost as long. */
const BATCH = { ofFew: 32, least: 128, most: 2048 } as const;
/** Each mini-batch is one step for the ids that are in all of them. */
const STEPS_PER_PASS = 400;
/** The first step of AdaGrad moves each weight by the rate, so it moves the score of a record by this much. */
const FIRST_STEP = 1.4;
/** With a larger rate, the vectors of a factorization machine fit rare pairs of ids too closely. */
const MOST_RATE = { lr: 0.1, fm: 0.05 } as const;

export function firstSettings(model: 'lr' | 'fm', { records, meanSum }: RecordsToLearn): FirstSettings {
  const batchSize = batchSizeFor(records);
  return {
    passes: records < FEW ? 5 : records < MANY ? 3 : 1,
    batchSize,
    learningRate: rounded(Math.min(MOST_RATE[model], FIRST_STEP / Math.max(1, meanSum)), 2),
    // The gradient is the mean of a batch: an id that occurs once has about 1 / batchSize, and this is near its square.
    initialAccumulator: rounded(4 / batchSize ** 2, 1),
  };
}

function batchSizeFor(records: number): number {
  if (records < FEW) return BATCH.ofFew;
  return Math.min(BATCH.most, Math.max(BATCH.least, 2 ** Math.floor(Math.log2(records / STEPS_PER_PASS))));
}

const rounded = (value: number, digits: number): number => Number(value.toPrecision(digits));
