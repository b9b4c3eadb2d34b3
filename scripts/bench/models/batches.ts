/** Batches that models are measured with, in the memory of a model. */
import { createRandomStream } from '../../../src/data/synth/random-stream.ts';
import type { Batch } from '../../../src/model/model.ts';
import type { ArrayMemory } from '../../../src/tensor/array-memory.ts';

export const PIXELS = 784;
export const CLASSES = 10;
export const FIELDS = 39;

export interface Features {
  /** Features per record. */
  readonly features: number;
  /** Number of distinct ids. */
  readonly ids: number;
}

/** Features that are drawn as those of real data are: a few ids are in most records. */
export function sparseBatch(memory: ArrayMemory, of: Features, records: number, seed: number): Batch {
  const { features, ids: known } = of;
  const random = createRandomStream(seed);
  const numbers = new Map<number, number>();
  const offsets = memory.words(records + 1);
  for (let record = 0; record <= records; record++) offsets[record] = record * features;
  const rows = memory.words(records * features);
  for (let at = 0; at < rows.length; at++) {
    const id = Math.floor(known * random.uniform() ** 3);
    if (!numbers.has(id)) numbers.set(id, numbers.size);
    rows[at] = numbers.get(id)!;
  }
  const labels = memory.floats(records);
  for (let record = 0; record < records; record++) labels[record] = random.uniform() < 0.3 ? 1 : 0;
  const ids = memory.bytes(8 * numbers.size).fill(0);
  const view = new DataView(ids.buffer, ids.byteOffset, ids.byteLength);
  for (const [id, row] of numbers) view.setUint32(8 * row, id, true);
  const fields = Uint16Array.from(rows, (_, at) => at % features);
  const input = { offsets, rows, fields, values: undefined, ids, count: numbers.size };
  return { records, labels, sparse: [input], dense: [] };
}

/** A fifth of the inputs are not 0, in runs, as in images of digits. */
export function denseBatch(memory: ArrayMemory, records: number, seed: number): Batch {
  const random = createRandomStream(seed);
  const values = memory.floats(records * PIXELS);
  let isInk = false;
  for (let at = 0; at < values.length; at++) {
    if (random.uniform() < (isInk ? 0.2 : 0.05)) isInk = !isInk;
    values[at] = isInk ? random.uniform() : 0;
  }
  const labels = memory.floats(records);
  for (let record = 0; record < records; record++) labels[record] = Math.floor(CLASSES * random.uniform());
  return { records, labels, sparse: [], dense: [{ width: PIXELS, values }] };
}
