/** Drops records of libsvm text that do not belong to a dataset, before they are put into a block. */
import type { ReadFeatures, RecordFacts, SparseKernel } from '../kernels/sparse-kernel.ts';
import { type Selector, weightOf } from '../selection.ts';
import type { BadRecord } from '../source.ts';
import type { BlockBuilder } from './block-builder.ts';

export class SelectingBuilder {
  readonly #inner: BlockBuilder;
  readonly #selector: Selector;
  /** Position of the next record in the file. */
  #position: number;
  /** Weight of the record that the plain parser reads. */
  #weight: number | undefined;

  /** `position`: that of the first record that comes. */
  constructor(inner: BlockBuilder, selector: Selector, position: number) {
    this.#inner = inner;
    this.#selector = selector;
    this.#position = position;
  }

  get kernel(): SparseKernel {
    return this.#inner.kernel;
  }

  get quota(): number {
    return this.#inner.quota;
  }

  get firstEnd(): number {
    return this.#inner.firstEnd;
  }

  get pending(): number {
    return this.#inner.pending;
  }

  get badRecords(): number {
    return this.#inner.badRecords;
  }

  startPart(file: string): void {
    this.#inner.startPart(file);
  }

  feature(low: number, high: number, value: number, field: number): void {
    this.#inner.feature(low, high, value, field);
  }

  weight(value: number): void {
    this.#weight = value;
  }

  group(low: number, high: number): void {
    this.#inner.group(low, high);
  }

  good(label: number, line: number): void {
    const weight = weightOf(Math.fround(this.#weight ?? 1), this.#selector.factorOf(label));
    this.#weight = undefined;
    if (!this.#selector.keeps({ position: this.#position++, label })) {
      this.#inner.drop();
      return;
    }
    if (weight !== 1) this.#inner.weight(weight);
    this.#inner.good(label, line);
  }

  /** `label`: as it is written, NaN if it is not a number. */
  bad(record: BadRecord, label = Number.NaN): void {
    this.#weight = undefined;
    const isKept = this.#selector.keeps({ position: this.#position++, label: label === -1 ? 0 : label });
    if (isKept) this.#inner.bad(record);
    else this.#inner.drop();
  }

  add(read: RecordFacts, firstLine: number, [input]: readonly ReadFeatures[]): void {
    const kept: number[] = [];
    for (let record = 0; record < read.records; record++) {
      const label = read.labels[record]!;
      if (this.#selector.keeps({ position: this.#position + record, label })) kept.push(record);
    }
    this.#position += read.records;
    if (kept.length > 0) this.#inner.add(this.#picked(read, kept), firstLine, [this.#pickedFeatures(input!, kept)]);
  }

  #picked({ labels, weights, groups, runs }: RecordFacts, kept: readonly number[]): RecordFacts {
    const keptGroups = groups && new Uint8Array(8 * kept.length);
    kept.forEach((record, at) => {
      keptGroups?.set(groups!.subarray(8 * record, 8 * record + 8), 8 * at);
    });
    const own = Float32Array.from(kept, (record) =>
      weightOf(weights?.[record] ?? 1, this.#selector.factorOf(labels[record]!)),
    );
    return {
      records: kept.length,
      labels: Float32Array.from(kept, (record) => labels[record]!),
      weights: own.every((weight) => weight === 1) ? undefined : own,
      groups: keptGroups,
      runs: keptRuns(runs, kept),
    };
  }

  #pickedFeatures({ ends, ids, values, fields }: ReadFeatures, kept: readonly number[]): ReadFeatures {
    const first = this.#inner.firstEnd;
    const startOf = (record: number): number => (record === 0 ? 0 : ends[record - 1]! - first);
    const features = kept.reduce((sum, record) => sum + ends[record]! - first - startOf(record), 0);
    const keptIds = new Uint8Array(8 * features);
    const keptValues = values && new Float32Array(features);
    const keptFields = fields && new Uint16Array(features);
    const keptEnds = new Uint32Array(kept.length);
    let to = 0;
    kept.forEach((record, at) => {
      const [from, end] = [startOf(record), ends[record]! - first];
      keptIds.set(ids.subarray(8 * from, 8 * end), 8 * to);
      keptValues?.set(values!.subarray(from, end), to);
      keptFields?.set(fields!.subarray(from, end), to);
      to += end - from;
      keptEnds[at] = first + to;
    });
    return { features, ends: keptEnds, ids: keptIds, values: keptValues, fields: keptFields };
  }
}

/** The lines of the records that are kept, as runs of lines that follow each other. */
function keptRuns(runs: Uint32Array, kept: readonly number[]): Uint32Array {
  const pairs: number[] = [];
  let run = 0;
  let before = -1;
  kept.forEach((record, at) => {
    while (2 * run + 2 < runs.length && runs[2 * run + 2]! <= record) run += 1;
    const line = runs[2 * run + 1]! + record - runs[2 * run]!;
    if (at === 0 || line !== before + 1) pairs.push(at, line);
    before = line;
  });
  return Uint32Array.from(pairs);
}
