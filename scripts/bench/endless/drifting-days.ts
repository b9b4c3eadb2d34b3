/**
 * Click logs whose ids never end: by Zipf's law over many ranks, and each day another id has the rank of some that were
 * popular the day before. Ids have weights; labels are drawn from their sum.
 */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { mix64 } from '../../../src/base/mix64.ts';
import { createRandomStream, type RandomStream } from '../../../src/data/synth/random-stream.ts';
import { cos, log, pow, sigmoid } from '../../../src/tensor/math.ts';

export interface DriftingIds {
  readonly ranks: number;
  readonly exponent: number;
  /** Share of the ranks that get another id each day. */
  readonly drift: number;
}

export interface DriftingDays extends DriftingIds {
  readonly days: number;
  readonly recordsPerDay: number;
  /** Ids of a record. */
  readonly perRecord: number;
  readonly seed: number;
}

/** Standard deviation of the logits. */
const DEVIATION = 1.6;
const BIAS = -1;
const FLUSHED_BYTES = 1 << 20;

/** Writes day-00.libsvm, day-01.libsvm, …, and returns their names. */
export async function writeDays(folder: string, options: DriftingDays): Promise<string[]> {
  const random = createRandomStream(options.seed);
  const names: string[] = [];
  for (let day = 0; day < options.days; day++) {
    const name = `day-${String(day).padStart(2, '0')}.libsvm`;
    names.push(name);
    const file = createWriteStream(join(folder, name));
    let text = '';
    for (let record = 0; record < options.recordsPerDay; record++) {
      text += recordOf(day, random, options);
      if (text.length < FLUSHED_BYTES) continue;
      if (!file.write(text)) await once(file, 'drain');
      text = '';
    }
    file.end(text);
    await once(file, 'close');
  }
  return names;
}

/** Distinct ids of a day, which may be a fraction. */
export function drawIds(count: number, day: number, random: RandomStream, options: DriftingIds): number[] {
  const ids = new Set<number>();
  while (ids.size < count) ids.add(idOf(rankOf(random, options), day, options));
  return [...ids];
}

function recordOf(day: number, random: RandomStream, options: DriftingDays): string {
  const ids = drawIds(options.perRecord, day, random, options);
  let logit = BIAS;
  for (const id of ids) logit += (DEVIATION / Math.sqrt(options.perRecord)) * weightOf(id);
  const label = random.uniform() < sigmoid(logit) ? 1 : 0;
  return `${label} ${ids
    .sort((a, b) => a - b)
    .map((id) => `${id}:1`)
    .join(' ')}\n`;
}

/** The inverse of the distribution, as if ranks were continuous. */
function rankOf(random: RandomStream, { ranks, exponent }: DriftingIds): number {
  const power = 1 - exponent;
  return Math.min(ranks, Math.floor(pow(1 + random.uniform() * (pow(ranks + 1, power) - 1), 1 / power)));
}

/** Each rank gets another id every 1 / drift days, on a day of its own. */
function idOf(rank: number, day: number, { drift, ranks }: DriftingIds): number {
  const shift = Number(mix64(BigInt(rank)) & 0xffffn) / 2 ** 16;
  return Math.floor(day * drift + shift) * ranks + rank;
}

/** Standard normal. */
function weightOf(id: number): number {
  const bits = mix64(BigInt(id) ^ 0x5bd1e995n);
  const [a, b] = [bits >> 32n, bits & 0xffff_ffffn].map((word) => (Number(word) + 0.5) / 2 ** 32);
  return Math.sqrt(-2 * log(a!)) * cos(2 * Math.PI * b!);
}
