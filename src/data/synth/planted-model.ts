/**
 * A model that generates data, so that the best possible result on it is known. Records look like those of click
 * logs: a fixed number of fields with one value each, of which few are frequent and most are rare.
 */
import { log1p, sigmoid } from '../../tensor/math.ts';
import { createRandomStream, type RandomStream } from './random-stream.ts';

export interface PlantedOptions {
  /** Distinct feature ids, over all fields. */
  readonly features: number;
  /** Fields of a record; each has one feature with value 1. */
  readonly perRecord: number;
  /** Number of fields that are numbers, the first ones: the effect of a value grows, or shrinks, with its logarithm. */
  readonly numbers: number;
  /** Fraction of the numbers that are missing: a missing number has the mean effect of its field. */
  readonly missing: number;
  /** Width of the planted vectors; 0 plants a linear model. */
  readonly factors: number;
  /** Standard deviation of the noise added to the logit of each record. */
  readonly noise: number;
  readonly seed: number;
}

export interface PlantedRecord {
  /** Ascending; ids begin at 1, and 0 is a number that is missing. */
  readonly ids: Uint32Array;
  readonly label: 0 | 1;
  /** Logit of the planted model, without the noise. */
  readonly logit: number;
}

/** Makes one record after the other. `ids` is overwritten by the next one. */
export type PlantedSource = () => PlantedRecord;

// Variance of the logits: about so much from the linear part, and as much from all pairs. The planted AUC is near 0.8.
const LINEAR_VARIANCE = 1.5;
const PAIR_VARIANCE = 0.7;
const BIAS = -0.5;

export function createPlantedSource(options: PlantedOptions): PlantedSource {
  const { features, perRecord, numbers, missing, factors, noise, seed } = options;
  const random = createRandomStream(seed);
  const vocabulary = Math.floor(features / perRecord);
  const pairs = Math.max(1, (perRecord * (perRecord - 1)) / 2);
  const weights = normals(random, features, Math.sqrt(LINEAR_VARIANCE / perRecord));
  // The product of two vectors of deviation d has variance factors × d⁴.
  const deviation = factors === 0 ? 0 : Math.sqrt(Math.sqrt(PAIR_VARIANCE / (pairs * factors)));
  const vectors = normals(random, features * factors, deviation);
  const cumulative = zipfTable(vocabulary);
  for (let field = 0; field < numbers; field++) {
    growing(weights.subarray(field * vocabulary, (field + 1) * vocabulary), cumulative, perRecord);
    // A model has one vector for a number, whatever its value.
    vectors.fill(0, field * vocabulary * factors, (field + 1) * vocabulary * factors);
  }
  const ids = new Uint32Array(perRecord);
  const totals = new Float64Array(factors);

  return () => {
    let logit = BIAS;
    let squares = 0;
    totals.fill(0);
    for (let field = 0; field < perRecord; field++) {
      if (field < numbers && missing > 0 && random.uniform() < missing) {
        ids[field] = 0;
        continue;
      }
      const feature = field * vocabulary + rankOf(cumulative, random.uniform());
      ids[field] = feature + 1;
      logit += weights[feature]!;
      for (let f = 0; f < factors; f++) {
        const value = vectors[feature * factors + f]!;
        totals[f] = totals[f]! + value;
        squares += value * value;
      }
    }
    let sum = -squares;
    for (const total of totals) sum += total * total;
    logit += sum / 2;
    const label = random.uniform() < sigmoid(logit + noise * random.normal()) ? 1 : 0;
    return { ids, label, logit };
  };
}

const normals = (random: RandomStream, count: number, deviation: number): Float64Array =>
  Float64Array.from({ length: count }, () => deviation * random.normal());

/** Makes the effects of a number of the weights of its field: with the mean and variance that those of others have. */
function growing(weights: Float64Array, cumulative: Float64Array, perRecord: number): void {
  const isFalling = weights[0]! < 0;
  let mean = 0;
  let square = 0;
  cumulative.forEach((sum, value) => {
    const share = sum - (cumulative[value - 1] ?? 0);
    mean += share * log1p(value);
    square += share * log1p(value) ** 2;
  });
  const deviation = Math.sqrt(square - mean * mean);
  const slope = deviation === 0 ? 0 : Math.sqrt(LINEAR_VARIANCE / perRecord) / deviation;
  weights.forEach((_, value) => {
    weights[value] = (isFalling ? -slope : slope) * (log1p(value) - mean);
  });
}

/** Sums of 1, 1/2, 1/3, … (Zipf's law), divided by the last. */
function zipfTable(size: number): Float64Array {
  const table = new Float64Array(size);
  let sum = 0;
  for (let rank = 0; rank < size; rank++) {
    sum += 1 / (rank + 1);
    table[rank] = sum;
  }
  return table.map((value) => value / sum);
}

/** The first rank whose cumulative share is above `share`. */
function rankOf(cumulative: Float64Array, share: number): number {
  let low = 0;
  let high = cumulative.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (cumulative[middle]! > share) high = middle;
    else low = middle + 1;
  }
  return low;
}
