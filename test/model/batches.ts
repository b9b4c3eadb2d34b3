/** Random batches and values for tests of models, from a seed. */
import { createRandomStream } from '../../src/data/synth/random-stream.ts';
import type { Batch, DenseInput, Model, PulledValues, SparseInput } from '../../src/model/model.ts';

export interface Shape {
  readonly records: number;
  readonly ids: number;
  readonly seed: number;
  /** Labels are whole numbers below this; 0 makes real numbers. */
  readonly classes: number;
}

/** Fields of models; random batches have a few features of others. */
export const FIELDS = 5;

interface Records extends Pick<Batch, 'weights'> {
  readonly records: number;
  readonly labels: Float32Array;
}

/** From 0 on, some of them 0 and 1. */
export function randomWeights(records: number, seed: number): Float32Array {
  const random = createRandomStream(seed);
  return Float32Array.from({ length: records }, () => Math.max(0, Math.round(random.uniform() * 5) / 2 - 0.5));
}

/** A batch of one sparse input, flat as formulas want it. */
export type SparseRecords = Records & SparseInput;
export type DenseRecords = Records & DenseInput;

export const sparseBatch = ({ records, labels, weights, ...input }: SparseRecords): Batch => ({
  ...{ records, labels, weights },
  ...{ sparse: [input], dense: [] },
});

export const denseBatch = ({ records, labels, weights, ...input }: DenseRecords): Batch => ({
  ...{ records, labels, weights },
  ...{ sparse: [], dense: [input] },
});

/** The numbers that the model computes with. */
export const floatsOf = ({ values }: Pick<DenseInput, 'values'>): Float32Array =>
  values instanceof Uint8Array ? new Float32Array(values).map((byte) => byte / 255) : values;

/** Up to six features a record, some twice in it, some records empty. */
export function randomSparseBatch({ records, ids, seed, classes }: Shape): SparseRecords {
  const random = createRandomStream(seed);
  const rows: number[] = [];
  const values: number[] = [];
  const offsets = [0];
  const labels: number[] = [];
  const numbers = new Map<number, number>();
  for (let record = 0; record < records; record++) {
    const count = Math.floor(random.uniform() * 7);
    for (let at = 0; at < count; at++) {
      const id = Math.floor(random.uniform() * ids);
      if (!numbers.has(id)) numbers.set(id, numbers.size);
      rows.push(numbers.get(id)!);
      values.push(random.uniform() < 0.1 ? 0 : random.normal());
    }
    offsets.push(rows.length);
    labels.push(labelFrom(random.uniform(), classes));
  }
  const fields = createRandomStream(seed + 1_000_003);
  return {
    records,
    fields: Uint16Array.from(rows, () => Math.floor((FIELDS + 0.3) * fields.uniform())),
    offsets: Uint32Array.from(offsets),
    rows: Uint32Array.from(rows),
    values: Float32Array.from(values),
    ids: new Uint8Array(BigUint64Array.from(numbers.keys(), BigInt).buffer),
    count: numbers.size,
    labels: Float32Array.from(labels),
  };
}

export function randomDenseBatch(shape: Shape & { readonly width: number }): DenseRecords {
  const random = createRandomStream(shape.seed);
  const { records, width, classes } = shape;
  return {
    records,
    width,
    values: Float32Array.from({ length: records * width }, () => (random.uniform() < 0.3 ? 0 : random.normal())),
    labels: Float32Array.from({ length: records }, () => labelFrom(random.uniform(), classes)),
  };
}

const labelFrom = (share: number, classes: number): number =>
  classes === 0 ? Math.fround(share * 6 - 3) : Math.floor(share * classes);

export function randomValues(model: Model, count: number, seed: number): PulledValues {
  const random = createRandomStream(seed);
  const normals = (length: number): Float32Array => Float32Array.from({ length }, () => 0.5 * random.normal());
  return {
    dense: model.parameters.dense.map(({ shape }) => normals(shape.reduce((product, size) => product * size, 1))),
    sparse: model.parameters.sparse.map(({ width }) => normals(count * width)),
  };
}
