/** The columns of a file as a job reads them: by its plan and its parser, in bounded memory. */
import { assert } from '../../base/assert.ts';
import { LIMITS } from '../../base/limits.ts';
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
import type { PieceSink } from '../columns/piece-sink.ts';
import { type NumberStatistics, StatisticsBuilder } from '../columns/statistics.ts';
import { openContent } from '../content.ts';
import { type DataFormat, formatOf } from '../formats/registry.ts';
import type { LabelRule } from '../labels.ts';
import type { DataPlace } from '../place.ts';
import type { BadRecord } from '../source.ts';
import { DistinctValues, hashOfId } from './distinct.ts';
import { type NumberFacts, NumberProfile, slotOf } from './histogram.ts';

const SHOWN_BAD = 5;
const SHOWN_LABELS = 20;
const LABELS = 4096;
/** Ids that are kept of all columns together, and of one. */
const KEPT_IDS = 1 << 19;
const MOST_KEPT = 1 << 16;
const LEAST_KEPT = 64;
const ID_BITS = 64;

/** Ids of a category. */
export interface IdFacts {
  readonly distinct: number;
  readonly isExact: boolean;
  /** Expected pairs of values with the same id of 64 bits; 0 where ids are the whole numbers themselves. */
  readonly collisions: number;
  /** With buckets: the expected share of the values that share theirs with another one. */
  readonly sharing: number | undefined;
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
  readonly bad: { readonly records: number; readonly first: readonly BadRecord[] };
  /** By label, the most frequent first; some of them. */
  readonly labels: readonly { readonly label: number; readonly count: number }[];
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

class JobReader implements PieceSink {
  badRecords = 0;
  readonly #most: number;
  readonly #slots: ColumnSlots;
  readonly #statistics: StatisticsBuilder;
  readonly #numbers: readonly NumberProfile[];
  readonly #singles: readonly IdProfile[];
  readonly #lists: readonly IdProfile[];
  readonly #firstBad: BadRecord[] = [];
  readonly #labels = new Map<number, number>();
  #records = 0;

  constructor({ columns }: ColumnSpec, most = Number.POSITIVE_INFINITY) {
    const slots = slotsOf(columns);
    const ofIds = slots.single.length + slots.lists.length;
    const kept = Math.max(LEAST_KEPT, Math.min(MOST_KEPT, Math.floor(KEPT_IDS / Math.max(1, ofIds))));
    const profileOf = (column: CategoryColumn): IdProfile => new IdProfile(column, kept);
    this.#most = most;
    this.#slots = slots;
    this.#statistics = new StatisticsBuilder(slots);
    this.#numbers = slots.numbers.map(() => new NumberProfile());
    this.#singles = slots.single.map(profileOf);
    this.#lists = slots.lists.map(profileOf);
  }

  get quota(): number {
    return Math.min(LIMITS.pieceRecords, this.#most - this.#records - this.badRecords);
  }

  add(piece: ColumnPiece): void {
    this.#statistics.add(piece);
    for (let record = 0; record < piece.records; record++) {
      const label = piece.labels[record]!;
      const count = this.#labels.get(label);
      if (count !== undefined || this.#labels.size < LABELS) this.#labels.set(label, (count ?? 0) + 1);
      const slot = slotOf(this.#records + record);
      this.#numbers.forEach((numbers, at) => {
        const value = piece.numbers[at]![record]!;
        if (!Number.isNaN(value)) numbers.add(value);
        if (slot !== undefined) numbers.keep(value, slot);
      });
    }
    this.#singles.forEach((ids, at) => {
      ids.takeOne(piece.single[at]!, piece.records);
    });
    this.#lists.forEach((ids, at) => {
      ids.takeLists(piece.listIds, piece.lists[at]!, piece.records);
    });
    this.#records += piece.records;
  }

  bad(record: BadRecord): void {
    this.badRecords += 1;
    if (this.#firstBad.length < SHOWN_BAD) this.#firstBad.push(record);
  }

  look(spec: ColumnSpec, isWhole: boolean): Omit<JobLook, 'path'> {
    const statistics = this.#statistics.finish();
    const labels = [...this.#labels].map(([label, count]) => ({ label, count }));
    return {
      records: this.#records,
      isWhole,
      bad: { records: this.badRecords, first: this.#firstBad },
      labels: labels.sort((a, b) => b.count - a.count || a.label - b.label).slice(0, SHOWN_LABELS),
      columns: fieldColumns(spec).map((column) => this.#read(column, statistics)),
    };
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

/** The ids of a category. */
class IdProfile {
  readonly name: string;
  readonly #isHashed: boolean;
  readonly #missing: Halves;
  readonly #distinct: DistinctValues;
  missing = 0;

  constructor(column: CategoryColumn, kept: number) {
    const vocabulary = vocabularyOf(column);
    this.name = column.name;
    this.#isHashed = vocabulary !== undefined;
    this.#missing = halvesOf(missingId(vocabularySeed(vocabulary ?? '')));
    this.#distinct = new DistinctValues(kept);
  }

  takeOne(ids: Uint32Array, records: number): void {
    const [low, high] = this.#missing;
    for (let at = 0; at < 2 * records; at += 2) {
      if (ids[at] === low && ids[at + 1] === high) this.missing += 1;
      else this.#take(ids[at]!, ids[at + 1]!);
    }
  }

  takeLists(ids: Uint32Array, { starts, ends }: ListIds, records: number): void {
    for (let record = 0; record < records; record++) {
      const [start, end] = [starts[record]!, ends[record]!];
      if (start === end) this.missing += 1;
      for (let at = start; at < end; at++) this.#take(ids[2 * at]!, ids[2 * at + 1]!);
    }
  }

  #take(low: number, high: number): void {
    this.#distinct.add(hashOfId(low, high));
  }

  facts(buckets: number | undefined): IdFacts {
    const { count, isExact } = this.#distinct;
    return { distinct: count, isExact, ...collisionsOf(count, this.#isHashed, buckets) };
  }
}

/** Expected collisions of ids that are spread evenly. */
export function collisionsOf(
  values: number,
  isHashed: boolean,
  buckets: number | undefined,
): Pick<IdFacts, 'collisions' | 'sharing'> {
  const others = Math.max(0, values - 1);
  // 1 - (1 - 1/N)^others, which keeps its digits where N is large.
  const sharing = buckets === undefined || others === 0 ? 0 : -Math.expm1(others * Math.log1p(-1 / buckets));
  return {
    collisions: isHashed ? (values * others) / 2 ** (ID_BITS + 1) : 0,
    sharing: buckets === undefined ? undefined : sharing,
  };
}
