/** The columns of a file as a job reads them: by its plan and its parser, in bounded memory. */
import { assert } from '../../base/assert.ts';
import { LIMITS } from '../../base/limits.ts';
import type { BadRecord } from '../bad-record.ts';
import { openContent } from '../bytes/content.ts';
import {
  type CategoryColumn,
  type ColumnSlots,
  type ColumnSpec,
  type FieldColumn,
  slotsOf,
  vocabularyOf,
} from '../columns/column.ts';
import { type Halves, halvesOf, missingId, vocabularySeed } from '../columns/hash.ts';
import { fieldColumns } from '../columns/layout.ts';
import { normalizer } from '../columns/numbers.ts';
import type { ColumnPiece, ListIds } from '../columns/piece.ts';
import { type NumberStatistics, StatisticsBuilder } from '../columns/statistics.ts';
import { type DataFormat, formatOf } from '../formats/registry.ts';
import type { LabelRule } from '../labels.ts';
import type { PieceSink } from '../piece.ts';
import type { DataPlace } from '../place.ts';
import { type NumberFacts, NumberProfile } from './histogram.ts';
import { type Collisions, collisionsOf, IdProfile } from './ids.ts';
import { type BadFacts, type LabelCount, RecordTally } from './tally.ts';

/** Ids that are kept of all columns together, and of one. */
const KEPT_IDS = 1 << 19;
const MOST_KEPT = 1 << 16;
const LEAST_KEPT = 64;

/** Ids of a category. */
export interface IdFacts extends Collisions {
  readonly distinct: number;
  readonly isExact: boolean;
}

export interface ReadColumn {
  readonly name: string;
  readonly type: FieldColumn['type'];
  /** Good records without a value. */
  readonly missing: number;
  readonly ids: IdFacts | undefined;
  readonly statistics: NumberStatistics | undefined;
  /** Smallest and largest number as models take them. */
  readonly normalized: readonly [min: number, max: number] | undefined;
  readonly numbers: NumberFacts | undefined;
}

export interface JobLook {
  readonly path: string;
  readonly records: number;
  readonly isWhole: boolean;
  readonly bad: BadFacts<BadRecord>;
  /** The most frequent first; some of them. */
  readonly labels: readonly LabelCount[];
  readonly columns: readonly ReadColumn[];
}

export interface JobLookOptions {
  readonly records?: number | undefined;
  readonly onBytes?: (count: number) => void;
}

/** Throws as indexing does: a column that the file lacks, a quote that is never closed. */
export async function lookAsJob(
  place: DataPlace,
  path: string,
  { format, spec, labels }: { readonly format: DataFormat; readonly spec: ColumnSpec; readonly labels: LabelRule },
  { records, onBytes = () => {} }: JobLookOptions,
): Promise<JobLook> {
  const { readFile, takesParquet } = formatOf(format);
  assert(readFile !== undefined, 'the format has columns');
  const content = await openContent(place, path, takesParquet);
  try {
    const columns = withoutBuckets(spec);
    const reader = new JobReader(columns, records);
    const { isWhole } = await readFile(content, { columns, labels, onBytes }, reader);
    return { path, ...reader.look(spec, isWhole) };
  } finally {
    await content.file.close();
  }
}

/** Ids tell values apart only where they do not share any. */
const withoutBuckets = ({ columns, dialect }: ColumnSpec): ColumnSpec => ({
  dialect,
  columns: columns.map((column) => ('buckets' in column ? { ...column, buckets: undefined } : column)),
});

class JobReader implements PieceSink<ColumnPiece> {
  readonly #tally: RecordTally<BadRecord>;
  readonly #slots: ColumnSlots;
  readonly #statistics: StatisticsBuilder;
  readonly #numbers: readonly NumberProfile[];
  readonly #singles: readonly CategoryProfile[];
  readonly #lists: readonly CategoryProfile[];

  constructor({ columns }: ColumnSpec, most: number | undefined) {
    const slots = slotsOf(columns);
    const ofIds = slots.single.length + slots.lists.length;
    const kept = Math.max(LEAST_KEPT, Math.min(MOST_KEPT, Math.floor(KEPT_IDS / Math.max(1, ofIds))));
    const profileOf = (column: CategoryColumn): CategoryProfile => new CategoryProfile(column, kept);
    this.#tally = new RecordTally(most);
    this.#slots = slots;
    this.#statistics = new StatisticsBuilder(slots);
    this.#numbers = slots.numbers.map(() => new NumberProfile());
    this.#singles = slots.single.map(profileOf);
    this.#lists = slots.lists.map(profileOf);
  }

  get quota(): number {
    return Math.min(LIMITS.pieceRecords, this.#tally.left);
  }

  get badRecords(): number {
    return this.#tally.bad;
  }

  add(piece: ColumnPiece): void {
    const { records } = piece;
    this.#statistics.add(piece);
    this.#tally.addLabels(piece.labels.subarray(0, records));
    this.#numbers.forEach((numbers, at) => {
      const values = piece.numbers[at]!;
      for (let record = 0; record < records; record++) numbers.take(values[record]!, this.#tally.good + record);
    });
    this.#singles.forEach((ids, at) => {
      ids.takeOne(piece.single[at]!, records);
    });
    this.#lists.forEach((ids, at) => {
      ids.takeLists(piece.listIds, piece.lists[at]!, records);
    });
    this.#tally.good += records;
  }

  bad(record: BadRecord): void {
    this.#tally.addBad(record);
  }

  look(spec: ColumnSpec, isWhole: boolean): Omit<JobLook, 'path'> {
    const statistics = this.#statistics.finish();
    const { good: records, badFacts: bad, labels } = this.#tally;
    const columns = fieldColumns(spec).map((column) => this.#read(column, statistics));
    return { records, isWhole, bad, labels, columns };
  }

  #read(column: FieldColumn, statistics: readonly NumberStatistics[]): ReadColumn {
    const { name, type } = column;
    const nothing = { ids: undefined, statistics: undefined, normalized: undefined, numbers: undefined };
    if (column.type === 'number') {
      const at = this.#slots.numbers.findIndex((number) => number.name === name);
      const own = statistics[at]!;
      const normalize = normalizer(column, own);
      return {
        ...{ name, type, ids: undefined, statistics: own, missing: own.missing },
        normalized:
          own.present === 0 || column.quantiles !== undefined ? undefined : [normalize(own.min), normalize(own.max)],
        numbers: this.#numbers[at]!.facts(),
      };
    }
    const profile = [...this.#singles, ...this.#lists].find((ids) => ids.name === name);
    if (profile === undefined || (column.type !== 'category' && column.type !== 'categories')) {
      return { name, type, missing: 0, ...nothing };
    }
    return { name, type, ...nothing, missing: profile.missing, ids: profile.facts(column.buckets) };
  }
}

/** The values of a category. */
class CategoryProfile {
  readonly name: string;
  readonly #isHashed: boolean;
  readonly #missing: Halves;
  readonly #ids: IdProfile;
  missing = 0;

  constructor(column: CategoryColumn, kept: number) {
    const vocabulary = vocabularyOf(column);
    this.name = column.name;
    this.#isHashed = vocabulary !== undefined;
    this.#missing = halvesOf(missingId(vocabularySeed(vocabulary ?? '')));
    this.#ids = new IdProfile(kept);
  }

  takeOne(ids: Uint32Array, records: number): void {
    const [low, high] = this.#missing;
    for (let at = 0; at < 2 * records; at += 2) {
      if (ids[at] === low && ids[at + 1] === high) this.missing += 1;
      else this.#ids.add(ids[at]!, ids[at + 1]!);
    }
  }

  takeLists(ids: Uint32Array, { starts, ends }: ListIds, records: number): void {
    for (let record = 0; record < records; record++) {
      const [start, end] = [starts[record]!, ends[record]!];
      if (start === end) this.missing += 1;
      for (let at = start; at < end; at++) this.#ids.add(ids[2 * at]!, ids[2 * at + 1]!);
    }
  }

  facts(buckets: number | undefined): IdFacts {
    const { count, isExact } = this.#ids.distinct;
    return { distinct: count, isExact, ...collisionsOf(count, this.#isHashed, buckets) };
  }
}
