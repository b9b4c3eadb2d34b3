/** A look at libsvm, libfm or libffm text: read by the parser that training uses, slice by slice, in bounded memory. */
import { LIMITS } from '../../base/limits.ts';
import type { BadRecord } from '../bad-record.ts';
import { sparseReading } from '../formats/libsvm/format.ts';
import { highestId } from '../formats/libsvm/highest-id.ts';
import { readSlices } from '../formats/text/read-slices.ts';
import type { PieceSink, SparsePiece } from '../piece.ts';
import type { DataPlace } from '../place.ts';
import type { DistinctValues } from './distinct.ts';
import { type NumberFacts, NumberProfile } from './histogram.ts';
import { IdProfile, type NewIds } from './ids.ts';
import { withSlices } from './lines.ts';
import { type BadFacts, type LabelCount, RecordTally } from './tally.ts';

export interface SparseLook {
  readonly path: string;
  readonly hasWeights: boolean;
  readonly records: number;
  readonly isWhole: boolean;
  readonly bad: BadFacts<{ readonly line: number; readonly reason: string }>;
  /** The most frequent first; some of them. */
  readonly labels: readonly LabelCount[];
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
  readonly newIds: NewIds | undefined;
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

/** Throws as `openContent`. */
export async function lookAtSparse(place: DataPlace, path: string, options: SparseOptions): Promise<SparseLook> {
  const { format, hasWeights: mayHaveWeight, onBytes } = options;
  const reader = new SparseReader(path, options);
  // The widest rule: what a model takes is not known.
  const reading = sparseReading({ task: 'regression', mayHaveWeight }, format === 'libffm');
  const stopped = await withSlices(place, path, { rules: reading.rules, onBytes }, (slices) =>
    readSlices(slices, { file: path, reading }, reader),
  );
  return reader.look(stopped === undefined);
}

class SparseReader implements PieceSink<SparsePiece> {
  readonly #path: string;
  readonly #options: SparseOptions;
  readonly #tally: RecordTally<{ line: number; reason: string }>;
  readonly #perRecord = new NumberProfile();
  readonly #values = new NumberProfile();
  readonly #ids: IdProfile;
  #highest = -1n;
  #fieldBound = 0;
  #features = 0;
  #hasGroups = false;

  constructor(path: string, options: SparseOptions) {
    this.#path = path;
    this.#options = options;
    this.#tally = new RecordTally(options.records);
    this.#ids = new IdProfile(KEPT_IDS, options.first?.distinct);
  }

  get quota(): number {
    return Math.min(LIMITS.pieceRecords, this.#tally.left);
  }

  get badRecords(): number {
    return this.#tally.bad;
  }

  add({ records, labels, groups, features: read }: SparsePiece): void {
    const { features, ends, ids, values, fields } = read;
    if (groups !== undefined) this.#hasGroups = true;
    this.#tally.addLabels(labels);
    for (let record = 0; record < records; record++) {
      const from = record === 0 ? 0 : ends[record - 1]!;
      this.#perRecord.take(ends[record]! - from, this.#tally.good + record);
    }
    for (let at = 0; at < features; at++) this.#values.take(values?.[at] ?? 1, this.#features + at);
    const halves = new Uint32Array(ids.buffer, ids.byteOffset, 2 * features);
    for (let at = 0; at < halves.length; at += 2) this.#ids.add(halves[at]!, halves[at + 1]!);
    this.#highest = highestId(read, this.#highest);
    for (const field of fields ?? []) this.#fieldBound = Math.max(this.#fieldBound, field + 1);
    this.#features += features;
    this.#tally.good += records;
  }

  bad({ line, reason }: BadRecord): void {
    this.#tally.addBad({ line, reason });
  }

  look(isWhole: boolean): SparseLook {
    const { good: records, badFacts: bad, labels, distinctLabels } = this.#tally;
    const { distinct } = this.#ids;
    const width = Number(this.#highest + 1n);
    return {
      path: this.#path,
      hasWeights: this.#options.hasWeights,
      ...{ records, isWhole, bad, labels, distinctLabels },
      hasGroups: this.#hasGroups,
      perRecord: this.#perRecord.facts(),
      values: this.#values.facts(),
      ids: distinct.count,
      areIdsExact: distinct.isExact,
      highestId: this.#highest < 0n ? undefined : String(this.#highest),
      ...(this.#options.format === 'libffm' && { fields: this.#fieldBound }),
      density: width === 0 || records === 0 ? 0 : this.#features / records / width,
      newIds: this.#options.first === undefined ? undefined : this.#ids.newIds,
      distinct,
    };
  }
}
