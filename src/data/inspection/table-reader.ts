/** Gathers what is to be known of the columns of a table, from its records or from its columns. */
import type { ColumnFacts, ColumnGuess } from './column-profile.ts';
import { ColumnProfile } from './column-profile.ts';
import type { DistinctValues } from './distinct.ts';
import { slotOf } from './histogram.ts';
import type { RecordSink } from './table-source.ts';
import { type BadFacts, RecordTally } from './tally.ts';
import { TextKeys } from './text-keys.ts';
import { isMissingText } from './texts.ts';

/** Values that are kept of all columns together, and of one. */
const KEPT_VALUES = 1 << 19;
const LEAST_KEPT = 64;
const MOST_KEPT = 4096;
/** Number of labels that are distinguished. */
const LABELS = 64;
const NO_LABEL = -1;
const LEAK = 0.99;
/** Above the share of the most frequent label. */
const ABOVE_MAJORITY = 0.5;

export interface BadLine {
  readonly line: number;
  readonly reason: string;
}

export interface TableFacts {
  readonly columns: readonly ColumnFacts[];
  readonly records: number;
  /** All records of the file were read. */
  readonly isWhole: boolean;
  /** Records that have not the values of the columns. */
  readonly bad: BadFacts<BadLine>;
  /** Columns that nearly equal the label. */
  readonly leaks: readonly string[];
  /** The values of each column: for a second file. */
  readonly distinct: readonly DistinctValues[];
}

export interface ReaderOptions {
  readonly decimal: '.' | ',';
  /** Index of the column. */
  readonly label?: number | undefined;
  /** Most records to take. */
  readonly records?: number | undefined;
  /** Values of a column in another file. */
  readonly firstOf?: (column: ColumnGuess, at: number) => DistinctValues | undefined;
}

export class TableReader implements RecordSink {
  readonly #columns: readonly ColumnProfile[];
  readonly #tally: RecordTally<BadLine>;
  readonly #label: number | undefined;
  readonly #labels = new Map<string, number>();
  readonly #labelCounts: number[] = [];
  #isWhole = true;

  constructor(guesses: readonly ColumnGuess[], { decimal, label, records, firstOf }: ReaderOptions) {
    const most = Math.max(LEAST_KEPT, Math.min(MOST_KEPT, Math.floor(KEPT_VALUES / guesses.length)));
    const options = { decimal, most, keys: new TextKeys() };
    this.#columns = guesses.map((guess, at) => new ColumnProfile(guess, options, firstOf?.(guess, at)));
    this.#tally = new RecordTally(records);
    this.#label = label;
  }

  take(texts: readonly string[], line: number, fault: string | undefined): boolean {
    if (this.#tally.left === 0) {
      this.#isWhole = false;
      return false;
    }
    if (fault !== undefined) {
      this.#tally.addBad({ line, reason: fault });
      return true;
    }
    const label = this.#label === undefined ? undefined : shownLabel(this.#labelOf(texts[this.#label]!));
    const slot = slotOf(this.#tally.good);
    this.#tally.good += 1;
    for (let at = 0; at < texts.length; at++) this.#columns[at]!.add(texts[at]!, label, slot);
    return true;
  }

  async takeColumns(
    records: number,
    textsOf: (column: number) => Promise<(record: number) => string>,
  ): Promise<boolean> {
    const count = Math.min(records, this.#tally.left);
    if (count < records) this.#isWhole = false;
    if (count === 0) return this.#isWhole;
    const labels = new Int8Array(count).fill(NO_LABEL);
    const labelText = this.#label === undefined ? undefined : await textsOf(this.#label);
    if (labelText !== undefined) {
      for (let at = 0; at < count; at++) labels[at] = this.#labelOf(labelText(at));
    }
    for (const [at, column] of this.#columns.entries()) {
      const textOf = at === this.#label && labelText !== undefined ? labelText : await textsOf(at);
      for (let record = 0; record < count; record++) {
        column.add(textOf(record), shownLabel(labels[record]!), slotOf(this.#tally.good + record));
      }
    }
    this.#tally.good += count;
    return this.#isWhole;
  }

  /** Its number; `NO_LABEL` when there are too many labels, or it has none. */
  #labelOf(text: string): number {
    if (isMissingText(text)) return NO_LABEL;
    let label = this.#labels.get(text);
    if (label === undefined) {
      if (this.#labels.size === LABELS) return NO_LABEL;
      label = this.#labels.size;
      this.#labels.set(text, label);
      this.#labelCounts.push(0);
    }
    this.#labelCounts[label]! += 1;
    return label;
  }

  facts(): TableFacts {
    const columns = this.#columns.map((column) => column.facts());
    const majority = Math.max(0, ...this.#labelCounts) / Math.max(1, this.#tally.good);
    const least = Math.max(LEAK, majority + ABOVE_MAJORITY * (1 - majority));
    return {
      columns,
      records: this.#tally.good,
      isWhole: this.#isWhole,
      bad: this.#tally.badFacts,
      leaks: columns
        .filter(({ explained, isId }, at) => at !== this.#label && !isId && explained >= least)
        .map(({ name }) => name),
      distinct: this.#columns.map(({ distinct }) => distinct),
    };
  }
}

const shownLabel = (label: number): number | undefined => (label === NO_LABEL ? undefined : label);
