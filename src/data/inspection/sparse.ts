/** A look at libsvm, libfm or libffm text: read by the parser that training uses, slice by slice, in bounded memory. */
import type { Batch, SparseInput } from '../../model/model.ts';
import { contentBlocks } from '../content.ts';
import { libffmFormat, libsvmFormat } from '../formats/libsvm/format.ts';
import type { DataPlace } from '../place.ts';
import { DistinctValues, hashOfId } from './distinct.ts';
import { type NumberFacts, NumberProfile, slotOf } from './histogram.ts';
import { countLines, wholeLines } from './lines.ts';

export interface SparseLook {
  readonly path: string;
  readonly hasWeights: boolean;
  readonly records: number;
  readonly isWhole: boolean;
  readonly bad: { readonly records: number; readonly first: readonly { line: number; reason: string }[] };
  /** By label, the most frequent first; some of them. */
  readonly labels: readonly { readonly label: number; readonly count: number }[];
  readonly distinctLabels: number;
  readonly hasGroups: boolean;
  /** Features of a record, and their values. */
  readonly perRecord: NumberFacts | undefined;
  readonly values: NumberFacts | undefined;
  /** Different ids, and the highest one. */
  readonly ids: number;
  readonly areIdsExact: boolean;
  readonly highestId: string | undefined;
  /** Highest field + 1, for libffm. */
  readonly fields?: number;
  /** The mean fraction of all ids up to the highest that a record has. */
  readonly density: number;
  /** Features of a second file: those with a known answer, and those of them whose ids the first file lacks. */
  readonly newIds: { readonly known: number; readonly features: number } | undefined;
  readonly distinct: DistinctValues;
}

export interface SparseOptions {
  readonly format: 'libsvm' | 'libffm';
  readonly hasWeights: boolean;
  readonly records?: number | undefined;
  readonly first?: SparseLook | undefined;
  readonly onBytes?: (count: number) => void;
}

const KEPT_IDS = 1 << 16;
const LABELS = 4096;
const SHOWN_LABELS = 20;
const SHOWN_BAD = 5;

/** Throws as `openContent`. */
export async function lookAtSparse(place: DataPlace, path: string, options: SparseOptions): Promise<SparseLook> {
  const reader = new SparseReader(path, options);
  for await (const block of wholeLines(path, contentBlocks(place, path))) {
    options.onBytes?.(block.length);
    if (!reader.take(block)) break;
  }
  return reader.look();
}

class SparseReader {
  readonly #path: string;
  readonly #options: SparseOptions;
  readonly #perRecord = new NumberProfile();
  readonly #values = new NumberProfile();
  readonly #labels = new Map<number, number>();
  readonly #ids = new DistinctValues(KEPT_IDS);
  readonly #firstBad: { line: number; reason: string }[] = [];
  readonly #new = { known: 0, features: 0 };
  #highest = -1n;
  #fieldBound = 0;
  #records = 0;
  #bad = 0;
  #lines = 0;
  #features = 0;
  #hasGroups = false;
  #isWhole = true;

  constructor(path: string, options: SparseOptions) {
    this.#path = path;
    this.#options = options;
  }

  /** Whole lines; false when it wants no more. */
  take(bytes: Uint8Array): boolean {
    if (bytes.length === 0) return true;
    const { hasWeights: mayHaveWeight, records: most = Number.POSITIVE_INFINITY } = this.#options;
    // The widest rule: what a model takes is not known.
    const labels = { task: 'regression', mayHaveWeight } as const;
    const { readHead } = this.#options.format === 'libffm' ? libffmFormat : libsvmFormat;
    const read = readHead({ file: this.#path, bytes, isWhole: false }, labels);
    const wanted = Math.min(read.records, most - this.#records - this.#bad);
    if (wanted < read.records) this.#isWhole = false;
    const batch = read.batch(0, wanted);
    const bad = read.bad.slice(0, wanted - batch.records);
    for (const { line, reason } of bad) {
      if (this.#firstBad.length < SHOWN_BAD) this.#firstBad.push({ line: this.#lines + line, reason });
    }
    this.#bad += bad.length;
    this.#takeBatch(batch);
    this.#lines += countLines(bytes);
    return this.#isWhole;
  }

  #takeBatch({ records, labels, groups, sparse: [input] }: Batch): void {
    if (groups !== undefined) this.#hasGroups = true;
    for (let record = 0; record < records; record++) {
      const label = labels[record]!;
      const count = this.#labels.get(label);
      if (count !== undefined || this.#labels.size < LABELS) this.#labels.set(label, (count ?? 0) + 1);
      const [from, to] = [input?.offsets[record] ?? 0, input?.offsets[record + 1] ?? 0];
      const slot = slotOf(this.#records);
      this.#perRecord.add(to - from);
      if (slot !== undefined) this.#perRecord.keep(to - from, slot);
      for (let at = from; at < to; at++) {
        const value = input?.values?.[at] ?? 1;
        const place = slotOf(this.#features);
        this.#values.add(value);
        if (place !== undefined) this.#values.keep(value, place);
        this.#features += 1;
      }
      this.#records += 1;
    }
    if (input !== undefined) this.#takeIds(input);
  }

  #takeIds({ ids, count, rows, fields }: SparseInput): void {
    if (fields !== undefined)
      this.#fieldBound = fields.reduce((bound, field) => Math.max(bound, field + 1), this.#fieldBound);
    const { first } = this.#options;
    const view = Buffer.from(ids.buffer, ids.byteOffset, ids.byteLength);
    /** For each id, whether the other file lacks it; undefined if unknown. */
    const isNew: (boolean | undefined)[] = [];
    for (let at = 0; at < count; at++) {
      const [low, high] = [view.readUInt32LE(8 * at), view.readUInt32LE(8 * at + 4)];
      const hash = hashOfId(low, high);
      this.#ids.add(hash);
      const id = view.readBigUInt64LE(8 * at);
      if (id > this.#highest) this.#highest = id;
      if (first !== undefined) isNew.push(first.distinct.covers(hash) ? !first.distinct.has(hash) : undefined);
    }
    if (first === undefined) return;
    for (const row of rows) {
      if (isNew[row] !== undefined) this.#new.known += 1;
      if (isNew[row]) this.#new.features += 1;
    }
  }

  look(): SparseLook {
    const labels = [...this.#labels].map(([label, count]) => ({ label, count }));
    const width = Number(this.#highest + 1n);
    return {
      path: this.#path,
      hasWeights: this.#options.hasWeights,
      records: this.#records,
      isWhole: this.#isWhole,
      bad: { records: this.#bad, first: this.#firstBad },
      labels: labels.sort((a, b) => b.count - a.count || a.label - b.label).slice(0, SHOWN_LABELS),
      distinctLabels: labels.length,
      hasGroups: this.#hasGroups,
      perRecord: this.#perRecord.facts(),
      values: this.#values.facts(),
      ids: this.#ids.count,
      areIdsExact: this.#ids.isExact,
      highestId: this.#highest < 0n ? undefined : String(this.#highest),
      ...(this.#options.format === 'libffm' && { fields: this.#fieldBound }),
      density: width === 0 || this.#records === 0 ? 0 : this.#features / this.#records / width,
      newIds: this.#options.first === undefined ? undefined : this.#new,
      distinct: this.#ids,
    };
  }
}
