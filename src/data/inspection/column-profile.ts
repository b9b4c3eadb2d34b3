/** What is known of one column of a table: gathered record by record, in bounded memory. */
import { DistinctValues, hashOfText } from './distinct.ts';
import { explainedBy, FrequentValues, type Value } from './frequent.ts';
import { type NumberFacts, NumberProfile } from './histogram.ts';
import type { SourceColumn } from './table-source.ts';
import type { TextKeys } from './text-keys.ts';
import { MISSING_TEXTS, numberOf, shownText } from './texts.ts';
import { timeOf } from './times.ts';

/** What a few records have shown about a column before all are read. */
export interface ColumnGuess extends SourceColumn {
  /** It could be times of this format. */
  readonly time: string | undefined;
  /** Another format that reads them. */
  readonly otherTime: string | undefined;
  /** It could be lists, with this between their values. */
  readonly separator: string | undefined;
}

export interface FrequentText {
  readonly text: string;
  readonly count: number;
}

/** Values of a second file that the first one lacks. */
export interface NewValues {
  /** Number of records whose value is known to be in the first file or not, and of those of them whose value is not. */
  readonly known: number;
  readonly records: number;
  /** Number of distinct new values, and examples of them. */
  readonly distinct: number;
  readonly examples: readonly string[];
}

export interface ColumnFacts extends ColumnGuess {
  readonly records: number;
  /** Records whose text is empty, and those of each text that may mean that there is no value. */
  readonly empty: number;
  readonly missingTexts: readonly FrequentText[];
  /**
   * Records with a number, a whole number, a time of the guessed format; a text that is not a number and not missing.
   */
  readonly numberRecords: number;
  readonly wholeRecords: number;
  readonly timeRecords: number;
  readonly textRecords: number;
  readonly firstText: string | undefined;
  /** Different texts, the empty one left out. */
  readonly distinct: number;
  readonly isDistinctExact: boolean;
  /** The most frequent texts, the empty one left out. */
  readonly top: readonly FrequentText[];
  readonly numbers: NumberFacts | undefined;
  /** Some number begins with a needless 0, as codes do. */
  readonly hasLeadingZero: boolean;
  /** Each number is above the one before. */
  readonly isAscending: boolean;
  readonly meanLength: number;
  /** For times: ms since 1970 in UTC; the last fifth of the records begins at `late`. */
  readonly times: { readonly min: number; readonly max: number; readonly late: number } | undefined;
  /** The fraction of records whose label follows from the text (`explainedBy`). */
  readonly explained: number;
  readonly newValues: NewValues | undefined;
}

export interface ProfileOptions {
  readonly decimal: '.' | ',';
  /** Values that are kept of each column. */
  readonly most: number;
  /** All columns of a table share them, as they share the memory for it. */
  readonly keys: TextKeys;
}

const TOP = 100;
const EXAMPLES = 3;
const LEADING_ZERO = /^[+-]?0\d/;

export class ColumnProfile {
  readonly #guess: ColumnGuess;
  readonly #keys: TextKeys;
  readonly #values: FrequentValues;
  readonly distinct: DistinctValues;
  readonly #numbers = new NumberProfile();
  readonly #times = new NumberProfile();
  readonly #missing = new Map<string, number>();
  readonly #new = { known: 0, records: 0, distinct: 0, examples: [] as string[] };
  readonly #isCompared: boolean;
  #records = 0;
  #empty = 0;
  #whole = 0;
  #numeric = 0;
  #timed = 0;
  #texts = 0;
  #length = 0;
  #last = Number.NEGATIVE_INFINITY;
  #isAscending = true;
  #hasLeadingZero = false;
  #firstText: string | undefined;

  /** `first`: the values of the same column of another file. */
  constructor(guess: ColumnGuess, { decimal, most, keys }: ProfileOptions, first?: DistinctValues) {
    this.#guess = guess;
    this.#keys = keys;
    this.distinct = new DistinctValues(most);
    this.#isCompared = first !== undefined;
    const time = guess.time === undefined ? () => Number.NaN : timeOf(guess.time);
    this.#values = new FrequentValues(2 * most, (text) => {
      const hash = hashOfText(text);
      const isAdded = this.distinct.add(hash);
      const isNew = first?.covers(hash) ? !first.has(hash) : undefined;
      if (isNew && isAdded) this.#noteNew(text);
      return { count: 0, number: numberOf(text, decimal), time: time(text), isNew };
    });
  }

  /** `label`: which of the labels the record has; `slot`: its place in the sample. */
  add(text: string, label: number | undefined, slot: number | undefined): void {
    this.#records += 1;
    const value = text === '' ? undefined : this.#take(text);
    if (text === '') this.#empty += 1;
    if (value !== undefined && label !== undefined) {
      value.labels ??= [];
      value.labels[label] = (value.labels[label] ?? 0) + 1;
    }
    if (slot === undefined) return;
    this.#numbers.keep(value?.number ?? Number.NaN, slot);
    this.#times.keep(value?.time ?? Number.NaN, slot);
  }

  #take(text: string): Value {
    const value = this.#values.add(this.#keys.keyOf(text));
    this.#length += text.length;
    if (value.isNew !== undefined) this.#new.known += 1;
    if (value.isNew) this.#new.records += 1;
    const isTime = !Number.isNaN(value.time);
    if (isTime) {
      this.#timed += 1;
      this.#times.add(value.time);
    }
    if (!Number.isNaN(value.number)) this.#noteNumber(text, value.number);
    else if (MISSING_TEXTS.has(text)) this.#missing.set(text, (this.#missing.get(text) ?? 0) + 1);
    else {
      this.#texts += 1;
      this.#firstText ??= text;
    }
    return value;
  }

  #noteNumber(text: string, number: number): void {
    this.#numeric += 1;
    this.#numbers.add(number);
    if (Number.isInteger(number)) this.#whole += 1;
    if (LEADING_ZERO.test(text)) this.#hasLeadingZero = true;
    if (number <= this.#last) this.#isAscending = false;
    this.#last = number;
  }

  #noteNew(text: string): void {
    this.#new.distinct += 1;
    if (this.#new.examples.length < EXAMPLES) this.#new.examples.push(shownText(text));
  }

  facts(): ColumnFacts {
    const missing = [...this.#missing].map(([text, count]) => ({ text, count }));
    const times = this.#times.facts();
    return {
      ...this.#guess,
      records: this.#records,
      empty: this.#empty,
      missingTexts: missing.sort((a, b) => b.count - a.count),
      numberRecords: this.#numeric,
      wholeRecords: this.#whole,
      timeRecords: this.#timed,
      textRecords: this.#texts,
      firstText: this.#firstText === undefined ? undefined : shownText(this.#firstText),
      // An estimate may be above it.
      distinct: Math.min(this.distinct.count, this.#records),
      isDistinctExact: this.distinct.isExact,
      top: this.#values.top(TOP).map(({ text, value }) => ({ text: shownText(text), count: value.count })),
      numbers: this.#numbers.facts(),
      hasLeadingZero: this.#hasLeadingZero,
      isAscending: this.#isAscending && this.#numeric > 1,
      meanLength: this.#length / Math.max(1, this.#records - this.#empty),
      times: times && { min: times.min, max: times.max, late: this.#times.part(0.8) },
      explained: explainedBy(this.#values.all(), this.#records),
      newValues: this.#isCompared ? this.#new : undefined,
    };
  }
}
